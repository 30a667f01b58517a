// LiveMemory: which large pieces of memory tensors hold now, and which lines of the program made
// them. For the report of an out-of-memory error, and for memory_summary().
//
// Only memory of kSmallestRecorded bytes and more is recorded, so that small tensors pay nothing. A
// record holds no tensor, and pins its stack.
//
// Thread safety: all functions. Records are spread over several spin locks, each held for some
// nanoseconds, or for as long as it takes to look at its records.
#ifndef ONEFLOW_DEVICE_LIVE_MEMORY_H_
#define ONEFLOW_DEVICE_LIVE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "oneflow/common/atomic.h"
#include "oneflow/common/stack_source.h"
#include "oneflow/core/device.h"
#include "oneflow/core/dtype.h"
#include "oneflow/core/shape.h"

namespace oneflow {

// What is asked of a pool, and on whose behalf.
struct MemoryRequest {
  const char* op;  // static text
  size_t bytes;
  Device device;
  const Shape* shape = nullptr;  // borrowed; nullptr: scratch memory of the op's kernel
  DataType dtype = DataType::kFloat;
};

// A piece of memory, as it was when it was looked at.
struct LiveTensor {
  const char* op = "";
  int64_t bytes = 0;
  Shape shape;  // that the memory was taken for
  DataType dtype = DataType::kFloat;
  int holders = 0;                // tensors, and arrays over their memory
  bool in_backward = false;       // made for a line that ran before
  std::vector<StackFrame> lines;  // oldest first; empty: not known
};

struct LiveTensors {
  int64_t count = 0;                // all of the device that are recorded
  int64_t bytes = 0;                // that they were given, rounding included
  std::vector<LiveTensor> largest;  // largest first; of equal ones, the older
};

class LiveMemory {
 public:
  // To record costs 50 ns at depth 3, 82 at depth 20: a thousandth of an op on so much memory.
  static constexpr size_t kSmallestRecorded = size_t{1} << 20;
  struct Record;

  // `held`: bytes of the block. `holders` is read until Remove(). nullptr: no memory for a record.
  static Record* Add(const MemoryRequest& request, size_t held, const Atomic<int32_t>* holders);
  static void Remove(Record* record);

  static LiveTensors Find(Device device, int largest);

  static void LockForFork();
  static void UnlockAfterFork();
};

}  // namespace oneflow

#endif  // ONEFLOW_DEVICE_LIVE_MEMORY_H_
