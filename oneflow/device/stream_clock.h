// StreamClock: how far each stream has come.
//
// Every stream of the process, on any device, has a small id and counts its instructions from 1 in
// the order of issue. A point (stream, seq) has passed once that instruction is complete. This is
// all the dependency machinery there is: storages remember points, waiters compare them.
//
// Thread safety: lock-free; Advance(s, ...) is called by one thread at a time for each stream.
// Happens-before: everything an instruction wrote is visible to a thread for which Passed() has
// returned true (release store in Advance, acquire load in Passed).
#ifndef ONEFLOW_DEVICE_STREAM_CLOCK_H_
#define ONEFLOW_DEVICE_STREAM_CLOCK_H_

#include <cstdint>

#include "oneflow/common/atomic.h"

namespace oneflow {

using StreamIndex = uint16_t;
inline constexpr int kMaxStreams = 256;
// The host itself: it runs no instructions, so that every point on it has passed. Memory that the
// host writes directly is at home here, since a block that was freed for a device stream may still
// be in use by instructions which are queued there.
inline constexpr StreamIndex kHostStream = 0;

struct StreamPoint {
  uint64_t seq = 0;  // 0: no instruction, passed since ever
  StreamIndex stream = 0;
};

class StreamClock {
 public:
  static bool Passed(StreamPoint point) {
    return point.seq == 0 || completed_[point.stream].load(std::memory_order_acquire) >= point.seq;
  }
  static uint64_t Completed(StreamIndex stream) {
    return completed_[stream].load(std::memory_order_acquire);
  }
  // Sequentially consistent, as is PassedInOrder(): a sleeper that registered itself first and a
  // stream that advances can not miss each other.
  static void Advance(StreamIndex stream, uint64_t seq) {
    completed_[stream].store(seq, std::memory_order_seq_cst);
  }
  static bool PassedInOrder(StreamPoint point) {
    return point.seq == 0 || completed_[point.stream].load(std::memory_order_seq_cst) >= point.seq;
  }
  // Allots an index; -1 when all are taken. Indices of ended streams are used again only for a
  // stream that goes on counting where the old one stopped.
  static int Allot();
  static void Return(StreamIndex stream);

 private:
  static Atomic<uint64_t> completed_[kMaxStreams];
};

}  // namespace oneflow

#endif  // ONEFLOW_DEVICE_STREAM_CLOCK_H_
