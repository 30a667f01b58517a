// CudaAllocator: the stream-ordered caching pool of one GPU (the contract is in device/allocator.h).
//
// Each block is memory of its own from the driver, rounded up so that sizes meet again, and kept by
// (home stream, size) once freed. A request takes the smallest block of its stream that wastes at
// most a quarter, then one of another stream that has nothing queued on it, then new memory; when
// the device has none, everything cached that no stream may still use goes back first. Unlike the
// CPU's pool it carves nothing from slabs: a call of the driver is rare once a program runs, and
// the driver packs small blocks itself.
//
// Thread safety: all methods; one mutex. Never waits for a stream, except that giving memory back
// (EmptyCache(), and before an out-of-memory error) may wait until the device is idle.
// Ownership: owns its blocks and its DeviceMemory. The pools of the process are leaked.
#ifndef ONEFLOW_DEVICE_CUDA_CUDA_ALLOCATOR_H_
#define ONEFLOW_DEVICE_CUDA_CUDA_ALLOCATOR_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "oneflow/common/mutex.h"
#include "oneflow/device/allocator.h"
#include "oneflow/device/cuda/device_memory.h"

namespace oneflow {
namespace cuda {

class CudaAllocator final : public Allocator {
 public:
  CudaAllocator(Device device, std::unique_ptr<DeviceMemory> memory)
      : device_(device), memory_(std::move(memory)) {}
  // Only for tests: gives back everything. REQUIRES that no block is in use.
  ~CudaAllocator() override;

  Maybe<MemoryBlock*> Allocate(size_t bytes, StreamIndex stream) override;
  void Free(MemoryBlock* memory, const StreamPoint* last_uses, int count) override;
  MemoryStats Stats() const override;
  void ResetPeak() override;
  void EmptyCache() override;
  void LockForFork() override { mutex_.Lock(); }
  void UnlockAfterFork() override { mutex_.Unlock(); }

  // In a fork child, where CUDA does not work: from now on Allocate() fails, and nothing goes back
  // to the driver. Call it before UnlockAfterFork().
  void AbandonInChild() REQUIRES_LOCK(mutex_) { abandoned_ = true; }

 private:
  struct Block : MemoryBlock {
    StreamIndex home = 0;
    std::vector<StreamPoint> waits;  // on other streams, of a pending block
  };
  using Key = std::pair<StreamIndex, size_t>;
  using Cache = std::multimap<Key, Block*>;

  Block* TakeCached(size_t bytes, StreamIndex stream) REQUIRES_LOCK(mutex_);
  Block* TakeFromIdleStream(size_t bytes, StreamIndex stream) REQUIRES_LOCK(mutex_);
  Block* Uncache(Cache::iterator at) REQUIRES_LOCK(mutex_);
  Maybe<Block*> TakeNew(size_t bytes, StreamIndex stream) REQUIRES_LOCK(mutex_);
  MemoryBlock* HandOut(Block* block, bool hit) REQUIRES_LOCK(mutex_);
  void Keep(Block* block) REQUIRES_LOCK(mutex_);
  void SweepPending() REQUIRES_LOCK(mutex_);
  void ReleaseCached() REQUIRES_LOCK(mutex_);
  ErrorPtr OutOfMemory(size_t bytes) const REQUIRES_LOCK(mutex_);

  const Device device_;
  const std::unique_ptr<DeviceMemory> memory_;
  mutable Mutex mutex_;
  Cache cached_ GUARDED_BY(mutex_);
  std::vector<Block*> pending_ GUARDED_BY(mutex_);       // freed, but in use on other streams
  std::map<size_t, int64_t> blocks_ GUARDED_BY(mutex_);  // by size: in use, cached or pending
  MemoryStats stats_ GUARDED_BY(mutex_);                 // without limit and size classes
  bool abandoned_ GUARDED_BY(mutex_) = false;
};

}  // namespace cuda
}  // namespace oneflow

#endif  // ONEFLOW_DEVICE_CUDA_CUDA_ALLOCATOR_H_
