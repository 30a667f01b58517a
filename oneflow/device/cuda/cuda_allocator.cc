#include "oneflow/device/cuda/cuda_allocator.h"

#include <algorithm>
#include <string>

#include "oneflow/device/byte_size.h"

namespace oneflow {
namespace cuda {

namespace {

constexpr size_t kSmallest = 512;
constexpr size_t kLargestSmall = size_t{1} << 20;
constexpr size_t kLargeStep = size_t{2} << 20;      // the granularity of the driver
constexpr size_t kMaxBlockBytes = size_t{1} << 47;  // more than an address space holds

// What all empty tensors share.
MemoryBlock empty_block;

// Small: four steps for each power of two. Large: whole pages of the device.
size_t RoundUp(size_t bytes) {
  if (bytes <= kSmallest) { return kSmallest; }
  size_t step = kLargeStep;
  if (bytes <= kLargestSmall) {
    step = (size_t{1} << (63 - __builtin_clzll(static_cast<unsigned long long>(bytes - 1)))) / 4;
  }
  return (bytes + step - 1) / step * step;
}

bool Fits(size_t block, size_t wanted) { return block >= wanted && block <= wanted + wanted / 4; }

}  // namespace

CudaAllocator::~CudaAllocator() { EmptyCache(); }

Maybe<MemoryBlock*> CudaAllocator::Allocate(size_t bytes, StreamIndex stream) {
  if (bytes == 0) { return &empty_block; }
  MutexLock lock(&mutex_);
  if (abandoned_) {
    return RuntimeError("[memory] {} cannot be used in a forked process; start it with spawn",
                        device_);
  }
  if (bytes > kMaxBlockBytes) { return OutOfMemory(bytes); }
  const size_t rounded = RoundUp(bytes);
  Block* block = TakeCached(rounded, stream);
  if (block == nullptr) {
    SweepPending();
    block = TakeCached(rounded, stream);
  }
  if (block == nullptr) { block = TakeFromIdleStream(rounded, stream); }
  if (block != nullptr) { return HandOut(block, true); }
  Maybe<Block*> made = TakeNew(rounded, stream);
  if (!made.ok() && made.error()->kind() == ErrorKind::kOutOfMemory) {
    ReleaseCached();
    Maybe<Block*> again = TakeNew(rounded, stream);
    if (!again.ok() && again.error()->kind() == ErrorKind::kOutOfMemory) {
      return OutOfMemory(bytes);
    }
    return HandOut(JUST(std::move(again)), false);
  }
  return HandOut(JUST(std::move(made)), false);
}

CudaAllocator::Block* CudaAllocator::TakeCached(size_t bytes, StreamIndex stream) {
  const auto at = cached_.lower_bound({stream, bytes});
  if (at == cached_.end() || at->first.first != stream || !Fits(at->first.second, bytes)) {
    return nullptr;
  }
  return Uncache(at);
}

// A block whose last use has passed may change its home.
CudaAllocator::Block* CudaAllocator::TakeFromIdleStream(size_t bytes, StreamIndex stream) {
  auto best = cached_.end();
  for (auto at = cached_.begin(); at != cached_.end(); ++at) {
    const Block& block = *at->second;
    if (!Fits(block.bytes, bytes) || !StreamClock::Passed({block.home_use, block.home})) {
      continue;
    }
    if (best == cached_.end() || block.bytes < best->second->bytes) { best = at; }
  }
  if (best == cached_.end()) { return nullptr; }
  Block* block = Uncache(best);
  block->home = stream;
  block->home_use = 0;
  return block;
}

CudaAllocator::Block* CudaAllocator::Uncache(Cache::iterator at) {
  Block* block = at->second;
  cached_.erase(at);
  return block;
}

Maybe<CudaAllocator::Block*> CudaAllocator::TakeNew(size_t bytes, StreamIndex stream) {
  void* data = JUST(memory_->Take(bytes));
  auto* block = new Block;
  block->data = data;
  block->bytes = bytes;
  block->home = stream;
  ++blocks_[bytes];
  stats_.reserved += static_cast<int64_t>(bytes);
  stats_.reserved_peak = std::max(stats_.reserved_peak, stats_.reserved);
  return block;
}

MemoryBlock* CudaAllocator::HandOut(Block* block, bool hit) {
  stats_.allocated += static_cast<int64_t>(block->bytes);
  stats_.allocated_peak = std::max(stats_.allocated_peak, stats_.allocated);
  ++stats_.allocations;
  stats_.cache_hits += hit ? 1 : 0;
  return block;
}

void CudaAllocator::Keep(Block* block) { cached_.emplace(Key(block->home, block->bytes), block); }

void CudaAllocator::Free(MemoryBlock* memory, const StreamPoint* last_uses, int count) {
  if (memory->data == nullptr) { return; }
  auto* block = static_cast<Block*>(memory);
  MutexLock lock(&mutex_);
  stats_.allocated -= static_cast<int64_t>(block->bytes);
  block->waits.clear();
  for (int i = 0; i < count; ++i) {
    if (StreamClock::Passed(last_uses[i])) { continue; }
    if (last_uses[i].stream == block->home) {
      block->home_use = std::max(block->home_use, last_uses[i].seq);
    } else {
      block->waits.push_back(last_uses[i]);
    }
  }
  if (block->waits.empty()) { return Keep(block); }
  pending_.push_back(block);
}

void CudaAllocator::SweepPending() {
  const auto waiting = [](const StreamPoint& point) { return !StreamClock::Passed(point); };
  const auto ready = std::partition(pending_.begin(), pending_.end(), [&](const Block* block) {
    return std::any_of(block->waits.begin(), block->waits.end(), waiting);
  });
  for (auto at = ready; at != pending_.end(); ++at) { Keep(*at); }
  pending_.erase(ready, pending_.end());
}

void CudaAllocator::ReleaseCached() {
  if (abandoned_) { return; }
  SweepPending();
  for (auto at = cached_.begin(); at != cached_.end();) {
    Block* block = at->second;
    if (!StreamClock::Passed({block->home_use, block->home})) {
      ++at;
      continue;
    }
    at = cached_.erase(at);
    memory_->Give(block->data);
    stats_.reserved -= static_cast<int64_t>(block->bytes);
    const auto of_size = blocks_.find(block->bytes);
    if (--of_size->second == 0) { blocks_.erase(of_size); }
    delete block;
  }
}

void CudaAllocator::EmptyCache() {
  MutexLock lock(&mutex_);
  ReleaseCached();
}

ErrorPtr CudaAllocator::OutOfMemory(size_t bytes) const {
  return OutOfMemoryError(
      "[memory] cannot allocate {} on {}: {} in use (peak {}), {} held by the pool, the device has "
      "{} in all, other programs' included. Try a smaller batch, or drop tensors that are no "
      "longer "
      "needed (`del x`)",
      FormatBytes(static_cast<int64_t>(bytes)), device_, FormatBytes(stats_.allocated),
      FormatBytes(stats_.allocated_peak), FormatBytes(stats_.reserved),
      FormatBytes(memory_->TotalBytes()));
}

MemoryStats CudaAllocator::Stats() const {
  MutexLock lock(&mutex_);
  MemoryStats out = stats_;
  out.limit = abandoned_ ? 0 : memory_->TotalBytes();
  out.limit_source = "the device's memory";
  std::map<size_t, int64_t> free_blocks;
  for (const auto& [key, block] : cached_) { ++free_blocks[block->bytes]; }
  for (const Block* block : pending_) { ++free_blocks[block->bytes]; }
  for (const auto& [bytes, count] : blocks_) {
    const int64_t cached = free_blocks[bytes];
    const auto size = static_cast<int64_t>(bytes);
    out.size_classes.push_back(
        {size, count - cached, cached, (count - cached) * size, cached * size});
  }
  return out;
}

void CudaAllocator::ResetPeak() {
  MutexLock lock(&mutex_);
  stats_.allocated_peak = stats_.allocated;
  stats_.reserved_peak = stats_.reserved;
}

}  // namespace cuda
}  // namespace oneflow
