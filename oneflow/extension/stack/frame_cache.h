// FrameCache: for a frame seen a moment ago, its id in the InternTable, without a hash lookup.
//
// An entry says: the frame with this key (its code object and instruction), called from the stack
// `parent`, is the stack `id`. That is a fact about contents, so it holds for whichever frame has
// the key; the frame's address only chooses the place. Frames of one stack lie side by side in
// memory, so they do not push each other out; the ways of a place serve the lines of one frame.
//
// Thread safety: none; external locking (the GIL).
#ifndef ONEFLOW_EXTENSION_STACK_FRAME_CACHE_H_
#define ONEFLOW_EXTENSION_STACK_FRAME_CACHE_H_

#include <cstddef>
#include <cstdint>

#include "oneflow/common/stack_source.h"

namespace oneflow {
namespace pystack {

class FrameCache {
 public:
  struct Entry {
    uint64_t key;
    StackId parent;
    StackId id;
  };
  static constexpr size_t kRows = 1024;
  static constexpr size_t kWays = 8;
  static constexpr int kRowShift = 6;  // frames are larger than 64 bytes, so neighbours differ
  static constexpr size_t kEntries = kRows * kWays;

  // No frame has this key. (0, which stands for "cannot be cached", is never stored either.)
  static constexpr uint64_t kEmpty = ~uint64_t{0};

  FrameCache() { Clear(); }

  Entry& At(const void* frame, uint64_t key) {
    const size_t row = (reinterpret_cast<uintptr_t>(frame) >> kRowShift) & (kRows - 1);
    const size_t way = ((key >> 1) ^ (key >> 4) ^ (key >> 44)) & (kWays - 1);
    return entries_[row * kWays + way];
  }
  Entry* begin() { return entries_; }
  Entry* end() { return entries_ + kEntries; }
  void Clear() {
    for (Entry& entry : entries_) { entry = Entry{kEmpty, kNoStack, kNoStack}; }
  }

 private:
  Entry entries_[kEntries];
};

}  // namespace pystack
}  // namespace oneflow

#endif  // ONEFLOW_EXTENSION_STACK_FRAME_CACHE_H_
