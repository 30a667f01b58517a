// The kernels dropout (x, [addend] -> y, mask) and dropout_backward (dy, mask -> dx).
#include <algorithm>
#include <cmath>
#include <cstring>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_norm.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/dense_kernel.h"
#include "oneflow/kernels/cpu/dropout/dropout_loops.h"

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

double ForwardCost(const KernelCall& call) {
  return 100.0 + ElementwiseCostNs(call) + 0.6 * static_cast<double>(call.outputs[1].Count());
}

constexpr DenseKernel kForward = {&RunForward, &ForwardCost};
constexpr DenseKernel kBackward = {&RunBackward, &ElementwiseCostNs};

}  // namespace

ONEFLOW_REGISTER_DENSE_KERNEL(dropout, "dropout.cpu.vector", kForward);
ONEFLOW_REGISTER_DENSE_KERNEL(dropout_backward, "dropout_backward.cpu.vector", kBackward);

}  // namespace cpu
}  // namespace oneflow
