// PoolPlan: where the windows of a pooling call lie, for fixed and for adaptive windows alike.
//
// Thread safety: a value. Ownership: its own tables.
#ifndef ONEFLOW_KERNELS_CPU_POOL_POOL_PLAN_H_
#define ONEFLOW_KERNELS_CPU_POOL_POOL_PLAN_H_

#include <cstdint>
#include <vector>

#include "oneflow/kernels/attrs_spatial.h"
#include "oneflow/kernels/cpu/pool/pool_loops.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

// The part of a window that lies inside the data: elements begin, begin + step, ..., count of them.
struct PoolRange {
  int64_t begin;
  int64_t count;
  double divisor;  // what an average divides by in this dimension
};

// One spatial dimension.
struct PoolAxis {
  int64_t in = 1;
  int64_t out = 1;
  int64_t step = 1;  // between elements of a window
  std::vector<PoolRange> ranges;
};

struct PoolPlan {
  int64_t planes = 0;  // batch by channels
  PoolAxis axes[3];    // filled up with single elements in front
  double divisor = 0;  // of every window; 0: the product of the axes'
  // The innermost axis: with fixed windows it is folded as a line with `before` and `after` neutral
  // elements on either side, else range by range.
  bool fixed = false;
  LineWindows line;
  int64_t before = 0, after = 0;

  int64_t InPixels() const { return axes[0].in * axes[1].in * axes[2].in; }
  int64_t OutPixels() const { return axes[0].out * axes[1].out * axes[2].out; }
  // One window covers the whole plane.
  bool IsGlobal() const {
    return OutPixels() == 1 && !fixed && axes[2].ranges[0].count == axes[2].in;
  }
  int64_t LineLength() const { return before + axes[2].in + after; }
};

// `image` and `pooled` are (N, C, ...).
PoolPlan FixedPlan(const PoolAttrs& attrs, const ArrayView& image, const ArrayView& pooled);
PoolPlan AdaptivePlan(const ArrayView& image, const ArrayView& pooled);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_POOL_POOL_PLAN_H_
