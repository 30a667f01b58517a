#include "oneflow/kernels/cpu/cache_size.h"

#include <cstdio>

namespace oneflow {
namespace cpu {

namespace {

// What the system says of the third level, as "32768K". Not sysconf's answer: it is that of a whole
// machine, of which a virtual one may see a part.
int64_t Ask() {
  int64_t bytes = int64_t{32} << 20;
  std::FILE* file = std::fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "re");
  if (file == nullptr) { return bytes; }
  long long number = 0;
  char unit = 0;
  if (std::fscanf(file, "%lld%c", &number, &unit) >= 1 && number > 0) {
    bytes = number << (unit == 'K' ? 10 : unit == 'M' ? 20 : 0);
  }
  std::fclose(file);
  return bytes;
}

}  // namespace

int64_t LastCacheBytes() {
  static const int64_t bytes = Ask();
  return bytes;
}

}  // namespace cpu
}  // namespace oneflow
