// The kernel throw_error, which fails on purpose, for tests of the error paths.
#include <atomic>
#include <chrono>
#include <new>
#include <stdexcept>
#include <thread>

#include "oneflow/common/tripped_check.h"
#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/cpu/copy.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

constexpr const char* kText = "[throw_error] throw error kernel";

std::atomic<int64_t> calls{0};  // since it last failed

// True at every n-th call.
bool IsDue(int64_t n) {
  if (n <= 0 || calls.fetch_add(1) + 1 < n) { return false; }
  calls.store(0);
  return true;
}

// Exceptions stand for those of a library inside a kernel: whoever runs kernels must catch them.
ErrorPtr Fail(FailureKind kind) {
  switch (kind) {
    case FailureKind::kType: return TypeError(kText);
    case FailureKind::kValue: return ValueError(kText);
    case FailureKind::kIndex: return IndexError(kText);
    case FailureKind::kRuntime: break;
    case FailureKind::kNotImplemented: return NotImplementedError(kText);
    case FailureKind::kOutOfMemory: return OutOfMemoryError(kText);
    case FailureKind::kInternal: return TripInternalCheck(kText).error();
    case FailureKind::kEnvironment: return EnvironmentError(kText);
    case FailureKind::kBadAlloc: throw std::bad_alloc();
    case FailureKind::kException: throw std::runtime_error(kText);
    case FailureKind::kForeign: throw kText;
  }
  return RuntimeError(kText);
}

Maybe<void> Run(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<ThrowErrorAttrs>();
  if (attrs.delay_ms > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(attrs.delay_ms));
  }
  if (IsDue(attrs.at_call)) { return Fail(attrs.kind); }
  CopyArray(call.outputs[0], call.inputs[0], call.threads);
  return Ok();
}

// A delay makes it expensive, so that it is queued; without one it fails where it was issued.
double Cost(const KernelCall& call) {
  return 100.0 + 1e6 * static_cast<double>(call.GetAttrs<ThrowErrorAttrs>().delay_ms);
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(throw_error, {"throw_error.cpu.reference", &Run, nullptr, &Cost});

}  // namespace cpu
}  // namespace oneflow
