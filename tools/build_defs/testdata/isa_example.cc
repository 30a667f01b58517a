#include "tools/build_defs/testdata/isa_example.h"

namespace oneflow {
namespace ONEFLOW_ISA {

const char* Compiled() {
#if defined(__AVX512F__) && defined(__AVX512VL__) && defined(__FMA__)
  return "avx512";
#elif defined(__AVX2__) && defined(__FMA__)
  return "avx2";
#else
  return "baseline";
#endif
}

}  // namespace ONEFLOW_ISA
}  // namespace oneflow
