#include "oneflow/kernels/cpu/isa.h"

#include <algorithm>
#include <string>

#include "oneflow/common/env_var.h"
#include "oneflow/common/log.h"

namespace oneflow {
namespace cpu {

namespace {

constexpr const char* kNames[kNumIsas] = {"baseline", "avx2", "avx512"};

Isa Detect() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  if (avx2 && avx512) { return Isa::kAvx512; }
  if (avx2) { return Isa::kAvx2; }
#endif
  return Isa::kBaseline;
}

}  // namespace

const char* IsaName(Isa isa) { return kNames[static_cast<int>(isa)]; }

Isa BestIsa() {
  static const Isa best = Detect();
  return best;
}

void SetIsa(Isa isa) {
  isa_detail::current.store(std::min(static_cast<int>(isa), static_cast<int>(BestIsa())),
                            std::memory_order_relaxed);
}

namespace isa_detail {

std::atomic<int> current{-1};

int Choose() {
  Isa isa = BestIsa();
  const std::string asked = EnvString("ONEFLOW_CPU_ISA", "");
  bool known = asked.empty();
  for (int i = 0; i < kNumIsas; ++i) {
    if (asked == kNames[i]) {
      isa = std::min(isa, static_cast<Isa>(i));
      known = true;
    }
  }
  if (!known) {
    LogWarning("environment variable ONEFLOW_CPU_ISA={} is ignored: expected baseline, avx2 or "
               "avx512",
               asked);
  }
  SetIsa(isa);
  return static_cast<int>(isa);
}

}  // namespace isa_detail

}  // namespace cpu
}  // namespace oneflow
