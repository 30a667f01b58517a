// Allocator: the stream-ordered caching memory pool of one device.
//
// A block has a home stream. Freed while instructions that use it are still queued, it serves the
// next allocation for the same stream at once (that allocation's instruction runs later on the same
// stream), and any other stream, or the system, only after every point given to Free() has passed.
//
// Thread safety: all methods. Never blocks on a stream; never throws. Free() works at any moment of
// the process's life, also after everything else has closed (pools are leaked on purpose).
#ifndef ONEFLOW_DEVICE_ALLOCATOR_H_
#define ONEFLOW_DEVICE_ALLOCATOR_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "oneflow/common/maybe.h"
#include "oneflow/core/device.h"
#include "oneflow/device/stream_clock.h"

namespace oneflow {

struct MemoryStats {
  int64_t allocated = 0;       // bytes in blocks that are in use
  int64_t allocated_peak = 0;  // its maximum since ResetPeak()
  int64_t reserved = 0;        // bytes held from the system, in use or cached
  int64_t reserved_peak = 0;
  int64_t unsplit = 0;  // of `reserved`: no block was made of it yet
  int64_t limit = 0;    // the smallest of the configured limit, the cgroup's, the machine's
  const char* limit_source = "";  // which of them; static text
  int64_t allocations = 0;        // calls of Allocate() that succeeded
  int64_t cache_hits = 0;         // of these, how many were served from the cache
  // Blocks of up to so many bytes, and more than the class before. In all: the sum of in_use_bytes is
  // `allocated`; with cached_bytes and `unsplit` it is `reserved`.
  struct SizeClass {
    int64_t block_bytes;
    int64_t in_use;
    int64_t cached;
    int64_t in_use_bytes;
    int64_t cached_bytes;
  };
  std::vector<SizeClass> size_classes;  // only classes that have blocks
};

// Opaque; owned by the allocator.
struct MemoryBlock {
  void* data = nullptr;
  size_t bytes = 0;  // usable, at least what was asked
  // The last instruction of an earlier owner on the home stream that may still be queued. Instructions
  // on that stream need not care; the host and other streams wait for it before they touch the memory.
  uint64_t home_use = 0;
};

class Allocator {
 public:
  virtual ~Allocator() = default;

  // Memory aligned to 64 bytes. OutOfMemoryError says what was asked, in use, peak and the limit.
  // `bytes` 0 gives a block with data == nullptr.
  virtual Maybe<MemoryBlock*> Allocate(size_t bytes, StreamIndex stream) = 0;
  // `last_uses`: the last use on each stream that may still be queued. One on the home stream does
  // not hold back reuse there; it holds back the return of the memory to the system, and to others.
  virtual void Free(MemoryBlock* block, const StreamPoint* last_uses, int count) = 0;

  virtual MemoryStats Stats() const = 0;
  virtual void ResetPeak() = 0;
  // Gives cached memory back to the system.
  virtual void EmptyCache() = 0;

  // Around fork(): no other thread may be inside the allocator.
  virtual void LockForFork() = 0;
  virtual void UnlockAfterFork() = 0;
};

inline constexpr int kMaxDevicesPerType = 64;

// The allocator of a device; RuntimeError, with the reason, when there is no such device. Never
// freed.
Maybe<Allocator*> GetAllocator(Device device);
// How a device backend offers itself (called once, from boot).
void RegisterAllocator(Device device, Allocator* allocator);

// For a backend that is costly to wake: `find` runs at most once, at the first GetAllocator() that
// meets an unknown device of the type, and registers an allocator for each device there is. Its
// error says why there is none. It must not call GetAllocator().
using FindDevicesFn = Maybe<void> (*)();
void RegisterDeviceBackend(DeviceType type, FindDevicesFn find);

}  // namespace oneflow

#endif  // ONEFLOW_DEVICE_ALLOCATOR_H_
