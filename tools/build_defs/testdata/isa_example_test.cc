#include "tools/build_defs/testdata/isa_example.h"

#include "gtest/gtest.h"

namespace oneflow {
namespace {

TEST(IsaKernels, EachCopyIsCompiledForItsInstructions) {
  EXPECT_STREQ(baseline::Compiled(), "baseline");
#ifdef ONEFLOW_HAS_ISA_AVX2
  EXPECT_STREQ(avx2::Compiled(), "avx2");
#endif
#ifdef ONEFLOW_HAS_ISA_AVX512
  EXPECT_STREQ(avx512::Compiled(), "avx512");
#endif
}

}  // namespace
}  // namespace oneflow
