#include "oneflow/kernels/cpu/cache_size.h"

#include <unistd.h>

namespace oneflow {
namespace cpu {

namespace {

int64_t Ask() {
#if defined(_SC_LEVEL3_CACHE_SIZE)
  const int64_t bytes = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  if (bytes > 0) { return bytes; }
#endif
  return int64_t{32} << 20;
}

}  // namespace

int64_t LastCacheBytes() {
  static const int64_t bytes = Ask();
  return bytes;
}

}  // namespace cpu
}  // namespace oneflow
