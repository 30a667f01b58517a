// The kernels dropout (x, [addend] -> y, mask), dropout_kept (-> mask) and dropout_backward (dy, mask ->
// dx).
#include <algorithm>
#include <cmath>
#include <cstring>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_norm.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/dense_kernel.h"
#include "oneflow/kernels/cpu/dropout/dropout_loops.h"
#include "oneflow/kernels/cpu/elementwise_loops.h"

namespace oneflow {
namespace cpu {

namespace {

constexpr int64_t kGrain = 8192;  // divides by 4: a block's words stay together

template <typename T>
const DropoutLoops<T>& Loops() {
  if constexpr (sizeof(T) == sizeof(float)) {
    return GetDropoutLoopTable().single;
  } else {
    return GetDropoutLoopTable().twice;
  }
}

// What a kept element is multiplied by; with p == 1 none is kept.
double Scale(double p) { return p < 1.0 ? 1.0 / (1.0 - p) : 0.0; }

void FillMask(const DropoutAttrs& attrs, uint8_t* mask, int64_t n, int threads) {
  const double threshold = std::floor(attrs.p * 0x1p32);
  if (threshold >= 0x1p32) {
    if (n > 0) { std::memset(mask, 0, static_cast<size_t>(n)); }
    return;
  }
  ParallelFor(threads, n, kGrain, [&](int64_t begin, int64_t end) {
    GetDropoutLoopTable().mask(mask + begin, end - begin, attrs.slot.seed,
                               attrs.slot.offset + static_cast<uint64_t>(begin / 4),
                               static_cast<uint32_t>(threshold));
  });
}

// y = x * mask * scale [+ addend], the mask repeated for `inner` elements.
template <typename T>
void Apply(const T* x, const uint8_t* mask, const T* addend, T* y, int64_t n, int64_t inner,
           double scale, int threads) {
  if (inner == 1) {
    ParallelFor(threads, n, kGrain, [&](int64_t begin, int64_t end) {
      Loops<T>().apply(x + begin, mask + begin, addend == nullptr ? nullptr : addend + begin,
                       y + begin, end - begin, static_cast<T>(scale));
    });
    return;
  }
  ParallelFor(threads, n / inner, std::max<int64_t>(1, kGrain / inner),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin * inner; i < end * inner; ++i) {
                  const T kept = mask[i / inner] != 0 ? static_cast<T>(scale) : T{0};
                  y[i] = x[i] * kept + (addend == nullptr ? T{0} : addend[i]);
                }
              });
}

template <typename T>
void Forward(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<DropoutAttrs>();
  const ArrayView& x = call.inputs[0];
  auto* mask = call.outputs[1].Data<uint8_t>();
  FillMask(attrs, mask, call.outputs[1].Count(), call.threads);
  Apply<T>(x.Data<T>(), mask, call.HasInput(1) ? call.inputs[1].Data<T>() : nullptr,
           call.outputs[0].Data<T>(), x.Count(), attrs.inner, Scale(attrs.p), call.threads);
}

template <typename T>
void Backward(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<DropoutBackwardAttrs>();
  const ArrayView& dy = call.inputs[0];
  Apply<T>(dy.Data<T>(), call.inputs[1].Data<uint8_t>(), nullptr, call.outputs[0].Data<T>(),
           dy.Count(), attrs.inner, Scale(attrs.p), call.threads);
}

Maybe<void> RunForward(const KernelCall& call) {
  if (call.inputs[0].dtype == DataType::kDouble) {
    Forward<double>(call);
  } else {
    Forward<float>(call);
  }
  return Ok();
}
Maybe<void> RunBackward(const KernelCall& call) {
  if (call.inputs[0].dtype == DataType::kDouble) {
    Backward<double>(call);
  } else {
    Backward<float>(call);
  }
  return Ok();
}

// ---- bfloat16: widened a block at a time, by element --------------------------------------------

// y = x * mask * scale [+ addend] over [begin, end).
void ApplyShort(const uint16_t* x, const uint8_t* mask, const uint16_t* addend, uint16_t* y,
                int64_t begin, int64_t end, float scale) {
  constexpr int64_t kBlock = 512;
  const int wide = static_cast<int>(DataType::kFloat),
            narrow = static_cast<int>(DataType::kBFloat16);
  const UnaryLoop widen = GetElementwiseLoops().cast[narrow][wide];
  const UnaryLoop round = GetElementwiseLoops().cast[wide][narrow];
  alignas(64) float values[kBlock], added[kBlock];
  for (int64_t at = begin; at < end; at += kBlock) {
    const int64_t n = std::min(kBlock, end - at);
    widen(values, x + at, n);
    if (addend != nullptr) { widen(added, addend + at, n); }
    Loops<float>().apply(values, mask + at, addend == nullptr ? nullptr : added, values, n, scale);
    round(y + at, values, n);
  }
}

void ApplyShort(const KernelCall& call, const uint8_t* mask, const uint16_t* addend, double p) {
  const ArrayView& x = call.inputs[0];
  ParallelFor(call.threads, x.Count(), kGrain, [&](int64_t begin, int64_t end) {
    ApplyShort(x.Data<uint16_t>(), mask, addend, call.outputs[0].Data<uint16_t>(), begin, end,
               static_cast<float>(Scale(p)));
  });
}

Maybe<void> RunShortForward(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<DropoutAttrs>();
  auto* mask = call.outputs[1].Data<uint8_t>();
  FillMask(attrs, mask, call.outputs[1].Count(), call.threads);
  ApplyShort(call, mask, call.HasInput(1) ? call.inputs[1].Data<uint16_t>() : nullptr, attrs.p);
  return Ok();
}

Maybe<void> RunShortBackward(const KernelCall& call) {
  ApplyShort(call, call.inputs[1].Data<uint8_t>(), nullptr,
             call.GetAttrs<DropoutBackwardAttrs>().p);
  return Ok();
}

const char* AcceptShort(const KernelCall& call, int64_t inner) {
  if (inner != 1) { return "a draw for several elements"; }
  if (call.outputs[0].dtype != DataType::kBFloat16) { return "dtype is not bfloat16"; }
  for (int i = 0; i < call.num_inputs + call.num_outputs; ++i) {
    const ArrayView& view =
        i < call.num_inputs ? call.inputs[i] : call.outputs[i - call.num_inputs];
    if (view.given && !view.contiguous) { return "operands are not dense"; }
  }
  return nullptr;
}
const char* AcceptShortForward(const KernelCall& call) {
  return AcceptShort(call, call.GetAttrs<DropoutAttrs>().inner);
}
const char* AcceptShortBackward(const KernelCall& call) {
  return AcceptShort(call, call.GetAttrs<DropoutBackwardAttrs>().inner);
}

// ---- the mask alone -------------------------------------------------------------------------------

Maybe<void> RunKept(const KernelCall& call) {
  const ArrayView& mask = call.outputs[0];
  FillMask(call.GetAttrs<DropoutAttrs>(), mask.Data<uint8_t>(), mask.Count(), call.threads);
  return Ok();
}

const char* AcceptKept(const KernelCall& call) {
  return call.outputs[0].contiguous ? nullptr : "output is not dense";
}

double KeptCost(const KernelCall& call) {
  return 50.0 + 0.6 * static_cast<double>(call.outputs[0].Count());
}

double ForwardCost(const KernelCall& call) {
  return 100.0 + ElementwiseCostNs(call) + 0.6 * static_cast<double>(call.outputs[1].Count());
}

constexpr DenseKernel kForward = {&RunForward, &ForwardCost};
constexpr DenseKernel kBackward = {&RunBackward, &ElementwiseCostNs};

}  // namespace

ONEFLOW_REGISTER_KERNEL(dropout_short,
                        {"dropout.cpu.short", &RunShortForward, &AcceptShortForward, &ForwardCost});
ONEFLOW_REGISTER_KERNEL(dropout_backward_short, {"dropout_backward.cpu.short", &RunShortBackward,
                                                 &AcceptShortBackward, &ElementwiseCostNs});
ONEFLOW_REGISTER_DENSE_KERNEL(dropout, "dropout.cpu.vector", kForward);
ONEFLOW_REGISTER_KERNEL(dropout_kept,
                        {"dropout_kept.cpu.vector", &RunKept, &AcceptKept, &KeptCost});
ONEFLOW_REGISTER_DENSE_KERNEL(dropout_backward, "dropout_backward.cpu.vector", kBackward);

}  // namespace cpu
}  // namespace oneflow
