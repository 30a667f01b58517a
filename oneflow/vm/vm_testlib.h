// Kernels made for tests of the vm, and a fixture that issues them.
#ifndef ONEFLOW_VM_VM_TESTLIB_H_
#define ONEFLOW_VM_VM_TESTLIB_H_

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "oneflow/device/cpu/cpu_allocator.h"
#include "oneflow/vm/vm.h"

namespace oneflow {

struct AffineAttrs {
  float scale;
  float shift;
};

inline std::atomic<std::thread::id> last_thread;
inline std::atomic<bool> gate_open{true};

// out = in0 * scale + shift, or in0 * scale + in1 when there are two inputs.
inline Maybe<void> RunAffine(const KernelCall& call) {
  last_thread.store(std::this_thread::get_id());
  while (!gate_open.load()) { std::this_thread::yield(); }
  const auto& attrs = call.GetAttrs<AffineAttrs>();
  for (int64_t i = 0; i < call.outputs[0].Count(); ++i) {
    const float other = call.num_inputs > 1 ? call.inputs[1].Data<float>()[i] : attrs.shift;
    call.outputs[0].Data<float>()[i] = call.inputs[0].Data<float>()[i] * attrs.scale + other;
  }
  return Ok();
}
inline Maybe<void> RunFill(const KernelCall& call) {
  for (int64_t i = 0; i < call.outputs[0].Count(); ++i) {
    call.outputs[0].Data<float>()[i] = call.GetAttrs<AffineAttrs>().shift;
  }
  return Ok();
}
inline Maybe<void> RunFail(const KernelCall& call) { return RuntimeError("[fail] on purpose"); }
inline Maybe<void> RunScratch(const KernelCall& call) {
  if (call.scratch_bytes != 4096 || call.scratch == nullptr) { return InternalError("no scratch"); }
  static_cast<char*>(call.scratch)[4095] = 1;
  return RunFill(call);
}

inline constexpr size_t kLargeScratch = size_t{4} << 20;  // a mapping of its own in the pool
inline size_t LargeScratch(const KernelCall&) { return kLargeScratch; }
inline Maybe<void> RunLargeScratch(const KernelCall& call) {
  while (!gate_open.load()) { std::this_thread::yield(); }
  static_cast<char*>(call.scratch)[kLargeScratch - 1] = 1;
  return RunFill(call);
}

inline double CostTiny(const KernelCall&) { return 100.0; }
inline double CostLong(const KernelCall&) { return 20e3; }  // queued
inline size_t FourKilobytes(const KernelCall&) { return 4096; }

inline const Kernel kAffine{"affine.test", &RunAffine, nullptr, &CostTiny, nullptr};
inline const Kernel kAffineLong{"affine.long", &RunAffine, nullptr, &CostLong, nullptr};
inline const Kernel kFill{"fill.test", &RunFill, nullptr, &CostTiny, nullptr};
inline const Kernel kFail{"fail.test", &RunFail, nullptr, &CostLong, nullptr};
inline const Kernel kFailTiny{"fail.tiny", &RunFail, nullptr, &CostTiny, nullptr};
inline const Kernel kLarge{"scratch.large", &RunLargeScratch, nullptr, &CostLong, &LargeScratch};
inline const Kernel kScratch{"scratch.test", &RunScratch, nullptr, &CostTiny, &FourKilobytes};

// A small vector of floats behind a storage.
struct Vec {
  StorageRef storage;
  int64_t n;
  float* data() const { return static_cast<float*>(storage->data()); }
};

class VmTest : public ::testing::Test {
 protected:
  void SetUp() override {
    static const bool registered = [] {
      CHECK_JUST(RegisterCpuAllocator());
      return true;
    }();
    ASSERT_TRUE(registered);
    vm_ = Vm::Get();
    vm_->SetMode(Vm::Mode::kAuto);
    stream_ = CHECK_JUST(vm_->StreamFor(Device()));
    gate_open = true;
  }
  void TearDown() override {
    gate_open = true;
    (void)vm_->Sync();
    vm_->SetMode(Vm::Mode::kAuto);
  }

  Vec Make(int64_t n, Stream* stream = nullptr) {
    const StreamIndex home = (stream == nullptr ? stream_ : stream)->index();
    return {CHECK_JUST(Storage::Allocate(Device(), static_cast<size_t>(n) * 4, home)), n};
  }

  Maybe<void> Issue(const Kernel& kernel, std::vector<Vec> inputs, const Vec& output,
                    AffineAttrs attrs = {1.0f, 0.0f}, OnFailure on_failure = OnFailure::kPoison,
                    Stream* stream = nullptr) {
    ArrayView views[4];
    Storage* storages[4];
    const int64_t stride = 1;
    OpCall call;
    int n = 0;
    for (const Vec& input : inputs) {
      views[n] = {input.data(), &input.n, &stride, 1, DataType::kFloat, true, true};
      storages[n++] = input.storage.get();
    }
    views[n] = {output.data(), &output.n, &stride, 1, DataType::kFloat, true, true};
    storages[n] = output.storage.get();
    call.op = kernel.name;
    call.kernel = &kernel;
    call.call.inputs = views;
    call.call.num_inputs = n;
    call.call.outputs = views + n;
    call.call.num_outputs = 1;
    call.call.attrs = &attrs;
    call.attrs_size = sizeof(attrs);
    call.reads = storages;
    call.num_reads = n;
    call.writes = storages + n;
    call.num_writes = 1;
    call.on_failure = on_failure;
    call.overwrites = on_failure == OnFailure::kPoison;
    call.stream = stream == nullptr ? stream_ : stream;
    return vm_->Issue(&call);
  }

  Vm* vm_ = nullptr;
  Stream* stream_ = nullptr;
};

}  // namespace oneflow

#endif  // ONEFLOW_VM_VM_TESTLIB_H_
