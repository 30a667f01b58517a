// The kernels of embeddings against their references.
#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "oneflow/kernels/attrs_norm.h"
#include "oneflow/kernels/cpu/kernel_testing.h"

namespace oneflow {
namespace cpu {
namespace testing {
namespace {

const std::vector<DataType> kDtypes = {DataType::kFloat, DataType::kFloat, DataType::kDouble,
                                       DataType::kFloat16, DataType::kBFloat16};

struct Case {
  HostArray table, indices, dy;
  Dims out;
};

Case RandomCase(Rng* rng) {
  const DataType dtype = PickDtype(rng, kDtypes);
  const int64_t rows = Pick(rng, 1, 40), n = OneIn(rng, 8) ? 0 : Pick(rng, 1, 70);
  const Dims looked_up = {Pick(rng, 0, 60), Pick(rng, 1, 3)};
  Dims out = looked_up;
  out.PushBack(n);
  const DataType whole = OneIn(rng, 2) ? DataType::kInt64 : DataType::kInt32;
  Case c{RandomArray(rng, dtype, {rows, n}, PickLayout(rng, true)),
         RandomArray(rng, whole, looked_up, Layout::kDense),
         RandomArray(rng, dtype, out, PickLayout(rng, true)), out};
  c.table.Fill(rng, false);
  c.dy.Fill(rng, false);
  for (int64_t i = 0; i < c.indices.count(); ++i) {
    c.indices.Set(i, static_cast<double>(Pick(rng, 0, rows - 1)));
  }
  return c;
}

TEST(Embedding, AgreesWithReference) {
  Rng rng(1);
  for (int trial = 0; trial < 300; ++trial) {
    const Case c = RandomCase(&rng);
    const DataType dtype = c.table.dtype();
    EmbeddingBackwardAttrs attrs;
    attrs.kernel.padding_idx = OneIn(&rng, 2) ? -1 : Pick(&rng, 0, c.table.shape()[0] - 1);
    attrs.kernel.scale_grad_by_freq = OneIn(&rng, 2);
    attrs.kernel.adjoint = OneIn(&rng, 2);
    attrs.shape = IntList(c.table.shape());
    const HostArray out = RandomArray(&rng, dtype, c.out, PickLayout(&rng, false));
    const double tolerance = ToleranceFor(dtype);
    ASSERT_EQ(AgainstReference(
                  {"embedding", {&c.table, &c.indices}, {out}, &attrs.kernel, tolerance, "floats"}),
              "");
    const HostArray blank(dtype, c.table.shape());
    ASSERT_EQ(AgainstReference(
                  {"embedding_backward", {&c.dy, &c.indices}, {blank}, &attrs, 40 * tolerance}),
              "");
    EmbeddingRenormAttrs renorm;
    renorm.max_norm = 1.5;
    renorm.norm_type = OneIn(&rng, 3) ? HUGE_VAL : static_cast<double>(Pick(&rng, 1, 3));
    ASSERT_EQ(
        AgainstReference({"embedding_renorm", {&c.table, &c.indices}, {blank}, &renorm, tolerance}),
        "");
  }
}

TEST(Embedding, RefusesIndicesOutsideOfTheTable) {
  const HostArray table(DataType::kFloat, {3, 2}), out(DataType::kFloat, {2, 2});
  const EmbeddingAttrs attrs;
  for (double index : {-1.0, 3.0, -9223372036854775808.0, 4611686018427387904.0}) {
    HostArray indices(DataType::kInt64, {2});
    indices.Set(0, 0.0);
    indices.Set(1, index);
    for (const char* kernel :
         {"embedding.cpu.copies", "embedding.cpu.floats", "embedding.cpu.reference"}) {
      const Maybe<void> ran = Call(kernel, {&table, &indices}, {&out}, &attrs);
      ASSERT_FALSE(ran.ok()) << kernel << " " << index;
      EXPECT_EQ(ran.error()->kind(), ErrorKind::kIndex);
    }
  }
}

TEST(Embedding, TheComparisonSeesOneOtherIndex) {
  Rng rng(2);
  HostArray table(DataType::kFloat, {5, 3});
  table.Fill(&rng, false);
  HostArray indices(DataType::kInt64, {4});
  for (int64_t i = 0; i < 4; ++i) { indices.Set(i, 0.0); }
  HostArray changed(indices);
  changed.Set(2, 1.0);
  const Arrays other = {&table, &changed};
  const EmbeddingAttrs attrs;
  const HostArray out(DataType::kFloat, {4, 3});
  EXPECT_NE(
      AgainstReference({"embedding", {&table, &indices}, {out}, &attrs, 1e-5, "floats"}, &other),
      "");
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
