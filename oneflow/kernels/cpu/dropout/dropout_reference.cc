// Reference kernels of dropout: element by element.
#include <cmath>

#include "oneflow/core/philox.h"
#include "oneflow/kernels/attrs_norm.h"
#include "oneflow/kernels/cpu/reference_arrays.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {
namespace reference {

namespace {

double Scale(double p) { return p < 1.0 ? 1.0 / (1.0 - p) : 0.0; }

// Run number i is kept where its random word is not below p * 2^32.
bool Keeps(const DropoutAttrs& attrs, size_t i) {
  const PhiloxBlock block = Philox4x32(attrs.slot.seed, attrs.slot.offset + i / 4, 0);
  return static_cast<double>(block.v[i % 4]) >= std::floor(attrs.p * 0x1p32);
}

// x, [addend] -> y, mask.
Maybe<void> RunForward(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<DropoutAttrs>();
  const Reals x = RealsOf(call.inputs[0]);
  const Reals addend = call.HasInput(1) ? RealsOf(call.inputs[1]) : Reals();
  const auto inner = static_cast<size_t>(attrs.inner);
  Reals y, mask;
  for (size_t i = 0; i < x.size(); ++i) {
    const double kept = Keeps(attrs, i / inner) ? 1.0 : 0.0;
    if (i % inner == 0) { mask.push_back(kept); }
    y.push_back(x[i] * kept * Scale(attrs.p) + OrElse(addend, static_cast<int64_t>(i), 0.0));
  }
  Put(call.outputs[0], y);
  Put(call.outputs[1], mask);
  return Ok();
}

// -> mask.
Maybe<void> RunKept(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<DropoutAttrs>();
  Reals mask;
  for (int64_t i = 0; i < call.outputs[0].Count(); ++i) {
    mask.push_back(Keeps(attrs, static_cast<size_t>(i)) ? 1.0 : 0.0);
  }
  Put(call.outputs[0], mask);
  return Ok();
}

// dy, mask -> dx.
Maybe<void> RunBackward(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<DropoutBackwardAttrs>();
  Reals dx = RealsOf(call.inputs[0]);
  const Wholes mask = WholesOf(call.inputs[1]);
  for (size_t i = 0; i < dx.size(); ++i) {
    const bool kept = mask[i / static_cast<size_t>(attrs.inner)] != 0;
    dx[i] *= kept ? Scale(attrs.p) : 0.0;
  }
  Put(call.outputs[0], dx);
  return Ok();
}

double Cost(const KernelCall& call) { return 100.0 * static_cast<double>(call.inputs[0].Count()); }
double KeptCost(const KernelCall& call) {
  return 100.0 * static_cast<double>(call.outputs[0].Count());
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(dropout, {"dropout.cpu.reference", &RunForward, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(dropout_kept, {"dropout_kept.cpu.reference", &RunKept, nullptr, &KeptCost});
ONEFLOW_REGISTER_KERNEL(dropout_backward,
                        {"dropout_backward.cpu.reference", &RunBackward, nullptr, &Cost});

}  // namespace reference
}  // namespace cpu
}  // namespace oneflow
