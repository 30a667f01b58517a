// The vm under the exhaustive scheduler: kernels that work on memory which only the order of
// instructions protects, and a pool that gives memory away as early as it may.
#ifndef ONEFLOW_VM_MODEL_VM_TESTLIB_H_
#define ONEFLOW_VM_MODEL_VM_TESTLIB_H_

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "oneflow/common/interleave/explore.h"
#include "oneflow/common/interleave/ordering_fault.h"
#include "oneflow/common/interleave/scenario_testlib.h"
#include "oneflow/vm/vm.h"

namespace oneflow {

using interleave::Explore;
using interleave::Failure;
using interleave::OrderingFault;
using interleave::Parallel;
using interleave::Report;
using interleave::Require;

// What a storage of these tests holds: one number. Two threads at it at once are a data race.
using Cell = interleave::Plain<int>;

// Memory that is free serves its home stream at once; what nobody uses any more ceases to exist.
class ModelAllocator : public Allocator {
 public:
  struct Block : MemoryBlock {
    StreamIndex home = 0;
  };

  Maybe<MemoryBlock*> Allocate(size_t bytes, StreamIndex stream) override {
    const auto found = std::find_if(cached_.begin(), cached_.end(),
                                    [&](const Block* block) { return block->home == stream; });
    if (found != cached_.end()) {
      Block* block = *found;
      cached_.erase(found);
      return block;
    }
    auto* block = new Block;
    block->data = new Cell(0);
    block->bytes = bytes;
    block->home = stream;
    return block;
  }
  void Free(MemoryBlock* memory, const StreamPoint* last_uses, int count) override {
    auto* block = static_cast<Block*>(memory);
    const bool unused = std::all_of(last_uses, last_uses + count, StreamClock::Passed);
    if (unused) { return Destroy(block); }
    for (int i = 0; i < count; ++i) {
      if (last_uses[i].stream != block->home) { return late_.push_back(block); }
      block->home_use = std::max(block->home_use, last_uses[i].seq);
    }
    cached_.push_back(block);
  }
  // REQUIRES: all instructions are complete.
  void EmptyCache() override {
    for (Block* block : std::exchange(cached_, {})) { Destroy(block); }
    for (Block* block : std::exchange(late_, {})) { Destroy(block); }
  }
  MemoryStats Stats() const override { return {}; }
  void ResetPeak() override {}
  void LockForFork() override {}
  void UnlockAfterFork() override {}

 private:
  static void Destroy(Block* block) {
    delete static_cast<Cell*>(block->data);
    delete block;
  }
  std::vector<Block*> cached_;
  std::vector<Block*> late_;  // other streams still use it
};

class VmPeer {
 public:
  // The vm as it was before its first op.
  static void Reset(Vm* vm) {
    vm->streams_.clear();  // stops them
    vm->failures_.clear();
  }
};

inline Cell* CellOf(const ArrayView& view) { return static_cast<Cell*>(view.data); }

inline Maybe<void> RunSet(const KernelCall& call) {
  CellOf(call.outputs[0])->Write(call.GetAttrs<int>());
  return Ok();
}
inline Maybe<void> RunAddOne(const KernelCall& call) {
  CellOf(call.outputs[0])->Write(CellOf(call.inputs[0])->Read() + 1);
  return Ok();
}
inline Maybe<void> RunFailing(const KernelCall& call) { return RuntimeError("[fail] on purpose"); }

inline double Short(const KernelCall&) { return 100.0; }  // inline, under the issue lock
inline double Queued(const KernelCall&) { return 20e3; }

inline const Kernel kSet{"set", &RunSet, nullptr, &Queued, nullptr};
inline const Kernel kSetNow{"set.now", &RunSet, nullptr, &Short, nullptr};
inline const Kernel kAddOne{"add_one", &RunAddOne, nullptr, &Queued, nullptr};
inline const Kernel kAddOneNow{"add_one.now", &RunAddOne, nullptr, &Short, nullptr};
inline const Kernel kFailing{"fail", &RunFailing, nullptr, &Queued, nullptr};

// The vm of one schedule. A scenario makes one first, and all else goes before it.
class ModelVm {
 public:
  ModelVm() : vm_(Vm::Get()), stream_(CHECK_JUST(vm_->StreamFor(Device()))) {}
  ~ModelVm() {
    Finish();
    Pool()->EmptyCache();
  }
  // Ends the streams; afterwards Peek() sees what the instructions left.
  void Finish() { VmPeer::Reset(vm_); }
  static int Peek(const StorageRef& storage) { return static_cast<Cell*>(storage->data())->Read(); }

  Vm* operator->() const { return vm_; }
  Stream* stream() const { return stream_; }
  static ModelAllocator* Pool() {
    static auto* pool = new ModelAllocator;
    return pool;
  }

  StorageRef Make(Stream* stream = nullptr) const {
    return CHECK_JUST(
        Storage::Allocate(Device(), 4, (stream == nullptr ? stream_ : stream)->index()));
  }
  Maybe<void> Issue(const Kernel& kernel, const StorageRef* input, const StorageRef& output,
                    int value = 0, Stream* stream = nullptr,
                    OnFailure on_failure = OnFailure::kPoison) const {
    ArrayView views[2];
    Storage* storages[2];
    const int inputs = input == nullptr ? 0 : 1;
    if (input != nullptr) { storages[0] = input->get(); }
    storages[inputs] = output.get();
    for (int i = 0; i <= inputs; ++i) { views[i].data = storages[i]->data(); }
    OpCall call;
    call.op = kernel.name;
    call.kernel = &kernel;
    call.call.inputs = views;
    call.call.num_inputs = inputs;
    call.call.outputs = views + inputs;
    call.call.num_outputs = 1;
    call.call.attrs = &value;
    call.attrs_size = sizeof(value);
    call.reads = storages;
    call.num_reads = inputs;
    call.writes = storages + inputs;
    call.num_writes = 1;
    call.on_failure = on_failure;
    call.overwrites = on_failure == OnFailure::kPoison;
    call.stream = stream == nullptr ? stream_ : stream;
    return vm_->Issue(&call);
  }
  void Set(const StorageRef& output, int value) const {
    CHECK_JUST(Issue(kSet, nullptr, output, value));
  }
  // As `tensor.item()`; -1 when it fails.
  int Read(const StorageRef& storage) const {
    if (!vm_->SyncRead(storage.get()).ok()) { return -1; }
    return Peek(storage);
  }

 private:
  Vm* vm_;
  Stream* stream_;
};

class ModelVmTest : public interleave::ScenarioTest {
 protected:
  ModelVmTest() {
    RegisterAllocator(Device(), ModelVm::Pool());
    static_cast<void>(Vm::Get());  // static, as seen from any scenario
  }
};

}  // namespace oneflow

#endif  // ONEFLOW_VM_MODEL_VM_TESTLIB_H_
