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
  HostArray q, k, v, dout, mask;
  Dims out, sums;
  AttentionAttrs attrs;
  bool masked;
};

Case RandomCase(Rng* rng) {
  const DataType dtype = OneIn(rng, 3) ? DataType::kDouble : DataType::kFloat;
  const int64_t a = Pick(rng, 1, 2), b = Pick(rng, 1, 3);
  const int64_t queries = OneIn(rng, 6) ? Pick(rng, 120, 200) : Pick(rng, 1, 24);
  const int64_t keys = OneIn(rng, 6) ? Pick(rng, 60, 120) : Pick(rng, 1, 24);
  const int64_t width = Pick(rng, 1, 20), value_width = Pick(rng, 1, 20);
  const DataType kind = OneIn(rng, 2) ? DataType::kBool : dtype;
  const Dims out = {a, b, queries, value_width};
  Case c{Heads(rng, dtype, {a, b, queries, width}),
         Heads(rng, dtype, {a, b, keys, width}),
         Heads(rng, dtype, {a, b, keys, value_width}),
         Heads(rng, dtype, out),
         Random(rng, kind, ShapeThatBroadcasts(rng, {a, b, queries, keys}), Layout::kDense),
         out,
         {a, b, queries},
         AttentionAttrs(),
         OneIn(rng, 2)};
  c.attrs.scale = 0.5;
  c.attrs.is_causal = OneIn(rng, 3);
  return c;
}

TEST(Attention, AgreesWithReference) {
  Rng rng(1);
  for (int trial = 0; trial < 60; ++trial) {
    const Case c = RandomCase(&rng);
    const DataType dtype = c.q.dtype();
    const HostArray* mask = c.masked ? &c.mask : nullptr;
    HostArray out(dtype, c.out), sums(dtype, c.sums);
    const double tolerance = ToleranceFor(dtype);
    ReferenceCase forward{
        "fused_attention", {&c.q, &c.k, &c.v, mask}, {out, sums}, &c.attrs, tolerance, "blocked"};
    forward.same_bits = false;  // products are the library's
    ASSERT_EQ(AgainstReference(forward), "");
    CHECK_JUST(Call("fused_attention.cpu.reference", forward.in, {&out, &sums}, &c.attrs));
    const auto like = [&](const HostArray& x) { return HostArray(dtype, x.shape()); };
    ReferenceCase backward{"fused_attention_backward",
                           {&c.dout, &c.q, &c.k, &c.v, mask, &out, &sums},
                           {like(c.q), like(c.k), like(c.v)},
                           &c.attrs,
                           100 * tolerance,
                           "blocked"};
    backward.same_bits = false;
    ASSERT_EQ(AgainstReference(backward), "");
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
    CHECK_JUST(Call(kernel, {&x, &x, &x, &mask}, {&out, &sums}, &attrs));
    for (int64_t i = 0; i < out.count(); ++i) { ASSERT_EQ(out.At(i), 0.0) << kernel; }
    EXPECT_EQ(sums.At(0), HUGE_VAL) << kernel;
  }
}

TEST(Attention, TheComparisonSeesOneOtherKey) {
  Rng rng(3);
  const HostArray x = Random(&rng, DataType::kFloat, {1, 2, 5, 4}, Layout::kDense);
  HostArray changed(x);
  changed.Set(9, x.At(9) + 0.5);
  const Arrays other = {&x, &changed, &x, nullptr};
  const AttentionAttrs attrs;
  const HostArray out(DataType::kFloat, x.shape()), sums(DataType::kFloat, {1, 2, 5});
  EXPECT_NE(AgainstReference({"fused_attention",
                              {&x, &x, &x, nullptr},
                              {out, sums},
                              &attrs,
                              ToleranceFor(DataType::kFloat),
                              "blocked",
                              false},
                             &other),
            "");
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
