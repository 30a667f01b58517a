// Class indices of a loss over logits (outer, classes, inner), as dense int64.
//
// Thread safety: pure functions.
#ifndef ONEFLOW_KERNELS_CPU_LOSS_CLASS_TARGETS_H_
#define ONEFLOW_KERNELS_CPU_LOSS_CLASS_TARGETS_H_

#include <cstdint>

#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

// IndexError unless every target is `ignore_index` or in [0, classes).
Maybe<void> CheckClassTargets(const char* op, const ArrayView& targets, int64_t classes,
                              int64_t ignore_index);

// "3" or "(0, 3)": where element number i of a dense array stands.
std::string PositionText(const ArrayView& array, int64_t i);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_LOSS_CLASS_TARGETS_H_
