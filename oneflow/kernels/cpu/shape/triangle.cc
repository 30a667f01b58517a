// The kernels tril and triu: of each row of a matrix one side is kept, the other becomes zero.
#include <algorithm>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_shape.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/strided_loop.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

// Where row `row` (of all matrices, one after the other) begins.
char* RowOf(const ArrayView& view, int64_t row, int64_t size) {
  int64_t offset = 0;
  for (int d = view.ndim - 2; d >= 0; --d) {
    offset += row % view.shape[d] * view.strides[d];
    row /= view.shape[d];
  }
  return view.Data<char>() + offset * size;
}

Maybe<void> Run(const KernelCall& call, bool lower) {
  const ArrayView& in = call.inputs[0];
  const ArrayView& out = call.outputs[0];
  if (out.Count() == 0) { return Ok(); }
  const int64_t diagonal = call.GetAttrs<TriangleAttrs>().diagonal;
  const auto size = static_cast<int64_t>(SizeOf(out.dtype));
  const int64_t rows = out.shape[out.ndim - 2];
  const int64_t columns = out.shape[out.ndim - 1];
  const int64_t to_step = out.strides[out.ndim - 1] * size;
  const int64_t from_step = in.strides[in.ndim - 1] * size;
  const auto width = static_cast<int>(size);
  const uint64_t zero = 0;
  const int64_t grain = std::max<int64_t>(1, StridedLoop::kGrain / columns);
  ParallelFor(call.threads, out.Count() / columns, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      char* to = RowOf(out, row, size);
      const char* from = RowOf(in, row, size);
      // Not `+ diagonal` of any size: it may be as large as an int64 is.
      const int64_t shift = std::clamp(diagonal, -rows, columns);
      const int64_t cut = std::clamp<int64_t>(row % rows + shift + (lower ? 1 : 0), 0, columns);
      const int64_t first = lower ? 0 : cut;
      const int64_t count = lower ? cut : columns - cut;
      const int64_t zeros = lower ? cut : 0;
      CopyRun(to + first * to_step, to_step, from + first * from_step, from_step, width, count);
      CopyRun(to + zeros * to_step, to_step, reinterpret_cast<const char*>(&zero), 0, width,
              columns - count);
    }
  });
  return Ok();
}

Maybe<void> RunLower(const KernelCall& call) { return Run(call, true); }
Maybe<void> RunUpper(const KernelCall& call) { return Run(call, false); }

}  // namespace

ONEFLOW_REGISTER_KERNEL(tril, {"tril.cpu.rows", &RunLower, nullptr, &ElementwiseCostNs});
ONEFLOW_REGISTER_KERNEL(triu, {"triu.cpu.rows", &RunUpper, nullptr, &ElementwiseCostNs});

}  // namespace cpu
}  // namespace oneflow
