// The kernel linspace: numbers at equal distances, or powers with such exponents.
#include <cmath>

#include "oneflow/kernels/attrs_shape.h"
#include "oneflow/kernels/cpu/random/draw.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

Maybe<void> Run(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<LinspaceAttrs>();
  const int64_t count = call.outputs[0].Count();
  const double width = attrs.end - attrs.start;
  const auto steps = static_cast<double>(count - 1);
  const double step = count > 1 ? width / steps : 0.0;
  // As numpy's function computes them. A step too small for a number is multiplied first.
  const bool tiny = count > 1 && step == 0.0 && width != 0.0;
  const auto make = [&](double* values, int64_t at, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const auto k = static_cast<double>(at + i);
      values[i] = (tiny ? k / steps * width : k * step) + attrs.start;
    }
    if (at + n == count && count > 1) { values[n - 1] = attrs.end; }
    if (!attrs.has_base) { return; }
    for (int64_t i = 0; i < n; ++i) { values[i] = std::pow(attrs.base, values[i]); }
  };
  DrawInto<double>(call.outputs[0], DataType::kDouble, call.threads, make);
  return Ok();
}

double Cost(const KernelCall& call) {
  const bool powers = call.GetAttrs<LinspaceAttrs>().has_base;
  return (powers ? 20.0 : 1.0) * static_cast<double>(call.outputs[0].Count());
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(linspace, {"linspace.cpu.vector", &Run, &AcceptDenseOutput, &Cost});

}  // namespace cpu
}  // namespace oneflow
