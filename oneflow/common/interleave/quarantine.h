// Quarantine: memory that is freed in a schedule is kept, and filled, until the schedule is over.
//
// So its use after that is seen in every run: no address is given out twice, and what is read there
// is a pattern. The file replaces operator delete for the whole program.
#ifndef ONEFLOW_COMMON_INTERLEAVE_QUARANTINE_H_
#define ONEFLOW_COMMON_INTERLEAVE_QUARANTINE_H_

#include <cstdint>

namespace oneflow {
namespace interleave {

// A pointer read from freed memory.
inline constexpr uintptr_t kFreedBits = 0xddddddddddddddddull;

// True: keeps from now on. False: frees all that was kept.
void HoldFreedMemory(bool hold);

}  // namespace interleave
}  // namespace oneflow

#endif  // ONEFLOW_COMMON_INTERLEAVE_QUARANTINE_H_
