// Which instruction set the kernels' loops run with.
//
// Files built by of_isa_kernels() are compiled once for each instruction set, into the namespaces
// baseline, avx2 and avx512, and offer a table of loops in each. The arithmetic is the same, bit
// for bit; only the speed differs. Choosing is one relaxed load for each kernel call.
//
// Thread safety: CurrentIsa() from anywhere; SetIsa() is for tests, between kernel calls.
#ifndef ONEFLOW_KERNELS_CPU_ISA_H_
#define ONEFLOW_KERNELS_CPU_ISA_H_

#include <atomic>

namespace oneflow {
namespace cpu {

enum class Isa : int { kBaseline, kAvx2, kAvx512 };
inline constexpr int kNumIsas = 3;

const char* IsaName(Isa isa);
// The best that this machine and this build have.
Isa BestIsa();
// Goes no higher than BestIsa().
void SetIsa(Isa isa);

namespace isa_detail {
extern std::atomic<int> current;  // -1: not chosen yet
int Choose();
}  // namespace isa_detail

// BestIsa(), or lower if ONEFLOW_CPU_ISA=baseline|avx2|avx512 says so.
inline Isa CurrentIsa() {
  const int isa = isa_detail::current.load(std::memory_order_relaxed);
  return static_cast<Isa>(__builtin_expect(isa >= 0, 1) ? isa : isa_detail::Choose());
}

}  // namespace cpu
}  // namespace oneflow

// Declares `const Table& Getter()` in each instruction set's namespace (inside oneflow::cpu), and
// `const Table& Getter()` in oneflow::cpu, which returns the current one's.
#if defined(ONEFLOW_HAS_ISA_AVX2) && defined(ONEFLOW_HAS_ISA_AVX512)
#define ONEFLOW_DECLARE_ISA_TABLE(Table, Getter)  \
  namespace baseline {                            \
  const Table& Getter();                          \
  }                                               \
  namespace avx2 {                                \
  const Table& Getter();                          \
  }                                               \
  namespace avx512 {                              \
  const Table& Getter();                          \
  }                                               \
  inline const Table& Getter() {                  \
    switch (CurrentIsa()) {                       \
      case Isa::kAvx512: return avx512::Getter(); \
      case Isa::kAvx2: return avx2::Getter();     \
      default: return baseline::Getter();         \
    }                                             \
  }                                               \
  static_assert(true, "a semicolon follows")
#else
#define ONEFLOW_DECLARE_ISA_TABLE(Table, Getter)              \
  namespace baseline {                                        \
  const Table& Getter();                                      \
  }                                                           \
  inline const Table& Getter() { return baseline::Getter(); } \
  static_assert(true, "a semicolon follows")
#endif

#endif  // ONEFLOW_KERNELS_CPU_ISA_H_
