#include "oneflow/vm/storage.h"

#include <algorithm>

#include "oneflow/common/interleave/ordering_fault.h"
#include "oneflow/common/mutex.h"
#include "oneflow/common/planted_fault.h"

namespace oneflow {

using interleave::Misordered;
using interleave::OrderingFault;

Maybe<StorageRef> Storage::Allocate(Device device, size_t bytes, StreamIndex stream) {
  Allocator* pool = JUST(GetAllocator(device));
  MemoryBlock* block = JUST(pool->Allocate(bytes, stream));
  return Own(pool, block, MemoryRequest{"storage", bytes, device}, stream);
}

StorageRef Storage::Own(Allocator* pool, MemoryBlock* block, const MemoryRequest& request,
                        StreamIndex stream) {
  auto* storage = new Storage(request.device, block->data, request.bytes);
  storage->block_ = block;
  storage->allocator_ = pool;
  storage->home_ = stream;
  // Instructions of the memory's last owner may still be queued, and other streams and the host, who
  // may be the first to use it now, know of uses only by this record.
  const StreamPoint queued{block->home_use, stream};
  if (!StreamClock::Passed(queued) && !FaultPlanted(Fault::kLastOwnerForgotten)) {
    storage->last_write_ = queued;
  }
  storage->AddRef();  // held by the group of handles, see DropHandle
  if (request.bytes >= LiveMemory::kSmallestRecorded) {
    storage->record_ = LiveMemory::Add(request, block->bytes, &storage->handles_);
  }
  return StorageRef(storage);
}

StorageRef Storage::Import(Device device, void* data, size_t bytes, void* owner,
                           ReleaseFn release) {
  StorageRef storage = Adopt(device, data, bytes, owner, release);
  storage->MarkHostVisible();
  return storage;
}

StorageRef Storage::Adopt(Device device, void* data, size_t bytes, void* owner, ReleaseFn release) {
  auto* storage = new Storage(device, data, bytes);
  storage->owner_ = owner;
  storage->release_ = release;
  storage->AddRef();
  return StorageRef(storage);
}

StorageRef Storage::Traced(Device device, size_t bytes, const ErrorPtr& why) {
  auto* storage = new Storage(device, nullptr, bytes);
  storage->traced_ = true;
  storage->MarkReadOnly();
  storage->Poison(why);
  storage->AddRef();
  return StorageRef(storage);
}

Storage::~Storage() {
  if (poisoned() && FaultPlanted(Fault::kCheckJustInDestructor)) {
    CHECK_JUST(Maybe<void>(poison()));
  }
  ClearPoison();
  if (release_ != nullptr) { release_(owner_); }
}

void Storage::DropHandle() {
  if (handles_.fetch_sub(1, std::memory_order_acq_rel) != 1) { return; }
  FreeMemory();
  if (Misordered(OrderingFault::kReleasesWithTheHandle) && release_ != nullptr) {
    std::exchange(release_, nullptr)(owner_);
  }
  Release();
}

void Storage::FreeMemory() {
  // Memory of others goes back with this record, which queued instructions keep: an interrupt may
  // have ended the wait for one that still uses it.
  if (block_ == nullptr || (poisoned() && FaultPlanted(Fault::kFailedMemoryLeaks))) { return; }
  if (record_ != nullptr) { LiveMemory::Remove(record_); }
  const bool elsewhere = (last_write_.seq != 0 && last_write_.stream != home_) ||
                         (first_read_.seq != 0 && first_read_.stream != home_);
  if (!elsewhere && more_reads_.empty()) {
    // The pool must know of queued uses on the home stream too: they do not hold back reuse there,
    // but until they have passed the memory cannot go back to the system.
    const StreamPoint last{std::max(last_write_.seq, first_read_.seq), home_};
    const bool unknown = Misordered(OrderingFault::kFreesBeforeCompletion);
    allocator_->Free(block_, &last, last.seq == 0 || unknown ? 0 : 1);
  } else {
    FreeAcrossStreams();
  }
}

void Storage::FreeAcrossStreams() {
  std::vector<StreamPoint> points;
  const auto note = [&](StreamPoint point) {
    if (!StreamClock::Passed(point)) { points.push_back(point); }
  };
  note(last_write_);
  note(first_read_);
  for (const StreamPoint& point : more_reads_) { note(point); }
  if (FaultPlanted(Fault::kFreedServesAtOnce)) { points.clear(); }
  allocator_->Free(block_, points.data(), static_cast<int>(points.size()));
}

namespace {
// Taken only where there is poison, which is never on a path that has to be fast. It keeps a reader
// of the error from meeting the thread that clears it.
Mutex poison_mutex;
}  // namespace

ErrorPtr Storage::poison() const {
  if (!poisoned()) { return nullptr; }
  MutexLock lock(&poison_mutex);
  return ErrorPtr(const_cast<Error*>(poison_.load(std::memory_order_acquire)));
}

void Storage::Poison(const ErrorPtr& error) {
  error->MarkPublished();
  MutexLock lock(&poison_mutex);
  if (poison_.load(std::memory_order_relaxed) != nullptr) { return; }
  error->AddRef();
  poison_.store(error.get(), std::memory_order_release);
}

void Storage::ClearPoison() {
  if (!poisoned()) { return; }
  MutexLock lock(&poison_mutex);
  const Error* old = poison_.exchange(nullptr, std::memory_order_acq_rel);
  if (old != nullptr) { old->Release(); }
}

void Storage::RecordWrite(StreamPoint point) {
  last_write_ = point;
  // A write is ordered after every earlier read, so that nobody needs to wait for them any more.
  first_read_ = StreamPoint();
  more_reads_.clear();
}

void Storage::RecordRead(StreamPoint point) {
  if (first_read_.seq == 0 || first_read_.stream == point.stream) {
    first_read_ = point;
    return;
  }
  for (StreamPoint& other : more_reads_) {
    if (other.stream == point.stream) {
      other = point;
      return;
    }
  }
  more_reads_.push_back(point);
}

}  // namespace oneflow
