// The kernel throw_error, which fails on purpose, for tests of the error paths.
#include <chrono>
#include <thread>

#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

Maybe<void> Run(const KernelCall& call) {
  const int64_t delay = call.GetAttrs<ThrowErrorAttrs>().delay_ms;
  if (delay > 0) { std::this_thread::sleep_for(std::chrono::milliseconds(delay)); }
  return RuntimeError("[throw_error] throw error kernel");
}

// A delay makes it expensive, so that it is queued; without one it fails where it was issued.
double Cost(const KernelCall& call) {
  return 100.0 + 1e6 * static_cast<double>(call.GetAttrs<ThrowErrorAttrs>().delay_ms);
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(throw_error, {"throw_error.cpu.reference", &Run, nullptr, &Cost});

}  // namespace cpu
}  // namespace oneflow
