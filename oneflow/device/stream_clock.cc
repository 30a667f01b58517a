#include "oneflow/device/stream_clock.h"

#include <bitset>

#include "oneflow/common/mutex.h"

namespace oneflow {

Atomic<uint64_t> StreamClock::completed_[kMaxStreams];

namespace {
Mutex allot_mutex;
std::bitset<kMaxStreams> taken GUARDED_BY(allot_mutex);
}  // namespace

int StreamClock::Allot() {
  MutexLock lock(&allot_mutex);
  for (int i = kHostStream + 1; i < kMaxStreams; ++i) {
    if (!taken[static_cast<size_t>(i)]) {
      taken[static_cast<size_t>(i)] = true;
      return i;
    }
  }
  return -1;
}

void StreamClock::Return(StreamIndex stream) {
  MutexLock lock(&allot_mutex);
  taken[stream] = false;
}

}  // namespace oneflow
