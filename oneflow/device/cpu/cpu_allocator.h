// CpuAllocator: the stream-ordered caching pool of cpu:0 (the contract is in device/allocator.h).
//
// Up to 1 MiB, blocks of fixed size classes are carved from slabs and kept, once freed, on one list
// for each home stream and class. Larger blocks are mappings of their own, aligned to 2 MiB so that
// huge pages can back them; a cached one that is more than a 16th too large serves only where there is
// no room for a new one. What is cached beyond a quarter of the highest use goes back to the
// system before the pool grows.
//
// Thread safety: all methods. A spin lock guards the lists and is held for some nanoseconds; a mutex
// is held while memory is taken from or given back to the system. The pool of the process is leaked.
#ifndef ONEFLOW_DEVICE_CPU_CPU_ALLOCATOR_H_
#define ONEFLOW_DEVICE_CPU_CPU_ALLOCATOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "oneflow/common/mutex.h"
#include "oneflow/common/spin_lock.h"
#include "oneflow/device/allocator.h"
#include "oneflow/device/cpu/memory_budget.h"
#include "oneflow/device/cpu/size_class.h"

namespace oneflow {
namespace cpu {

class CpuAllocator final : public Allocator {
 public:
  explicit CpuAllocator(MemoryBudget budget) : budget_(budget) {}
  // Only for tests: gives back everything. REQUIRES that no block is in use.
  ~CpuAllocator() override;

  Maybe<MemoryBlock*> Allocate(size_t bytes, StreamIndex stream) override;
  void Free(MemoryBlock* block, const StreamPoint* last_uses, int count) override;
  MemoryStats Stats() const override;
  void ResetPeak() override;
  void EmptyCache() override;
  void LockForFork() override ONEFLOW_TSA_(acquire_capability(grow_mutex_, lists_));
  void UnlockAfterFork() override ONEFLOW_TSA_(release_capability(grow_mutex_, lists_));

 private:
  struct Slab;
  struct Block : MemoryBlock {
    StreamIndex home = 0;
    int16_t size_class = 0;
    Block* next = nullptr;                 // on a free list or the pending list
    Slab* slab = nullptr;                  // nullptr: a mapping of its own
    std::unique_ptr<StreamPoint[]> waits;  // of a pending block
    int num_waits = 0;
  };
  struct Slab {
    char* base;
    size_t bytes;
    size_t used;
    int blocks;    // carved
    int free_now;  // scratch of EmptyCache
    Slab* next;
  };
  struct StreamPool {
    Block* cached[kNumSizeClasses] = {};
    Slab* slab = nullptr;  // being carved
  };

  Maybe<MemoryBlock*> AllocateSlow(size_t bytes, StreamIndex stream);
  Block* NewLarge(size_t bytes, StreamIndex stream) REQUIRES_LOCK(grow_mutex_);
  Block* NewSmall(int size_class, StreamIndex stream) REQUIRES_LOCK(grow_mutex_);
  ErrorPtr OutOfMemory(size_t bytes) REQUIRES_LOCK(grow_mutex_);
  bool AddSlab(size_t at_least, StreamPool* pool) REQUIRES_LOCK(grow_mutex_);
  Block* Carve(StreamPool* pool, int size_class, StreamIndex stream) REQUIRES_LOCK(lists_);
  void CarveRest(StreamPool* pool, StreamIndex stream) REQUIRES_LOCK(lists_);

  StreamPool* PoolOf(StreamIndex stream) REQUIRES_LOCK(grow_mutex_);
  bool HasRoom(size_t bytes) const REQUIRES_LOCK(lists_);
  // A cached block of at least `bytes` and at most `most`; nullptr: none.
  Block* TakeLarge(size_t bytes, size_t most, StreamIndex stream) REQUIRES_LOCK(lists_);
  Block* TakeLargeFrom(StreamPool* pool, size_t bytes, size_t most) REQUIRES_LOCK(lists_);
  Block* TakeLargeFromIdleStream(size_t bytes, size_t most, StreamIndex stream)
      REQUIRES_LOCK(lists_);
  void SweepPending() REQUIRES_LOCK(lists_);
  void Count(const Block& block, int64_t change) REQUIRES_LOCK(lists_);
  void CountClasses(MemoryStats::SizeClass* classes) const REQUIRES_LOCK(lists_);
  void Cache(Block* block) REQUIRES_LOCK(lists_);
  MemoryBlock* HandOut(Block* block, bool hit) REQUIRES_LOCK(lists_);

  bool MayGrow(size_t bytes) REQUIRES_LOCK(grow_mutex_);
  char* Map(size_t bytes) REQUIRES_LOCK(grow_mutex_);
  void Unmap(char* base, size_t bytes) REQUIRES_LOCK(grow_mutex_);
  void Trim(int64_t wanted) REQUIRES_LOCK(grow_mutex_);
  void ReleaseLarge(int64_t keep_reserved) REQUIRES_LOCK(grow_mutex_);
  void ReleaseSlabs() REQUIRES_LOCK(grow_mutex_);
  template <typename Predicate>
  Block* Unlink(const Predicate& wanted) REQUIRES_LOCK(lists_);

  // Order: grow_mutex_, then lists_.
  mutable Mutex grow_mutex_;
  mutable SpinLock lists_;
  StreamPool* pools_[kMaxStreams] GUARDED_BY(lists_) = {};
  Block* pending_ GUARDED_BY(lists_) = nullptr;
  int64_t allocated_ GUARDED_BY(lists_) = 0;
  int64_t allocated_peak_ GUARDED_BY(lists_) = 0;
  int64_t allocated_high_ GUARDED_BY(lists_) = 0;  // as the peak, never reset
  int64_t allocations_ GUARDED_BY(lists_) = 0;
  int64_t misses_ GUARDED_BY(lists_) = 0;
  int64_t blocks_[kNumSizeClasses] GUARDED_BY(lists_) = {};       // in use, cached or pending
  int64_t block_bytes_[kNumSizeClasses] GUARDED_BY(lists_) = {};  // of these
  int64_t reserved_ GUARDED_BY(lists_) = 0;
  int64_t reserved_peak_ GUARDED_BY(lists_) = 0;
  Slab* slabs_ GUARDED_BY(grow_mutex_) = nullptr;
  mutable MemoryBudget budget_ GUARDED_BY(grow_mutex_);
};

}  // namespace cpu

// Offers the process's pool as the allocator of cpu:0; a second call does nothing. ValueError when
// the environment asks for a limit that cannot be read.
Maybe<void> RegisterCpuAllocator();

}  // namespace oneflow

#endif  // ONEFLOW_DEVICE_CPU_CPU_ALLOCATOR_H_
