// Reference kernels of nll_loss and its backward, normal and uniform.
#include <cmath>

#include "oneflow/core/philox.h"
#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/cpu/reference.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {
namespace reference {

namespace {

// ---- nll_loss -----------------------------------------------------------------------------------

// The index into (N, C, d...) of class t at a target's index (n, d...).
Dims WithClass(const Dims& index, int64_t t) {
  Dims out = index;
  out.Insert(index.empty() ? 0 : 1, t);
  return out;
}

// A target's class: ignored, valid, or an error.
Maybe<bool> IsCounted(const char* op, int64_t t, int64_t ignore_index, int64_t classes,
                      const Dims& index) {
  if (t == ignore_index) { return false; }
  if (t >= 0 && t < classes) { return true; }
  return IndexError("[{}] expects target in [0, {}), got {} at index {}", op, classes, t,
                    index.size() == 1 ? Format("{}", index[0]) : index.ToString());
}

Maybe<void> CheckTargets(const char* op, const KernelCall& call, const ArrayView& x) {
  const int64_t ignore_index = call.GetAttrs<NllLossAttrs>().ignore_index;
  const ArrayView& target = call.inputs[1];
  ErrorPtr error;
  ForEachIndex(ShapeOf(target), [&](const Dims& index) {
    const int64_t t = Load(target, OffsetOf(target, index)).i;
    const Maybe<bool> counted = IsCounted(op, t, ignore_index, x.shape[x.ndim == 1 ? 0 : 1], index);
    if (!counted.ok() && error == nullptr) { error = counted.error(); }
  });
  if (error != nullptr) { return error; }
  return Ok();
}

double WeightOf(const KernelCall& call, int64_t t) {
  if (!call.HasInput(2)) { return 1.0; }
  return Load(call.inputs[2], t * call.inputs[2].strides[0]).d;
}

Maybe<void> RunNllLoss(const KernelCall& call) {
  const ArrayView& x = call.inputs[0];
  const ArrayView& target = call.inputs[1];
  const auto& attrs = call.GetAttrs<NllLossAttrs>();
  JUST(CheckTargets("nll_loss", call, x));
  double loss = 0.0, total = 0.0;
  ForEachIndex(ShapeOf(target), [&](const Dims& index) {
    const int64_t t = Load(target, OffsetOf(target, index)).i;
    double term = 0.0;
    if (t != attrs.ignore_index) {
      const double weight = WeightOf(call, t);
      term = -weight * Load(x, OffsetOf(x, WithClass(index, t))).d;
      total += weight;
    }
    loss += term;
    if (attrs.reduction == Reduction::kNone) {
      Store(call.outputs[0], OffsetOf(call.outputs[0], index), Value::Float(term));
    }
  });
  if (attrs.reduction == Reduction::kMean) { loss /= total; }
  if (attrs.reduction != Reduction::kNone) { Store(call.outputs[0], 0, Value::Float(loss)); }
  Store(call.outputs[1], 0, Value::Float(total));
  return Ok();
}

Maybe<void> RunNllLossBackward(const KernelCall& call) {
  const ArrayView& dx = call.outputs[0];
  const ArrayView& dy = call.inputs[0];
  const ArrayView& target = call.inputs[1];
  const auto& attrs = call.GetAttrs<NllLossAttrs>();
  JUST(CheckTargets("nll_loss_backward", call, dx));
  ForEachIndex(ShapeOf(dx),
               [&](const Dims& index) { Store(dx, OffsetOf(dx, index), Value::Float(0.0)); });
  const double total = Load(call.inputs[3], 0).d;
  ForEachIndex(ShapeOf(target), [&](const Dims& index) {
    const int64_t t = Load(target, OffsetOf(target, index)).i;
    if (t == attrs.ignore_index) { return; }
    const bool each = attrs.reduction == Reduction::kNone;
    const double g = Load(dy, each ? OffsetOf(dy, index) : 0).d;
    const double divisor = attrs.reduction == Reduction::kMean ? total : 1.0;
    Store(dx, OffsetOf(dx, WithClass(index, t)), Value::Float(-WeightOf(call, t) * g / divisor));
  });
  return Ok();
}

// ---- random numbers -----------------------------------------------------------------------------

// out[i] = draw(block offset + i / 2, i % 2).
template <typename Draw>
void ForEachDraw(const KernelCall& call, const RandomSlot& slot, const Draw& draw) {
  uint64_t i = 0;
  ForEachIndex(ShapeOf(call.outputs[0]), [&](const Dims& index) {
    const PhiloxBlock block = Philox4x32(slot.seed, slot.offset + i / 2, 0);
    Store(call.outputs[0], OffsetOf(call.outputs[0], index),
          Value::Float(draw(block, static_cast<int>(i % 2))));
    ++i;
  });
}

Maybe<void> RunNormal(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<NormalAttrs>();
  ForEachDraw(call, attrs.slot, [&](const PhiloxBlock& block, int which) {
    double pair[2];
    PhiloxNormal(block, &pair[0], &pair[1]);
    return attrs.mean + attrs.std * pair[which];
  });
  return Ok();
}

Maybe<void> RunUniform(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<UniformAttrs>();
  const DataType dtype = call.outputs[0].dtype;
  const double end = Round(dtype, Value::Float(attrs.high)).d;
  ForEachDraw(call, attrs.slot, [&](const PhiloxBlock& block, int which) {
    const double u = PhiloxUniform(block.v[2 * which], block.v[2 * which + 1]);
    const double v = Round(dtype, Value::Float(attrs.low + (attrs.high - attrs.low) * u)).d;
    if (v < end) { return v; }
    if (dtype == DataType::kDouble) { return std::nextafter(end, attrs.low); }
    return static_cast<double>(
        std::nextafter(static_cast<float>(end), static_cast<float>(attrs.low)));
  });
  return Ok();
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(nll_loss, {"nll_loss.cpu.reference", &RunNllLoss});
ONEFLOW_REGISTER_KERNEL(nll_loss_backward,
                        {"nll_loss_backward.cpu.reference", &RunNllLossBackward});
ONEFLOW_REGISTER_KERNEL(normal, {"normal.cpu.reference", &RunNormal});
ONEFLOW_REGISTER_KERNEL(uniform, {"uniform.cpu.reference", &RunUniform});

}  // namespace reference
}  // namespace cpu
}  // namespace oneflow
