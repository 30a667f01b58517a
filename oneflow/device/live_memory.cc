#include "oneflow/device/live_memory.h"

#include <algorithm>
#include <new>

#include "oneflow/common/planted_fault.h"
#include "oneflow/common/spin_lock.h"
#include "oneflow/common/stack_context.h"

namespace oneflow {

struct LiveMemory::Record {
  Record* next;
  Record** link;  // what points here
  uint64_t sequence;
  const char* op;
  int64_t bytes;
  int64_t held;
  Device device;
  DataType dtype;
  StackId stack;
  bool in_backward;
  const Atomic<int32_t>* holders;
  Shape shape;
};

namespace {

using Record = LiveMemory::Record;

constexpr size_t kShards = 16;

struct alignas(64) Shard {
  SpinLock lock;
  Record* first GUARDED_BY(lock) = nullptr;
};

Atomic<uint64_t> next_sequence{0};

// Leaked: memory may come free after everything else has ended.
Shard* Shards() {
  static auto* shards = new Shard[kShards];
  return shards;
}
Shard* ShardOf(const Record& record) { return &Shards()[record.sequence % kShards]; }

// A record as it was, without anything that would have to be allocated under a lock.
struct Found {
  uint64_t sequence;
  const char* op;
  int64_t bytes;
  DataType dtype;
  StackId stack;
  bool in_backward;
  int holders;
  int ndim;
  int64_t dims[kMaxDims];
};

bool Before(const Found& a, const Found& b) {
  if (FaultPlanted(Fault::kOutOfMemoryWrongOrder)) { return a.sequence < b.sequence; }
  return a.bytes != b.bytes ? a.bytes > b.bytes : a.sequence < b.sequence;
}

// The largest, in order. Their stacks are pinned while they are here.
class Ranking {
 public:
  explicit Ranking(int size) : size_(static_cast<size_t>(size)) { found_.reserve(size_ + 1); }
  ~Ranking() {
    for (const Found& found : found_) { Unpin(found.stack); }
  }
  Ranking(const Ranking&) = delete;
  Ranking& operator=(const Ranking&) = delete;

  void Enter(const Record& record) {
    Found found = {record.sequence,
                   record.op,
                   record.bytes,
                   record.dtype,
                   record.stack,
                   record.in_backward,
                   record.holders->load(std::memory_order_relaxed),
                   record.shape.size(),
                   {}};
    if (size_ == 0 || (found_.size() == size_ && !Before(found, found_.back()))) { return; }
    std::copy(record.shape.begin(), record.shape.end(), found.dims);
    if (StackSource* source = Source(found.stack)) { source->Pin(found.stack); }
    found_.insert(std::upper_bound(found_.begin(), found_.end(), found, &Before), found);
    if (found_.size() <= size_) { return; }
    Unpin(found_.back().stack);
    found_.pop_back();
  }

  const std::vector<Found>& found() const { return found_; }

 private:
  static StackSource* Source(StackId stack) {
    return stack == kNoStack ? nullptr : StackSource::Get();
  }
  static void Unpin(StackId stack) {
    if (StackSource* source = Source(stack)) { source->Unpin(stack); }
  }

  const size_t size_;
  std::vector<Found> found_;  // never grows beyond what was reserved
};

}  // namespace

Record* LiveMemory::Add(const MemoryRequest& request, size_t held, const Atomic<int32_t>* holders) {
  auto* record = new (std::nothrow) Record;
  if (record == nullptr) { return nullptr; }
  record->sequence = next_sequence.fetch_add(1, std::memory_order_relaxed);
  record->op = request.op;
  record->bytes = static_cast<int64_t>(request.bytes);
  record->held = static_cast<int64_t>(held);
  record->device = request.device;
  record->dtype = request.dtype;
  record->stack = CurrentStack();
  const StackContext* context = CurrentStackContext();
  record->in_backward = context != nullptr && context->in_backward();
  record->holders = holders;
  if (request.shape != nullptr) { record->shape = *request.shape; }
  if (record->stack != kNoStack) {
    if (StackSource* source = StackSource::Get()) { source->Pin(record->stack); }
  }
  Shard* shard = ShardOf(*record);
  SpinLockHolder lock(&shard->lock);
  record->next = shard->first;
  record->link = &shard->first;
  if (record->next != nullptr) { record->next->link = &record->next; }
  shard->first = record;
  return record;
}

void LiveMemory::Remove(Record* record) {
  {
    SpinLockHolder lock(&ShardOf(*record)->lock);
    *record->link = record->next;
    if (record->next != nullptr) { record->next->link = record->link; }
  }
  if (record->stack != kNoStack) {
    if (StackSource* source = StackSource::Get()) { source->Unpin(record->stack); }
  }
  delete record;
}

LiveTensors LiveMemory::Find(Device device, int largest) {
  LiveTensors out;
  Ranking ranking(largest);
  for (Shard* shard = Shards(); shard != Shards() + kShards; ++shard) {
    SpinLockHolder lock(&shard->lock);
    for (const Record* record = shard->first; record != nullptr; record = record->next) {
      if (record->device != device) { continue; }
      ++out.count;
      out.bytes += record->held;
      ranking.Enter(*record);
    }
  }
  for (const Found& found : ranking.found()) {
    StackSource* source = found.stack == kNoStack ? nullptr : StackSource::Get();
    LiveTensor tensor;
    tensor.op = found.op;
    tensor.bytes = found.bytes;
    tensor.shape = Shape(found.dims, found.ndim);
    tensor.dtype = found.dtype;
    tensor.holders = found.holders;
    tensor.in_backward = found.in_backward;
    const bool wrong = FaultPlanted(Fault::kOutOfMemoryWrongLine);
    if (source != nullptr) { tensor.lines = source->Resolve(wrong ? CurrentStack() : found.stack); }
    out.largest.push_back(std::move(tensor));
  }
  return out;
}

void LiveMemory::LockForFork() ONEFLOW_TSA_(no_thread_safety_analysis) {
  for (size_t i = 0; i < kShards; ++i) { Shards()[i].lock.Lock(); }
}

void LiveMemory::UnlockAfterFork() ONEFLOW_TSA_(no_thread_safety_analysis) {
  for (size_t i = kShards; i-- > 0;) { Shards()[i].lock.Unlock(); }
}

}  // namespace oneflow
