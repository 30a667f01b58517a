// The kernels normal and uniform.
#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/random_loops.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

constexpr int64_t kGrain = 4096;  // even: a block's two numbers stay together

const char* Accept(const KernelCall& call) {
  if (GetRandomLoops().normal[static_cast<int>(call.outputs[0].dtype)] == nullptr) {
    return "dtype not supported";
  }
  return call.outputs[0].contiguous ? nullptr : "output is not dense";
}

void Generate(const KernelCall& call, RandomFn fn, const RandomSlot& slot, double a, double b) {
  const ArrayView& out = call.outputs[0];
  const auto size = static_cast<int64_t>(SizeOf(out.dtype));
  ParallelFor(call.threads, out.Count(), kGrain, [&](int64_t begin, int64_t end) {
    fn(out.Data<char>() + begin * size, end - begin, slot.seed,
       slot.offset + static_cast<uint64_t>(begin / 2), a, b);
  });
}

Maybe<void> RunNormal(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<NormalAttrs>();
  const RandomFn fn = GetRandomLoops().normal[static_cast<int>(call.outputs[0].dtype)];
  Generate(call, fn, attrs.slot, attrs.mean, attrs.std);
  return Ok();
}

Maybe<void> RunUniform(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<UniformAttrs>();
  const RandomFn fn = GetRandomLoops().uniform[static_cast<int>(call.outputs[0].dtype)];
  Generate(call, fn, attrs.slot, attrs.low, attrs.high);
  return Ok();
}

double NormalCost(const KernelCall& call) {
  return 200.0 + 2.5 * static_cast<double>(call.outputs[0].Count());
}
double UniformCost(const KernelCall& call) {
  return 100.0 + 1.5 * static_cast<double>(call.outputs[0].Count());
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(normal, {"normal.cpu.vector", &RunNormal, &Accept, &NormalCost});
ONEFLOW_REGISTER_KERNEL(uniform, {"uniform.cpu.vector", &RunUniform, &Accept, &UniformCost});

}  // namespace cpu
}  // namespace oneflow
