// The kernel flip: rows of a dense operand in another order, each copied or turned round; else a copy
// whose operand is walked backwards along some dims.
#include <algorithm>
#include <cstring>

#include "oneflow/core/dims.h"
#include "oneflow/core/shape.h"
#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_shape.h"
#include "oneflow/kernels/cpu/copy.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/shape/row_loops.h"
#include "oneflow/kernels/cpu/strided_loop.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

// A dense call in rows: the dims behind the last one that is flipped, or that one itself if it is the
// innermost.
void FlipRows(const KernelCall& call, const bool* flipped, int last) {
  const ArrayView& in = call.inputs[0];
  const size_t size = SizeOf(in.dtype);
  const bool turns = last == in.ndim - 1;
  const int outer = turns ? last : last + 1;  // dims that are walked
  int64_t length = 1;
  for (int d = outer; d < in.ndim; ++d) { length *= in.shape[d]; }
  const int64_t bytes = length * static_cast<int64_t>(size);
  const auto turn = RowLoopsOf(static_cast<int64_t>(size)).turn;
  const int64_t grain = std::max<int64_t>(1, StridedLoop::kGrain / length);
  char* const out = call.outputs[0].Data<char>();
  ParallelFor(call.threads, in.Count() / length, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t rest = row;
      int64_t source = 0;
      int64_t step = 1;
      for (int d = outer - 1; d >= 0; --d) {
        const int64_t index = rest % in.shape[d];
        rest /= in.shape[d];
        source += (flipped[d] ? in.shape[d] - 1 - index : index) * step;
        step *= in.shape[d];
      }
      const char* from = in.Data<char>() + source * bytes;
      if (turns) {
        turn(out + row * bytes, from, length);
      } else {
        std::memcpy(out + row * bytes, from, static_cast<size_t>(bytes));
      }
    }
  });
}

Maybe<void> Run(const KernelCall& call) {
  const IntList& dims = call.GetAttrs<FlipAttrs>().dims;
  const ArrayView& in = call.inputs[0];
  if (in.Count() == 0) { return Ok(); }
  if (in.contiguous && call.outputs[0].contiguous && dims.count > 0) {
    bool flipped[kMaxDims] = {};
    int last = 0;
    for (int i = 0; i < dims.count; ++i) {
      const int dim = static_cast<int>(dims.values[i]);
      flipped[dim] = true;
      last = std::max(last, dim);
    }
    FlipRows(call, flipped, last);
    return Ok();
  }
  const auto size = static_cast<int64_t>(SizeOf(in.dtype));
  Strides strides(in.strides, in.ndim);
  ArrayView mirrored = in;
  for (int i = 0; i < dims.count; ++i) {
    const int dim = static_cast<int>(dims.values[i]);
    mirrored.data = mirrored.Data<char>() + (in.shape[dim] - 1) * in.strides[dim] * size;
    strides[dim] = -in.strides[dim];
  }
  mirrored.strides = strides.data();
  mirrored.contiguous = false;
  CopyArray(call.outputs[0], mirrored, call.threads);
  return Ok();
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(flip, {"flip.cpu.copy", &Run, nullptr, &ElementwiseCostNs});

}  // namespace cpu
}  // namespace oneflow
