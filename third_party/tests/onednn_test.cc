#include <unordered_map>
#include <vector>

#include "dnnl.hpp"
#include "gtest/gtest.h"

namespace {

TEST(OneDnn, IsThePinnedVersionWithTheOpenMpRuntime) {
  const dnnl_version_t* version = dnnl_version();
  EXPECT_EQ(version->major, 3);
  EXPECT_EQ(version->minor, 2);
  EXPECT_EQ(version->cpu_runtime, static_cast<unsigned>(DNNL_RUNTIME_OMP));
}

TEST(OneDnn, MultipliesTwoByTwo) {
  dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const dnnl::memory::desc desc({2, 2}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::ab);
  std::vector<float> a{1, 2, 3, 4};
  std::vector<float> b{5, 6, 7, 8};
  std::vector<float> c(4);
  dnnl::memory a_memory(desc, engine, a.data());
  dnnl::memory b_memory(desc, engine, b.data());
  dnnl::memory c_memory(desc, engine, c.data());
  dnnl::matmul matmul(dnnl::matmul::primitive_desc(engine, desc, desc, desc));
  matmul.execute(
      stream, {{DNNL_ARG_SRC, a_memory}, {DNNL_ARG_WEIGHTS, b_memory}, {DNNL_ARG_DST, c_memory}});
  stream.wait();
  EXPECT_EQ(c, (std::vector<float>{19, 22, 43, 50}));
}

}  // namespace
