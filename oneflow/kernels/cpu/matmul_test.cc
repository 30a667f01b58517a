// matmul and linear against their references, the cache of oneDNN's primitives, and its threads.
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "oneflow/core/shape.h"
#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/cpu/kernel_testing.h"
#include "oneflow/kernels/cpu/onednn_matmul.h"

namespace oneflow {
namespace cpu {
namespace testing {
namespace {

// float32 three times: it is what oneDNN does.
const std::vector<DataType> kDtypes = {DataType::kFloat,  DataType::kFloat, DataType::kFloat,
                                       DataType::kDouble, DataType::kInt32, DataType::kInt64,
                                       DataType::kUInt8,  DataType::kInt16};

double Tolerance(DataType dtype, int64_t k) {
  if (!IsFloating(dtype)) { return 0.0; }
  return (dtype == DataType::kFloat ? 1e-6 : 1e-14) * static_cast<double>(k + 4);
}

// Runs `op` by each kernel that accepts it, under each configuration, and compares.
void ExpectSameAsReference(const std::string& op, const Arrays& in, const HostArray& blank,
                           double tolerance, int* by_onednn) {
  const MatmulAttrs attrs;
  HostArray want = blank;
  CHECK_JUST(Call((op + ".cpu.reference").c_str(), in, {&want}, &attrs));
  ASSERT_EQ(Refusal((op + ".cpu.vector").c_str(), in, {&want}, &attrs), nullptr);
  for (const Config& config : AllConfigs()) {
    const ScopedIsa isa(config.isa);
    for (const char* kind : {".cpu.vector", ".cpu.onednn"}) {
      const std::string kernel = op + kind;
      HostArray got = blank;
      if (Refusal(kernel.c_str(), in, {&got}, &attrs) != nullptr) { continue; }
      *by_onednn += kernel.find("onednn") != std::string::npos ? 1 : 0;
      CHECK_JUST(Call(kernel.c_str(), in, {&got}, &attrs, config.threads));
      ASSERT_EQ(Difference(got, want, tolerance), "") << kernel << " " << IsaName(config.isa);
      ASSERT_TRUE(got.GuardsIntact()) << kernel;
    }
  }
}

int64_t PickSize(Rng* rng) {
  return OneIn(rng, 20)  ? 0
         : OneIn(rng, 8) ? 1
         : OneIn(rng, 2) ? Pick(rng, 20, 100)
                         : Pick(rng, 2, 20);
}

Dims With(const Dims& batch, int64_t rows, int64_t cols) {
  Dims shape = batch;
  shape.PushBack(rows);
  shape.PushBack(cols);
  return shape;
}

TEST(Matmul, AgreesWithReference) {
  Rng rng(1);
  int by_onednn = 0;
  for (int trial = 0; trial < 150; ++trial) {
    const DataType dtype = PickDtype(&rng, kDtypes);
    const int64_t m = PickSize(&rng), n = PickSize(&rng), k = PickSize(&rng);
    Dims batch(static_cast<int>(Pick(&rng, 0, 3)), 1);
    for (int64_t& size : batch) { size = Pick(&rng, 1, 3); }
    HostArray a = RandomArray(&rng, dtype, With(ShapeThatBroadcasts(&rng, batch), m, k),
                              PickLayout(&rng, true));
    HostArray b = RandomArray(&rng, dtype, With(ShapeThatBroadcasts(&rng, batch), k, n),
                              PickLayout(&rng, true));
    a.Fill(&rng, false);
    b.Fill(&rng, false);
    // The output has the batch that a and b broadcast to.
    const Dims shape_a(a.shape().data(), a.shape().size() - 2);
    const Dims shape_b(b.shape().data(), b.shape().size() - 2);
    const Dims out_batch = CHECK_JUST(BroadcastShapes("matmul", shape_a, shape_b));
    ExpectSameAsReference("matmul", {&a, &b}, HostArray(dtype, With(out_batch, m, n)),
                          Tolerance(dtype, k), &by_onednn);
  }
  EXPECT_GT(by_onednn, 60);
}

TEST(Linear, AgreesWithReference) {
  Rng rng(2);
  int by_onednn = 0;
  for (int trial = 0; trial < 150; ++trial) {
    const DataType dtype = PickDtype(&rng, kDtypes);
    const int64_t n = PickSize(&rng), k = PickSize(&rng);
    Dims lead(static_cast<int>(Pick(&rng, 0, 3)), 1);
    for (int64_t& size : lead) { size = PickSize(&rng) % 30; }
    Dims shape_x = lead, shape_out = lead;
    shape_x.PushBack(k);
    shape_out.PushBack(n);
    HostArray x = RandomArray(&rng, dtype, shape_x, PickLayout(&rng, true));
    HostArray w = RandomArray(&rng, dtype, {n, k}, PickLayout(&rng, true));
    HostArray bias(dtype, {n});
    x.Fill(&rng, false);
    w.Fill(&rng, false);
    bias.Fill(&rng, false);
    const bool with_bias = OneIn(&rng, 2);
    ExpectSameAsReference("linear", {&x, &w, with_bias ? &bias : nullptr},
                          HostArray(dtype, shape_out), Tolerance(dtype, k), &by_onednn);
  }
  EXPECT_GT(by_onednn, 30);
}

// Rows, columns, single numbers, in every layout, alone and in batches.
TEST(Matmul, VectorsAgreeWithReference) {
  Rng rng(5);
  int by_onednn = 0;
  for (int trial = 0; trial < 150; ++trial) {
    const DataType dtype = PickDtype(&rng, kDtypes);
    const int64_t m = OneIn(&rng, 2) ? 1 : PickSize(&rng);
    const int64_t n = m == 1 && OneIn(&rng, 2) ? PickSize(&rng) : 1, k = PickSize(&rng);
    const Dims batch(OneIn(&rng, 2) ? 1 : 0, Pick(&rng, 2, 5));
    HostArray a = RandomArray(&rng, dtype, With(batch, m, k), PickLayout(&rng, true));
    HostArray b = RandomArray(&rng, dtype, With(batch, k, n), PickLayout(&rng, true));
    a.Fill(&rng, false);
    b.Fill(&rng, false);
    ExpectSameAsReference("matmul", {&a, &b}, HostArray(dtype, With(batch, m, n)),
                          Tolerance(dtype, k), &by_onednn);
  }
  EXPECT_LT(by_onednn, 75);  // oneDNN sees those batches that are more rows of one matrix
}

// bfloat16 and float16, by oneDNN or through float32; the reference adds up in double.
TEST(Matmul, ShortFloatsAgreeWithReference) {
  Rng rng(6);
  const MatmulAttrs attrs;
  for (const DataType dtype : {DataType::kBFloat16, DataType::kFloat16}) {
    const double tolerance = dtype == DataType::kBFloat16 ? 2e-2 : 2e-3;
    for (const Dims& size : {Dims{3, 4, 5}, Dims{1, 40, 30}, Dims{70, 64, 90}, Dims{4, 0, 3}}) {
      HostArray a(dtype, {size[0], size[1]}, {1, size[0]});
      HostArray b(dtype, {size[1], size[2]});
      HostArray w(dtype, {size[2], size[1]});
      HostArray bias(dtype, {size[2]});
      for (HostArray* array : {&a, &b, &w, &bias}) { array->Fill(&rng, false); }
      HostArray want(dtype, {size[0], size[2]}), got(dtype, {size[0], size[2]});
      CHECK_JUST(Call("matmul.cpu.reference", {&a, &b}, {&want}, &attrs));
      CHECK_JUST(Call("matmul.cpu.short", {&a, &b}, {&got}, &attrs, 2));
      EXPECT_EQ(Difference(got, want, tolerance), "") << DataTypeName(dtype) << size[1];
      CHECK_JUST(Call("linear.cpu.reference", {&a, &w, &bias}, {&want}, &attrs));
      CHECK_JUST(Call("linear.cpu.short", {&a, &w, &bias}, {&got}, &attrs, 2));
      EXPECT_EQ(Difference(got, want, tolerance), "") << DataTypeName(dtype) << size[1];
      EXPECT_TRUE(got.GuardsIntact());
    }
  }
}

TEST(Matmul, LargeEnoughForThreads) {
  Rng rng(3);
  int by_onednn = 0;
  for (DataType dtype : kDtypes) {
    HostArray a(dtype, {150, 130});
    HostArray b(dtype, {130, 170}, {1, 130});
    a.Fill(&rng, false);
    b.Fill(&rng, false);
    ExpectSameAsReference("matmul", {&a, &b}, HostArray(dtype, {150, 170}), Tolerance(dtype, 130),
                          &by_onednn);
  }
  EXPECT_GT(by_onednn, 0);
}

TEST(Matmul, IntegersWrap) {
  const MatmulAttrs attrs;
  HostArray a(DataType::kInt64, {1, 2});
  HostArray b(DataType::kInt64, {2, 1});
  for (int i = 0; i < 2; ++i) { a.view().Data<int64_t>()[i] = INT64_MAX; }
  for (int i = 0; i < 2; ++i) { b.view().Data<int64_t>()[i] = 3; }
  HostArray out(DataType::kInt64, {1, 1});
  CHECK_JUST(Call("matmul.cpu.vector", {&a, &b}, {&out}, &attrs));
  EXPECT_EQ(out.view().Data<int64_t>()[0], static_cast<int64_t>(uint64_t{6} * INT64_MAX));
}

// The multiplication by the project's own loops has the same bits for any thread count.
TEST(Matmul, VectorKernelDoesNotDependOnThreads) {
  Rng rng(4);
  const MatmulAttrs attrs;
  HostArray a(DataType::kDouble, {200, 90});
  HostArray b(DataType::kDouble, {90, 110});
  a.Fill(&rng, false);
  b.Fill(&rng, false);
  HostArray plain(DataType::kDouble, {200, 110});
  CHECK_JUST(Call("matmul.cpu.reference", {&a, &b}, {&plain}, &attrs));
  for (const Config& config : AllConfigs()) {
    const ScopedIsa isa(config.isa);
    HostArray want(DataType::kDouble, {200, 110});
    CHECK_JUST(Call("matmul.cpu.vector", {&a, &b}, {&want}, &attrs));
    EXPECT_EQ(Difference(want, plain, Tolerance(DataType::kDouble, 90)), "");
    HostArray got(DataType::kDouble, {200, 110});
    CHECK_JUST(Call("matmul.cpu.vector", {&a, &b}, {&got}, &attrs, config.threads));
    EXPECT_EQ(Difference(got, want, 0.0), "") << IsaName(config.isa) << " " << config.threads;
  }
}

// More signatures than the cache holds, from several threads, each of which ends.
TEST(Matmul, CacheIsBoundedAndPassedOn) {
  const MatmulAttrs attrs;
  auto work = [&attrs](int seed, int sizes) {
    Rng rng(static_cast<uint64_t>(seed));
    for (int i = 0; i < sizes; ++i) {
      const int64_t m = 20 + i;
      HostArray a(DataType::kFloat, {m, 40});
      HostArray b(DataType::kFloat, {40, 30});
      a.Fill(&rng, false);
      b.Fill(&rng, false);
      HostArray got(DataType::kFloat, {m, 30});
      HostArray want(DataType::kFloat, {m, 30});
      CHECK_JUST(Call("matmul.cpu.onednn", {&a, &b}, {&got}, &attrs));
      CHECK_JUST(Call("matmul.cpu.vector", {&a, &b}, {&want}, &attrs));
      ASSERT_EQ(Difference(got, want, 1e-4), "");
    }
  };
  work(1, kMaxCachedMatmuls + 20);
  for (int round = 0; round < 3; ++round) {
    std::thread first(work, 2, 10);
    std::thread second(work, 3, 10);
    first.join();
    second.join();
  }
}

TEST(Matmul, RefusesWhatItCannotDo) {
  const MatmulAttrs attrs;
  const HostArray f(DataType::kFloat, {64, 64});
  const HostArray d(DataType::kDouble, {64, 64});
  const HostArray i(DataType::kBool, {64, 64});
  const HostArray row(DataType::kFloat, {1, 64});
  const HostArray t(DataType::kFloat, {64, 64}, {1, 64});
  const HostArray small(DataType::kFloat, {4, 4});
  EXPECT_STREQ(Refusal("matmul.cpu.onednn", {&d, &d}, {&d}, &attrs), "dtype is not float32");
  EXPECT_STREQ(Refusal("matmul.cpu.onednn", {&f, &d}, {&f}, &attrs),
               "operands of different dtypes");
  EXPECT_STREQ(Refusal("matmul.cpu.onednn", {&f, &f}, {&t}, &attrs), "output is not dense");
  EXPECT_STREQ(Refusal("matmul.cpu.onednn", {&small, &small}, {&small}, &attrs), "too small");
  EXPECT_STREQ(Refusal("matmul.cpu.onednn", {&row, &f}, {&row}, &attrs), "an operand is a vector");
  EXPECT_STREQ(Refusal("matmul.cpu.short", {&f, &f}, {&f}, &attrs),
               "dtype is not bfloat16 or float16");
  EXPECT_STREQ(Refusal("matmul.cpu.vector", {&i, &i}, {&i}, &attrs), "dtype not supported");
  EXPECT_EQ(Refusal("matmul.cpu.onednn", {&f, &t}, {&f}, &attrs), nullptr);
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
