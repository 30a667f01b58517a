// StridedPlan: how a GPU's threads find their elements in operands of any strides.
//
// Operand 0 gives the shape; the others broadcast to it (stride 0 where they repeat). Dimensions of
// size 1 go, the rest is sorted by the stride of operand 0 and merged where all operands allow, so
// that a dense call has one dimension. A plan is passed to a kernel by value.
// Thread safety: plain value. No part of it needs CUDA.
#ifndef ONEFLOW_KERNELS_CUDA_STRIDED_PLAN_H_
#define ONEFLOW_KERNELS_CUDA_STRIDED_PLAN_H_

#include <cstdint>

#include "oneflow/core/dims.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cuda {

inline constexpr int kMaxPlanOperands = 3;

struct StridedPlan {
  int64_t total = 1;  // elements of operand 0
  int ndim = 0;
  // Dimension 0 is the innermost. Strides count elements.
  int64_t sizes[kMaxDims];
  int64_t strides[kMaxPlanOperands][kMaxDims];
};

// REQUIRES 1 <= count <= kMaxPlanOperands, and operands that broadcast to operand 0.
StridedPlan MakeStridedPlan(const ArrayView* const* operands, int count);

}  // namespace cuda
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CUDA_STRIDED_PLAN_H_
