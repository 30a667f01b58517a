// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/stream_loops.h"

#include "oneflow/kernels/cpu/stream_line.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

#if defined(__x86_64__)
void Fence() { _mm_sfence(); }
#else
void Fence() {}
#endif

void Copy(void* to, const void* from, int64_t bytes) {
  char* out = static_cast<char*>(to);
  const char* in = static_cast<const char*>(from);
  int64_t at = 0;
  for (; at + 64 <= bytes; at += 64) { StreamLine(out + at, in + at); }
  if (at < bytes) { __builtin_memcpy(out + at, in + at, static_cast<unsigned long>(bytes - at)); }
}

constexpr StreamLoops kLoops = {&Copy, &Fence};

}  // namespace

const StreamLoops& GetStreamLoops() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
