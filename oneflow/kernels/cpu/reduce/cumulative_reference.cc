// Reference kernels of cumsum, cumprod, cummax and cummin.
#include <cmath>

#include "oneflow/kernels/attrs_reduce.h"
#include "oneflow/kernels/cpu/reference.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {
namespace reference {

namespace {

template <bool prod>
Maybe<void> RunScan(const KernelCall& call) {
  const CumulativeAttrs& attrs = call.GetAttrs<CumulativeAttrs>();
  const ArrayView& x = call.inputs[0];
  const ArrayView& out = call.outputs[0];
  ForEachVector(x, attrs.dim, [&](const Dims& start, int64_t n) {
    double real = prod ? 1.0 : 0.0;
    uint64_t integer = prod ? 1 : 0;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = attrs.reverse ? n - 1 - i : i;
      const Value v = Load(x, OffsetAlong(x, start, attrs.dim, at));
      real = prod ? real * v.d : real + v.d;
      const auto whole = static_cast<uint64_t>(v.i);
      integer = prod ? integer * whole : integer + whole;
      Store(out, OffsetAlong(out, start, attrs.dim, at),
            v.is_float ? Value::Float(real) : Value::Int(static_cast<int64_t>(integer)));
    }
  });
  return Ok();
}

// The last among equals; a NaN stays, and the last one counts.
bool Replaces(const Value& x, const Value& best, bool max) {
  if (!x.is_float) { return max ? x.i >= best.i : x.i <= best.i; }
  if (std::isnan(x.d)) { return true; }
  return !std::isnan(best.d) && (max ? x.d >= best.d : x.d <= best.d);
}

template <bool max>
Maybe<void> RunExtreme(const KernelCall& call) {
  const ArrayView& x = call.inputs[0];
  const ArrayView& out = call.outputs[0];
  const ArrayView& indices = call.outputs[1];
  const int64_t dim = call.GetAttrs<CumulativeAttrs>().dim;
  ForEachVector(x, dim, [&](const Dims& start, int64_t n) {
    Value best;
    int64_t index = 0;
    for (int64_t i = 0; i < n; ++i) {
      const Value v = Load(x, OffsetAlong(x, start, dim, i));
      if (i == 0 || Replaces(v, best, max)) {
        best = v;
        index = i;
      }
      Store(out, OffsetAlong(out, start, dim, i), best);
      Store(indices, OffsetAlong(indices, start, dim, i), Value::Int(index));
    }
  });
  return Ok();
}

double Cost(const KernelCall& call) { return 60.0 * static_cast<double>(call.inputs[0].Count()); }

}  // namespace

ONEFLOW_REGISTER_KERNEL(cumsum, {"cumsum.cpu.reference", &RunScan<false>, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(cumprod, {"cumprod.cpu.reference", &RunScan<true>, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(cummax, {"cummax.cpu.reference", &RunExtreme<true>, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(cummin, {"cummin.cpu.reference", &RunExtreme<false>, nullptr, &Cost});

}  // namespace reference
}  // namespace cpu
}  // namespace oneflow
