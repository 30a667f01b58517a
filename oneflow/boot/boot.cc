#include "oneflow/boot/boot.h"

#include <memory>
#include <string>

#include "oneflow/device/allocator.h"
#include "oneflow/device/cpu/cpu_allocator.h"
#include "oneflow/device/cpu/parallel.h"
#include "oneflow/device/cuda/cuda_backend.h"
#include "oneflow/device/live_memory.h"
#include "oneflow/lifetime/env.h"
#include "oneflow/lifetime/fork_hooks.h"
#include "oneflow/lifetime/unread_errors.h"
#include "oneflow/vm/stream.h"
#include "oneflow/vm/vm.h"

namespace oneflow {

namespace {

using lifetime::Deadline;
using lifetime::ForkOrder;

std::chrono::steady_clock::time_point TimeOf(Deadline deadline) {
  return std::chrono::steady_clock::now() + deadline.Remaining();
}

class VmSubsystem : public lifetime::Subsystem {
 public:
  const char* name() const override { return "vm"; }
  Maybe<void> Start() override {
    Vm::Get()->SetFailureObserver(&lifetime::RegisterRootFailure);
    Vm::Get()->Start();
    return Ok();
  }
  void Stop(Deadline deadline) override { Vm::Get()->Stop(TimeOf(deadline)); }
  void GiveUp() override { Stream::GiveUpQueued(); }
  std::string Unfinished() const override { return Vm::Get()->DescribeUnfinished(); }
};

void InstallForkHooks() {
  // The vm drains first, since queued kernels may hold everything that is locked after it.
  lifetime::RegisterForkHooks(
      ForkOrder::kVm, {[] { Vm::Get()->PrepareFork(TimeOf(Deadline::ForShutdown())); },
                       [] { Vm::Get()->ParentAfterFork(); }, [] { Vm::Get()->ChildAfterFork(); }});
  lifetime::RegisterForkHooks(
      ForkOrder::kCompute,
      {[] { cpu::LockForFork(); }, [] { cpu::UnlockInParent(); }, [] { cpu::ResetInChild(); }});
  const auto allocator = GetAllocator(Device());
  if (!allocator.ok()) { return; }
  Allocator* pool = allocator.value();
  lifetime::RegisterForkHooks(
      ForkOrder::kPool,
      {&LiveMemory::LockForFork, &LiveMemory::UnlockAfterFork, &LiveMemory::UnlockAfterFork});
  lifetime::RegisterForkHooks(ForkOrder::kPool,
                              {[pool] { pool->LockForFork(); }, [pool] { pool->UnlockAfterFork(); },
                               [pool] { pool->UnlockAfterFork(); }});
}

Maybe<void> Start() {
  JUST(RegisterCpuAllocator());
  RegisterCudaBackend();
  InstallForkHooks();
  JUST(lifetime::Env::Get()->Register(std::make_unique<VmSubsystem>()));
  return lifetime::Env::Get()->Start();
}

}  // namespace

Maybe<void> StartRuntime() {
  static const auto* started = new Maybe<void>(Start());
  return *started;
}

void StopRuntime(int status) { lifetime::Env::Get()->Shutdown(status); }

}  // namespace oneflow
