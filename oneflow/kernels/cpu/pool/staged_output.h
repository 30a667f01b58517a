// StagedOutput: results that a thread collects before it stores them, so that what lies behind them
// may be overwritten, and so that whole cache lines can be stored past the caches.
//
// Thread safety: one object for each thread. Ownership: none of its buffers.
#ifndef ONEFLOW_KERNELS_CPU_POOL_STAGED_OUTPUT_H_
#define ONEFLOW_KERNELS_CPU_POOL_STAGED_OUTPUT_H_

#include <cstdint>
#include <cstring>

#include "oneflow/kernels/cpu/stream_loops.h"

namespace oneflow {
namespace cpu {

template <typename E>
class StagedOutput {
 public:
  // `buffer` is aligned to 64 bytes, and has 64 more than are written to it between two flushes.
  // Results go to `to` and behind; with `streams`, past the caches.
  void Start(char* buffer, E* to, bool streams) {
    buffer_ = buffer;
    to_ = reinterpret_cast<char*>(to);
    streams_ = streams;
    begin_ = end_ = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to_) % 64);
  }

  // Where the next result is written; more than is told to Advance may be.
  E* at() const { return reinterpret_cast<E*>(buffer_ + end_); }
  void Advance(int64_t n) { end_ += n * static_cast<int64_t>(sizeof(E)); }
  int64_t count() const { return (end_ - begin_) / static_cast<int64_t>(sizeof(E)); }

  // Stores what is there, but for a line that is not full yet.
  void Flush() {
    if (!streams_) { return Store(end_); }
    if (begin_ % 64 != 0) { Store(end_ < 64 ? end_ : 64); }
    if (begin_ % 64 == 0 && end_ - begin_ >= 64) {
      const int64_t whole = (end_ - begin_) / 64 * 64;
      GetStreamLoops().copy(to_, buffer_ + begin_, whole);
      to_ += whole;
      begin_ += whole;
    }
    std::memmove(buffer_ + begin_ % 64, buffer_ + begin_, static_cast<size_t>(end_ - begin_));
    end_ = begin_ % 64 + end_ - begin_;
    begin_ %= 64;
  }

  // Stores all.
  void Finish() {
    Flush();
    Store(end_);
    if (streams_) { GetStreamLoops().fence(); }
  }

 private:
  // Stores up to `end` of the buffer, through the caches, and goes on at the place's distance from a
  // line.
  void Store(int64_t end) {
    const auto bytes = static_cast<size_t>(end - begin_);
    if (bytes > 0) { std::memcpy(to_, buffer_ + begin_, bytes); }
    to_ += bytes;
    begin_ = end;
    if (begin_ == end_) {
      begin_ = end_ = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to_) % 64);
    }
  }

  char* buffer_ = nullptr;
  char* to_ = nullptr;
  int64_t begin_ = 0, end_ = 0;  // of what is not stored yet, in the buffer
  bool streams_ = false;
};

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_POOL_STAGED_OUTPUT_H_
