#include "oneflow/device/failing_allocator.h"

#include "oneflow/common/mutex.h"

namespace oneflow {

namespace {

struct Armed {
  int64_t left = 0;     // requests up to and with the failing one
  size_t repeated = 0;  // bytes of the one that failed: asked for again, they fail again
};
thread_local Armed armed;

bool Fails(size_t bytes) {
  if (bytes == 0) { return false; }
  const bool again = armed.repeated == bytes;
  armed.repeated = 0;
  if (again) { return true; }
  if (armed.left == 0 || --armed.left > 0) { return false; }
  armed.repeated = bytes;
  return true;
}

class FailingAllocator final : public Allocator {
 public:
  explicit FailingAllocator(Allocator* pool) : pool_(pool) {}

  Maybe<MemoryBlock*> Allocate(size_t bytes, StreamIndex stream) override {
    if (Fails(bytes)) { return OutOfMemoryError("[memory] this request fails on purpose"); }
    return pool_->Allocate(bytes, stream);
  }
  void Free(MemoryBlock* block, const StreamPoint* last_uses, int count) override {
    pool_->Free(block, last_uses, count);
  }
  MemoryStats Stats() const override { return pool_->Stats(); }
  void ResetPeak() override { pool_->ResetPeak(); }
  void EmptyCache() override { pool_->EmptyCache(); }
  void LockForFork() override { pool_->LockForFork(); }
  void UnlockAfterFork() override { pool_->UnlockAfterFork(); }

 private:
  Allocator* const pool_;
};

Mutex wrap_mutex;

Maybe<void> Wrap(Device device) {
  MutexLock lock(&wrap_mutex);
  Allocator* pool = JUST(GetAllocator(device));
  if (dynamic_cast<FailingAllocator*>(pool) != nullptr) { return Ok(); }
  RegisterAllocator(device, new FailingAllocator(pool));  // leaked, as pools are
  return Ok();
}

}  // namespace

Maybe<int64_t> FailAllocation(Device device, int64_t nth) {
  if (nth < 0) {
    return ValueError("[fail_allocation] expects a number of 0 or more, got {}", nth);
  }
  JUST(Wrap(device));
  const int64_t left = armed.left;
  armed = Armed{nth, 0};
  return left;
}

}  // namespace oneflow
