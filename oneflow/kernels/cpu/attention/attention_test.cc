// fused_attention, forward and backward, against the reference.
#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "oneflow/kernels/attrs_linalg.h"
#include "oneflow/kernels/cpu/kernel_testing.h"

namespace oneflow {
namespace cpu {
namespace testing {
namespace {

HostArray Random(Rng* rng, DataType dtype, const Dims& shape, Layout layout) {
  HostArray array = RandomArray(rng, dtype, shape, layout);
  array.Fill(rng, false);
  return array;
}

// (a, b, rows, cols), dense or with the rows of the heads side by side, as a projection gives them.
HostArray Heads(Rng* rng, DataType dtype, const Dims& shape) {
  const bool side_by_side = OneIn(rng, 2);
  HostArray array =
      side_by_side ? HostArray(dtype, shape,
                               {shape[1] * shape[2] * shape[3], shape[3], shape[1] * shape[3], 1})
                   : HostArray(dtype, shape);
  array.Fill(rng, false);
  return array;
}

struct Case {
  HostArray q, k, v, dout, mask, kept;
  Dims out, sums;
  AttentionAttrs attrs;
  bool masked, drops;

  // A result or gradient, as the attributes say that it lies.
  HostArray Like(const Dims& shape) const {
    return HostArray(q.dtype(),
                     attrs.rows_first ? Dims{shape[0], shape[2], shape[1], shape[3]} : shape);
  }
  DataType sums_dtype() const {
    return q.dtype() == DataType::kBFloat16 ? DataType::kFloat : q.dtype();
  }
};

Case RandomCase(Rng* rng) {
  const DataType dtype = PickDtype(rng, {DataType::kFloat, DataType::kDouble, DataType::kBFloat16});
  const bool rows_first = OneIn(rng, 2);
  const int64_t a = Pick(rng, 1, 2), b = Pick(rng, 1, 3);
  const int64_t queries = OneIn(rng, 6) ? Pick(rng, 120, 200) : Pick(rng, 1, 24);
  const int64_t keys = OneIn(rng, 6) ? Pick(rng, 60, 120) : Pick(rng, 1, 24);
  const int64_t width = Pick(rng, 1, 20), value_width = Pick(rng, 1, 20);
  const DataType kind = OneIn(rng, 2) ? DataType::kBool : dtype;
  const Dims out = {a, b, queries, value_width};
  Case c{Heads(rng, dtype, {a, b, queries, width}),
         Heads(rng, dtype, {a, b, keys, width}),
         Heads(rng, dtype, {a, b, keys, value_width}),
         Random(rng, dtype, rows_first ? Dims{a, queries, b, value_width} : out, Layout::kDense),
         Random(rng, kind, ShapeThatBroadcasts(rng, {a, b, queries, keys}), Layout::kDense),
         Random(rng, DataType::kBool, {a, b, queries, keys}, Layout::kDense),
         out,
         {a, b, queries},
         AttentionAttrs(),
         OneIn(rng, 2),
         OneIn(rng, 2)};
  c.attrs.scale = 0.5;
  c.attrs.rows_first = rows_first;
  if (c.drops) { c.attrs.dropout = OneIn(rng, 5) ? 1.0 : 0.25; }
  c.attrs.is_causal = OneIn(rng, 3);
  return c;
}

TEST(Attention, AgreesWithReference) {
  Rng rng(1);
  for (int trial = 0; trial < 120; ++trial) {
    const Case c = RandomCase(&rng);
    const HostArray* mask = c.masked ? &c.mask : nullptr;
    const HostArray* kept = c.drops ? &c.kept : nullptr;
    HostArray out = c.Like(c.out), sums(c.sums_dtype(), c.sums);
    const double tolerance = ToleranceFor(c.q.dtype());
    ReferenceCase forward{"fused_attention", {&c.q, &c.k, &c.v, mask, kept},
                          {out, sums},       &c.attrs,
                          tolerance,         "blocked"};
    forward.same_bits = false;  // products are the library's
    ASSERT_EQ(AgainstReference(forward), "") << trial;
    CHECK_JUST(Call("fused_attention.cpu.reference", forward.in, {&out, &sums}, &c.attrs));
    ReferenceCase backward{"fused_attention_backward",
                           {&c.dout, &c.q, &c.k, &c.v, mask, kept, &out, &sums},
                           {c.Like(c.q.shape()), c.Like(c.k.shape()), c.Like(c.v.shape())},
                           &c.attrs,
                           (c.q.dtype() == DataType::kBFloat16 ? 4 : 100) * tolerance,
                           "blocked"};
    backward.same_bits = false;
    ASSERT_EQ(AgainstReference(backward), "") << trial;
  }
}

TEST(Attention, AQueryThatSeesNothingGivesZeros) {
  Rng rng(2);
  const HostArray x = Random(&rng, DataType::kFloat, {1, 1, 3, 4}, Layout::kDense);
  HostArray mask(DataType::kBool, {3, 3});
  for (int64_t i = 0; i < mask.count(); ++i) { mask.Set(i, 0.0); }
  const AttentionAttrs attrs;
  HostArray out = Random(&rng, DataType::kFloat, {1, 1, 3, 4}, Layout::kDense);
  HostArray sums(DataType::kFloat, {1, 1, 3});
  for (const char* kernel : {"fused_attention.cpu.blocked", "fused_attention.cpu.reference"}) {
    CHECK_JUST(Call(kernel, {&x, &x, &x, &mask, nullptr}, {&out, &sums}, &attrs));
    for (int64_t i = 0; i < out.count(); ++i) { ASSERT_EQ(out.At(i), 0.0) << kernel; }
    EXPECT_EQ(sums.At(0), HUGE_VAL) << kernel;
  }
}

TEST(Attention, TheComparisonSeesOneOtherKey) {
  Rng rng(3);
  const HostArray x = Random(&rng, DataType::kFloat, {1, 2, 5, 4}, Layout::kDense);
  HostArray changed(x);
  changed.Set(9, x.At(9) + 0.5);
  const Arrays other = {&x, &changed, &x, nullptr, nullptr};
  const AttentionAttrs attrs;
  const HostArray out(DataType::kFloat, x.shape()), sums(DataType::kFloat, {1, 2, 5});
  EXPECT_NE(AgainstReference({"fused_attention",
                              {&x, &x, &x, nullptr, nullptr},
                              {out, sums},
                              &attrs,
                              ToleranceFor(DataType::kFloat),
                              "blocked",
                              false},
                             &other),
            "");
}

TEST(Attention, TheComparisonSeesOneOtherDrop) {
  Rng rng(4);
  const HostArray x = Random(&rng, DataType::kBFloat16, {1, 2, 5, 4}, Layout::kDense);
  const HostArray kept = Random(&rng, DataType::kBool, {1, 2, 5, 5}, Layout::kDense);
  HostArray changed(kept);
  changed.Set(9, 1.0 - kept.At(9));
  const Arrays other = {&x, &x, &x, nullptr, &changed};
  AttentionAttrs attrs;
  attrs.scale = 0.0;  // no weight is too small to be seen
  attrs.dropout = 0.5;
  const HostArray out(DataType::kBFloat16, x.shape()), sums(DataType::kFloat, {1, 2, 5});
  EXPECT_NE(AgainstReference({"fused_attention",
                              {&x, &x, &x, nullptr, &kept},
                              {out, sums},
                              &attrs,
                              ToleranceFor(DataType::kBFloat16),
                              "blocked",
                              false},
                             &other),
            "");
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
