#include "oneflow/common/interleave/quarantine.h"

#include <malloc.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

namespace oneflow {
namespace interleave {

namespace {

constexpr size_t kMaxKept = size_t{1} << 16;
bool holding = false;
size_t num_kept = 0;
void* kept[kMaxKept];

void Release(void* pointer) {
  if (!holding || pointer == nullptr || num_kept == kMaxKept) {
    std::free(pointer);
    return;
  }
  std::memset(pointer, static_cast<int>(kFreedBits & 0xff), malloc_usable_size(pointer));
  kept[num_kept++] = pointer;
}

}  // namespace

void HoldFreedMemory(bool hold) {
  holding = hold;
  if (hold) { return; }
  for (size_t i = 0; i < num_kept; ++i) { std::free(kept[i]); }
  num_kept = 0;
}

}  // namespace interleave
}  // namespace oneflow

void operator delete(void* pointer) noexcept { oneflow::interleave::Release(pointer); }
void operator delete(void* pointer, size_t) noexcept { oneflow::interleave::Release(pointer); }
void operator delete[](void* pointer) noexcept { oneflow::interleave::Release(pointer); }
void operator delete[](void* pointer, size_t) noexcept { oneflow::interleave::Release(pointer); }
