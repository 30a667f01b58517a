// Storage: the memory behind tensors, with its place in the order of streams, and its poison.
//
// Two counts. *Handles* are tensors: when the last one goes, the memory returns to its pool at once
// (in stream order: queued instructions that still use it run before any reuse). *References*
// (RefCounted) keep only this record alive, so that a queued instruction can still ask for poison.
//
// Poison belongs to the storage: a failed kernel poisons what it would have written, and who reads
// a poisoned storage gets the root error, every time, until a full overwrite clears it.
//
// The memory of a tensor may be *arranged*: hold the elements in another order (arrangement.h). Who
// issues an instruction sees how the memory will lie when that runs.
//
// Thread safety: counts, poison and version are atomic. The use record (last write, last reads) and
// the arrangement are guarded by the vm's issue lock.
// Happens-before: a reader that found `last_write()` passed sees the written data (StreamClock).
#ifndef ONEFLOW_VM_STORAGE_H_
#define ONEFLOW_VM_STORAGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "oneflow/common/atomic.h"
#include "oneflow/common/intrusive_ptr.h"
#include "oneflow/common/maybe.h"
#include "oneflow/core/device.h"
#include "oneflow/device/allocator.h"
#include "oneflow/device/live_memory.h"
#include "oneflow/device/stream_clock.h"

namespace oneflow {

struct Arrangement;
class StorageRef;

class Storage : public RefCounted<Storage> {
 public:
  // Releases memory that is not ours. Called once, by whatever thread drops the last handle, or by a
  // stream's thread when an instruction that uses the memory was still queued then.
  using ReleaseFn = void (*)(void* owner);

  // Memory from the device's pool, at home on `stream`.
  static Maybe<StorageRef> Allocate(Device device, size_t bytes, StreamIndex stream);
  // The same where `pool` has given `block` already. A large one is listed among the live tensors.
  static StorageRef Own(Allocator* pool, MemoryBlock* block, const MemoryRequest& request,
                        StreamIndex stream);
  // Memory of somebody else, visible to the host by nature.
  static StorageRef Import(Device device, void* data, size_t bytes, void* owner, ReleaseFn release);
  // The same, of an owner that does not touch the memory before `release`: ops on it are queued as
  // those on our own are.
  static StorageRef Adopt(Device device, void* data, size_t bytes, void* owner, ReleaseFn release);
  // No memory: of a tensor that an op would have, were it not only recorded for a graph. Poisoned by
  // `why`, so that who reads it gets that, and not to be written.
  static StorageRef Traced(Device device, size_t bytes, const ErrorPtr& why);
  ~Storage();

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  Device device() const { return device_; }

  // One tensor only holds this memory.
  bool Unshared() const { return handles_.load(std::memory_order_acquire) == 1; }

  // Memory that Python can see without asking us (imported, or exported to numpy, DLPack, the
  // buffer protocol): an instruction that touches it completes before the issuing call returns.
  bool host_visible() const { return host_visible_.load(std::memory_order_relaxed); }
  void MarkHostVisible() { host_visible_.store(true, std::memory_order_relaxed); }

  // Imported memory that must not be written; set before anybody else knows the storage.
  bool read_only() const { return read_only_; }
  void MarkReadOnly() { read_only_ = true; }
  // Made by Traced().
  bool traced() const { return traced_; }

  // How the memory lies for an instruction that is issued now; nullptr: as the tensor's strides say.
  // REQUIRES the vm's issue lock, as those below.
  const Arrangement* arrangement() const { return arrangement_; }
  void set_arrangement(const Arrangement* arrangement) {
    arrangement_ = arrangement;
    was_arranged_ |= arrangement != nullptr;
  }
  // Ever.
  bool WasArranged() const { return was_arranged_; }
  // Only memory of ours that nobody looks at without the vm.
  bool MayBeArranged() const { return block_ != nullptr && !host_visible() && !stays_plain_; }
  // From now on it may not.
  void StayPlain() { stays_plain_ = true; }

  // The root error, or nullptr.
  ErrorPtr poison() const;
  bool poisoned() const { return poison_.load(std::memory_order_acquire) != nullptr; }
  // The first poison wins until ClearPoison().
  void Poison(const ErrorPtr& error);
  void ClearPoison();

  // Counts writes by in-place ops, for autograd's check of saved tensors.
  uint32_t version() const { return version_.load(std::memory_order_relaxed); }
  void BumpVersion() { version_.fetch_add(1, std::memory_order_relaxed); }

  // The use record. REQUIRES the vm's issue lock.
  StreamPoint last_write() const { return last_write_; }
  const StreamPoint& first_read() const { return first_read_; }
  const std::vector<StreamPoint>& more_reads() const { return more_reads_; }
  void RecordWrite(StreamPoint point);
  void RecordRead(StreamPoint point);

 private:
  friend class StorageRef;
  Storage(Device device, void* data, size_t bytes) : data_(data), bytes_(bytes), device_(device) {}

  void AddHandle() { handles_.fetch_add(1, std::memory_order_relaxed); }
  void DropHandle();
  void FreeMemory();
  void FreeAcrossStreams();

  void* data_;
  size_t bytes_;
  MemoryBlock* block_ = nullptr;
  Allocator* allocator_ = nullptr;
  LiveMemory::Record* record_ = nullptr;  // of large memory
  StreamIndex home_ = 0;
  Device device_;
  Atomic<bool> host_visible_{false};
  bool read_only_ = false;
  bool traced_ = false;
  bool stays_plain_ = false;
  bool was_arranged_ = false;
  Atomic<uint32_t> version_{0};
  Atomic<int32_t> handles_{0};
  Atomic<const Error*> poison_{nullptr};  // owns one reference
  const Arrangement* arrangement_ = nullptr;
  StreamPoint last_write_;
  StreamPoint first_read_;
  std::vector<StreamPoint> more_reads_;  // other streams than first_read_'s: rare
  void* owner_ = nullptr;
  ReleaseFn release_ = nullptr;
};

// A handle: keeps the memory, not only the record.
class StorageRef {
 public:
  StorageRef() = default;
  explicit StorageRef(Storage* storage) : storage_(storage) {
    if (storage_ != nullptr) { storage_->AddHandle(); }
  }
  StorageRef(const StorageRef& other) : StorageRef(other.storage_) {}
  StorageRef(StorageRef&& other) noexcept : storage_(other.storage_) { other.storage_ = nullptr; }
  StorageRef& operator=(StorageRef other) noexcept {
    std::swap(storage_, other.storage_);
    return *this;
  }
  ~StorageRef() {
    if (storage_ != nullptr) { storage_->DropHandle(); }
  }

  Storage* get() const { return storage_; }
  Storage* operator->() const { return storage_; }
  explicit operator bool() const { return storage_ != nullptr; }

 private:
  Storage* storage_ = nullptr;
};

}  // namespace oneflow

#endif  // ONEFLOW_VM_STORAGE_H_
