// Reference kernels of cumsum, cumprod, cummax and cummin.
#include <cmath>

#include "oneflow/kernels/attrs_reduce.h"
#include "oneflow/kernels/cpu/reference.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {
namespace reference {

namespace {

// body(offset in an operand of the i-th element of a vector), for each vector along the dim.
template <typename Body>
void ForEachVector(const ArrayView& x, int64_t dim, const Body& body) {
  Dims shape = ShapeOf(x);
  int64_t n = 1;
  if (x.ndim > 0) {
    n = shape[static_cast<int>(dim)];
    shape[static_cast<int>(dim)] = n == 0 ? 0 : 1;
  }
  ForEachIndex(shape, [&](const Dims& start) {
    body(
        [&](const ArrayView& view, int64_t i) {
          return OffsetOf(view, start) + (view.ndim == 0 ? 0 : i * view.strides[dim]);
        },
        n);
  });
}

template <bool prod>
Maybe<void> RunScan(const KernelCall& call) {
  const CumulativeAttrs& attrs = call.GetAttrs<CumulativeAttrs>();
  const ArrayView& x = call.inputs[0];
  ForEachVector(x, attrs.dim, [&](const auto& offset, int64_t n) {
    double real = prod ? 1.0 : 0.0;
    uint64_t integer = prod ? 1 : 0;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = attrs.reverse ? n - 1 - i : i;
      const Value v = Load(x, offset(x, at));
      real = prod ? real * v.d : real + v.d;
      const auto whole = static_cast<uint64_t>(v.i);
      integer = prod ? integer * whole : integer + whole;
      Store(call.outputs[0], offset(call.outputs[0], at),
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
  ForEachVector(x, call.GetAttrs<CumulativeAttrs>().dim, [&](const auto& offset, int64_t n) {
    Value best;
    int64_t index = 0;
    for (int64_t i = 0; i < n; ++i) {
      const Value v = Load(x, offset(x, i));
      if (i == 0 || Replaces(v, best, max)) {
        best = v;
        index = i;
      }
      Store(call.outputs[0], offset(call.outputs[0], i), best);
      Store(call.outputs[1], offset(call.outputs[1], i), Value::Int(index));
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
