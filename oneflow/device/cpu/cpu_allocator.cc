#include "oneflow/device/cpu/cpu_allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <csignal>
#include <new>

#include "oneflow/common/planted_fault.h"
#include "oneflow/device/byte_size.h"

namespace oneflow {
namespace cpu {

namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kLargestSmall = size_t{1} << 20;
constexpr size_t kSlabBytes = size_t{2} << 20;
constexpr size_t kSmallestSlab = size_t{64} << 10;
constexpr size_t kSmallestStep = size_t{16} << 10;  // between sizes of large blocks
// Cached memory that is not worth giving back.
constexpr int64_t kTrimSlack = int64_t{64} << 20;
// A cached large block serves a request if it is at most so much larger, as long as there is room for
// a new one: what a step asks for each time comes to have blocks of its own sizes.
constexpr size_t TightFit(size_t bytes) { return bytes + bytes / 16; }
// How many cached blocks of a large class are compared for the best fit.
constexpr int kMaxFitTries = 16;

// What all empty tensors share. Never on a list.
MemoryBlock empty_block;

// Of a pool that was used up to `high`, the bytes that it may hold, cached ones included.
int64_t WorthKeeping(int64_t high) { return high + high / 4 + kTrimSlack; }

// A large block is rounded up by at most a 64th: it is a mapping of its own, and pages that nobody
// touches cost nothing, but they count against the limit. (By a 16th, images of 7 x 7 times a power
// of two took 2 % more.)
size_t RoundLarge(size_t bytes) {
  const size_t step = std::max(kSmallestStep, (size_t{1} << (63 - __builtin_clzll(bytes))) / 64);
  return (bytes + step - 1) / step * step;
}

}  // namespace

Maybe<MemoryBlock*> CpuAllocator::Allocate(size_t bytes, StreamIndex stream) {
  if (bytes == 0) { return &empty_block; }
  if (__builtin_expect(bytes <= kLargestSmall, 1)) {
    const int size_class = SizeClassOf(bytes);
    SpinLockHolder lock(&lists_);
    StreamPool* pool = pools_[stream];
    if (pool != nullptr) {
      Block* block = pool->cached[size_class];
      if (block != nullptr) {
        pool->cached[size_class] = block->next;
        return HandOut(block, true);
      }
    }
  }
  return AllocateSlow(bytes, stream);
}

inline MemoryBlock* CpuAllocator::HandOut(Block* block, bool hit) {
  allocated_ += static_cast<int64_t>(block->bytes);
  if (allocated_ > allocated_peak_) { allocated_peak_ = allocated_; }
  if (allocated_ > allocated_high_) { allocated_high_ = allocated_; }
  ++allocations_;
  misses_ += hit ? 0 : 1;
  return block;
}

inline void CpuAllocator::Cache(Block* block) {
  Block** list = &pools_[block->home]->cached[block->size_class];
  block->next = *list;
  *list = block;
}

inline void CpuAllocator::Count(const Block& block, int64_t change) {
  blocks_[block.size_class] += change;
  block_bytes_[block.size_class] += change * static_cast<int64_t>(block.bytes);
}

void CpuAllocator::Free(MemoryBlock* memory, const StreamPoint* last_uses, int count) {
  if (memory->data == nullptr) { return; }
  Block* block = static_cast<Block*>(memory);
  int waits = 0;
  for (int i = 0; i < count; ++i) {
    if (StreamClock::Passed(last_uses[i])) { continue; }
    if (last_uses[i].stream == block->home) {
      block->home_use = std::max(block->home_use, last_uses[i].seq);
    } else {
      ++waits;
    }
  }
  if (__builtin_expect(waits == 0, 1)) {
    SpinLockHolder lock(&lists_);
    allocated_ -= static_cast<int64_t>(block->bytes);
    Cache(block);
    return;
  }
  // Without memory to remember the waits by, the block is given up: leaking it is the safe side.
  block->waits.reset(new (std::nothrow) StreamPoint[static_cast<size_t>(waits)]);
  block->num_waits = 0;
  for (int i = 0; i < count && block->waits != nullptr; ++i) {
    if (last_uses[i].stream == block->home || block->num_waits == waits) { continue; }
    if (StreamClock::Passed(last_uses[i])) { continue; }
    block->waits[static_cast<size_t>(block->num_waits++)] = last_uses[i];
  }
  SpinLockHolder lock(&lists_);
  allocated_ -= static_cast<int64_t>(block->bytes);
  if (block->waits == nullptr) { return; }
  block->next = pending_;
  pending_ = block;
}

void CpuAllocator::SweepPending() {
  for (Block** at = &pending_; *at != nullptr;) {
    Block* block = *at;
    while (block->num_waits > 0 &&
           StreamClock::Passed(block->waits[static_cast<size_t>(block->num_waits - 1)])) {
      --block->num_waits;
    }
    if (block->num_waits > 0) {
      at = &block->next;
      continue;
    }
    *at = block->next;
    Cache(block);
  }
}

Maybe<MemoryBlock*> CpuAllocator::AllocateSlow(size_t bytes, StreamIndex stream) {
  MutexLock growing(&grow_mutex_);
  if (bytes > kMaxBlockBytes) { return OutOfMemory(bytes); }
  const bool small = bytes <= kLargestSmall;
  const size_t rounded = small ? SizeOfClass(SizeClassOf(bytes)) : RoundLarge(bytes);
  const int size_class = SizeClassOf(rounded);
  StreamPool* pool = PoolOf(stream);
  if (pool == nullptr) { return OutOfMemory(bytes); }
  for (int attempt = 0; attempt < 2; ++attempt) {
    {
      SpinLockHolder lock(&lists_);
      SweepPending();
      Block* cached = pool->cached[size_class];
      if (!small) {
        cached = TakeLarge(rounded, TightFit(rounded), stream);
        if (cached == nullptr && !HasRoom(rounded)) {
          cached = TakeLarge(rounded, kMaxBlockBytes, stream);
        }
      } else if (cached != nullptr) {
        pool->cached[size_class] = cached->next;
      }
      if (cached != nullptr) { return HandOut(cached, true); }
    }
    Block* made = small ? NewSmall(size_class, stream) : NewLarge(rounded, stream);
    if (made != nullptr) {
      SpinLockHolder lock(&lists_);
      return HandOut(made, false);
    }
    if (!small) {
      SpinLockHolder lock(&lists_);
      Block* cached = TakeLarge(rounded, kMaxBlockBytes, stream);
      if (cached != nullptr) { return HandOut(cached, true); }
    }
    ReleaseLarge(0);
    ReleaseSlabs();
  }
  return OutOfMemory(bytes);
}

CpuAllocator::StreamPool* CpuAllocator::PoolOf(StreamIndex stream) {
  {
    SpinLockHolder lock(&lists_);
    if (pools_[stream] != nullptr) { return pools_[stream]; }
  }
  auto* pool = new (std::nothrow) StreamPool;
  SpinLockHolder lock(&lists_);
  pools_[stream] = pool;
  return pool;
}

// Is what is cached little enough for a new block beside it? If not, Trim would have to make room.
bool CpuAllocator::HasRoom(size_t bytes) const {
  const auto more = static_cast<int64_t>(bytes);
  return reserved_ + more <= WorthKeeping(std::max(allocated_high_, allocated_ + more));
}

CpuAllocator::Block* CpuAllocator::TakeLarge(size_t bytes, size_t most, StreamIndex stream) {
  Block* own = TakeLargeFrom(pools_[stream], bytes, most);
  return own != nullptr ? own : TakeLargeFromIdleStream(bytes, most, stream);
}

CpuAllocator::Block* CpuAllocator::TakeLargeFrom(StreamPool* pool, size_t bytes, size_t most) {
  const int size_class = SizeClassOf(bytes);
  Block** best = nullptr;
  int tries = 0;
  for (int c = size_class; c <= size_class + 1 && best == nullptr; ++c) {
    for (Block** at = &pool->cached[c]; *at != nullptr && tries < kMaxFitTries; at = &(*at)->next) {
      ++tries;
      if ((*at)->bytes < bytes || (*at)->bytes > most) { continue; }
      if (best == nullptr || (*at)->bytes < (*best)->bytes) { best = at; }
      if ((*best)->bytes == bytes) { break; }
    }
  }
  if (best == nullptr) { return nullptr; }
  Block* block = *best;
  *best = block->next;
  return block;
}

CpuAllocator::Block* CpuAllocator::TakeLargeFromIdleStream(size_t bytes, size_t most,
                                                           StreamIndex stream) {
  for (int other = 0; other < kMaxStreams; ++other) {
    if (other == stream || pools_[other] == nullptr) { continue; }
    Block* block = TakeLargeFrom(pools_[other], bytes, most);
    if (block == nullptr) { continue; }
    if (StreamClock::Passed({block->home_use, block->home})) {
      block->home = stream;
      block->home_use = 0;
      return block;
    }
    Cache(block);
  }
  return nullptr;
}

CpuAllocator::Block* CpuAllocator::NewLarge(size_t bytes, StreamIndex stream) {
  Trim(static_cast<int64_t>(bytes));
  if (!MayGrow(bytes)) { return nullptr; }
  auto* block = new (std::nothrow) Block;
  if (block == nullptr) { return nullptr; }
  block->data = Map(bytes);
  if (block->data == nullptr) {
    delete block;
    return nullptr;
  }
  block->bytes = bytes;
  block->home = stream;
  block->size_class = static_cast<int16_t>(SizeClassOf(bytes));
  SpinLockHolder lock(&lists_);
  Count(*block, 1);
  return block;
}

CpuAllocator::Block* CpuAllocator::NewSmall(int size_class, StreamIndex stream) {
  StreamPool* pool = PoolOf(stream);
  {
    SpinLockHolder lock(&lists_);
    if (Block* block = Carve(pool, size_class, stream)) { return block; }
    CarveRest(pool, stream);
  }
  if (!AddSlab(SizeOfClass(size_class), pool)) { return nullptr; }
  SpinLockHolder lock(&lists_);
  return Carve(pool, size_class, stream);
}

bool CpuAllocator::AddSlab(size_t at_least, StreamPool* pool) {
  size_t bytes = kSlabBytes;
  if (!MayGrow(bytes)) {
    bytes = (at_least + kSmallestSlab - 1) / kSmallestSlab * kSmallestSlab;
    if (!MayGrow(bytes)) { return false; }
  }
  auto* slab = new (std::nothrow) Slab{nullptr, bytes, 0, 0, 0, slabs_};
  if (slab == nullptr) { return false; }
  slab->base = Map(bytes);
  if (slab->base == nullptr) {
    delete slab;
    return false;
  }
  slabs_ = slab;
  SpinLockHolder lock(&lists_);
  pool->slab = slab;
  return true;
}

CpuAllocator::Block* CpuAllocator::Carve(StreamPool* pool, int size_class, StreamIndex stream) {
  Slab* slab = pool->slab;
  const size_t bytes = SizeOfClass(size_class);
  if (slab == nullptr || slab->bytes - slab->used < bytes) { return nullptr; }
  auto* block = new (std::nothrow) Block;
  if (block == nullptr) { return nullptr; }
  block->data = slab->base + slab->used;
  block->bytes = bytes;
  block->home = stream;
  block->size_class = static_cast<int16_t>(size_class);
  block->slab = slab;
  slab->used += bytes;
  ++slab->blocks;
  Count(*block, 1);
  return block;
}

// What is left of a slab too small for a request becomes cached blocks, so that nothing is lost.
void CpuAllocator::CarveRest(StreamPool* pool, StreamIndex stream) {
  while (pool->slab != nullptr && pool->slab->bytes - pool->slab->used >= 64) {
    const size_t rest = std::min(pool->slab->bytes - pool->slab->used, kLargestSmall);
    int size_class = SizeClassOf(rest);
    if (SizeOfClass(size_class) > rest) { --size_class; }
    Block* block = Carve(pool, size_class, stream);
    if (block == nullptr) { return; }
    Cache(block);
  }
}

bool CpuAllocator::MayGrow(size_t bytes) {
  int64_t reserved;
  {
    SpinLockHolder lock(&lists_);
    reserved = reserved_;
  }
  const int64_t grow = static_cast<int64_t>(bytes);
  return grow <= budget_.Limit(reserved, grow) - reserved;
}

char* CpuAllocator::Map(size_t bytes) {
  const size_t mapped = bytes >= kHugePage ? bytes + kHugePage : bytes;
  void* at = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) { return nullptr; }
  char* base = static_cast<char*>(at);
  if (mapped > bytes) {
    const size_t skip = (kHugePage - reinterpret_cast<uintptr_t>(base) % kHugePage) % kHugePage;
    if (skip > 0) { ::munmap(base, skip); }
    ::munmap(base + skip + bytes, mapped - skip - bytes);
    base += skip;
    // Only whole huge pages: one behind the end would make untouched memory resident. Slabs stay on
    // small pages, as a small program touches little of them.
    if (bytes > kSlabBytes) { ::madvise(base, bytes / kHugePage * kHugePage, MADV_HUGEPAGE); }
  }
  SpinLockHolder lock(&lists_);
  reserved_ += static_cast<int64_t>(bytes);
  reserved_peak_ = std::max(reserved_peak_, reserved_);
  return base;
}

void CpuAllocator::Unmap(char* base, size_t bytes) {
  ::munmap(base, bytes);
  SpinLockHolder lock(&lists_);
  reserved_ -= static_cast<int64_t>(bytes);
}

// Takes the blocks that `wanted` names, and that no stream may still use, off the free lists.
template <typename Predicate>
CpuAllocator::Block* CpuAllocator::Unlink(const Predicate& wanted) {
  Block* taken = nullptr;
  for (StreamPool* pool : pools_) {
    if (pool == nullptr) { continue; }
    for (int c = kNumSizeClasses - 1; c >= 0; --c) {
      for (Block** at = &pool->cached[c]; *at != nullptr;) {
        Block* block = *at;
        if (!StreamClock::Passed({block->home_use, block->home}) || !wanted(block)) {
          at = &block->next;
          continue;
        }
        *at = block->next;
        block->next = taken;
        taken = block;
        Count(*block, -1);
      }
    }
  }
  return taken;
}

// Keeps the cache from growing on top of what a program needs at its highest.
void CpuAllocator::Trim(int64_t wanted) {
  int64_t keep;
  {
    SpinLockHolder lock(&lists_);
    const int64_t high = std::max(allocated_high_, allocated_ + wanted);
    keep = WorthKeeping(high) - wanted;
    if (reserved_ <= keep) { return; }
  }
  ReleaseLarge(keep);
}

void CpuAllocator::ReleaseLarge(int64_t keep_reserved) {
  Block* taken;
  {
    SpinLockHolder lock(&lists_);
    int64_t excess = reserved_ - keep_reserved;
    taken = Unlink([&](Block* block) {
      if (block->slab != nullptr || excess <= 0) { return false; }
      excess -= static_cast<int64_t>(block->bytes);
      return true;
    });
  }
  while (taken != nullptr) {
    Block* next = taken->next;
    Unmap(static_cast<char*>(taken->data), taken->bytes);
    delete taken;
    taken = next;
  }
}

// A slab goes when all that was carved from it is free.
void CpuAllocator::ReleaseSlabs() {
  Block* taken;
  {
    SpinLockHolder lock(&lists_);
    for (Slab* slab = slabs_; slab != nullptr; slab = slab->next) { slab->free_now = 0; }
    Unlink([](Block* block) {
      if (block->slab != nullptr) { ++block->slab->free_now; }
      return false;
    });
    taken = Unlink([](Block* block) {
      return block->slab != nullptr && block->slab->free_now == block->slab->blocks;
    });
    for (StreamPool* pool : pools_) {
      if (pool != nullptr && pool->slab != nullptr && pool->slab->free_now == pool->slab->blocks) {
        pool->slab = nullptr;
      }
    }
  }
  while (taken != nullptr) {
    Block* next = taken->next;
    delete taken;
    taken = next;
  }
  for (Slab** at = &slabs_; *at != nullptr;) {
    Slab* slab = *at;
    if (slab->free_now != slab->blocks) {
      at = &slab->next;
      continue;
    }
    *at = slab->next;
    Unmap(slab->base, slab->bytes);
    delete slab;
  }
}

void CpuAllocator::EmptyCache() {
  MutexLock growing(&grow_mutex_);
  {
    SpinLockHolder lock(&lists_);
    SweepPending();
  }
  ReleaseLarge(0);
  ReleaseSlabs();
}

ErrorPtr CpuAllocator::OutOfMemory(size_t bytes) {
  DieIfPlanted(Fault::kAllocationFailureAborts, SIGABRT);
  int64_t in_use, peak, reserved;
  {
    SpinLockHolder lock(&lists_);
    in_use = allocated_;
    peak = allocated_peak_;
    reserved = reserved_;
  }
  const int64_t limit = budget_.Limit(reserved, 0);
  const char* advice = budget_.set_by_user() ? "; or raise ONEFLOW_CPU_MEMORY_LIMIT"
                                             : "; or end other programs that use much memory";
  return OutOfMemoryError(
      "[memory] cannot allocate {} on cpu:0: {} in use (peak {}), {} held by the pool, limit {} "
      "(set "
      "by {}). Try a smaller batch, or drop tensors that are no longer needed (`del x`){}",
      FormatBytes(static_cast<int64_t>(bytes)), FormatBytes(in_use), FormatBytes(peak),
      FormatBytes(reserved), FormatBytes(limit), budget_.reason(), advice);
}

void CpuAllocator::CountClasses(MemoryStats::SizeClass* classes) const {
  const auto count = [&](const Block* list) {
    for (const Block* b = list; b != nullptr; b = b->next) {
      ++classes[b->size_class].cached;
      classes[b->size_class].cached_bytes += static_cast<int64_t>(b->bytes);
    }
  };
  count(pending_);
  for (const StreamPool* pool : pools_) {
    for (int c = 0; pool != nullptr && c < kNumSizeClasses; ++c) { count(pool->cached[c]); }
  }
  for (int c = 0; c < kNumSizeClasses; ++c) {
    classes[c].block_bytes = static_cast<int64_t>(SizeOfClass(c));
    classes[c].in_use = blocks_[c] - classes[c].cached;
    classes[c].in_use_bytes = block_bytes_[c] - classes[c].cached_bytes;
  }
}

MemoryStats CpuAllocator::Stats() const {
  MutexLock growing(&grow_mutex_);
  MemoryStats out;
  MemoryStats::SizeClass classes[kNumSizeClasses] = {};
  {
    SpinLockHolder lock(&lists_);
    out.allocated = allocated_;
    out.allocated_peak = allocated_peak_;
    out.reserved = reserved_;
    out.reserved_peak = reserved_peak_;
    out.allocations = allocations_;
    out.cache_hits = allocations_ - misses_;
    CountClasses(classes);
    for (const Slab* slab = slabs_; slab != nullptr; slab = slab->next) {
      out.unsplit += static_cast<int64_t>(slab->bytes - slab->used);
    }
  }
  for (const MemoryStats::SizeClass& c : classes) {
    if (c.in_use + c.cached > 0) { out.size_classes.push_back(c); }
  }
  out.limit = budget_.Limit(out.reserved, 0);
  out.limit_source = budget_.reason();
  return out;
}

void CpuAllocator::ResetPeak() {
  SpinLockHolder lock(&lists_);
  allocated_peak_ = allocated_;
  reserved_peak_ = reserved_;
}

void CpuAllocator::LockForFork() ONEFLOW_TSA_(no_thread_safety_analysis) {
  grow_mutex_.Lock();
  lists_.Lock();
}

void CpuAllocator::UnlockAfterFork() ONEFLOW_TSA_(no_thread_safety_analysis) {
  lists_.Unlock();
  grow_mutex_.Unlock();
}

CpuAllocator::~CpuAllocator() {
  EmptyCache();
  for (StreamPool* pool : pools_) { delete pool; }
}

}  // namespace cpu

Maybe<void> RegisterCpuAllocator() {
  // Leaked on purpose: tensors may be freed after everything else has ended.
  static cpu::CpuAllocator* pool = nullptr;
  if (pool != nullptr) { return Ok(); }
  pool = new cpu::CpuAllocator(JUST(cpu::MemoryBudget::FromEnvironment()));
  RegisterAllocator(Device(DeviceType::kCPU, 0), pool);
  return Ok();
}

}  // namespace oneflow
