// The kernels of indexing against their references, in every layout and dtype, and their errors.
#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "oneflow/kernels/attrs_indexing.h"
#include "oneflow/kernels/cpu/kernel_testing.h"

namespace oneflow {
namespace cpu {
namespace testing {
namespace {

const std::vector<DataType> kAll = {DataType::kBool,  DataType::kUInt8,    DataType::kInt16,
                                    DataType::kInt32, DataType::kInt64,    DataType::kFloat16,
                                    DataType::kFloat, DataType::kBFloat16, DataType::kDouble};
const std::vector<DataType> kAdded = {DataType::kUInt8, DataType::kInt8,  DataType::kInt32,
                                      DataType::kInt64, DataType::kFloat, DataType::kDouble};

HostArray RandomIndex(Rng* rng, const Dims& shape, int64_t size, bool negative) {
  const DataType dtype = OneIn(rng, 2) ? DataType::kInt64 : DataType::kInt32;
  HostArray index = RandomArray(rng, dtype, shape, PickLayout(rng, true));
  for (int64_t i = 0; i < index.count(); ++i) {
    index.Set(i, static_cast<double>(Pick(rng, negative ? -size : 0, size - 1)));
  }
  return index;
}

HostArray RandomValues(Rng* rng, DataType dtype, const Dims& shape, bool input) {
  HostArray array = RandomArray(rng, dtype, shape, PickLayout(rng, input));
  array.Fill(rng, false);
  return array;
}

// Runs a kernel and its reference on copies of one output; both must leave the same.
void Compare(const std::string& op, const std::string& variant, const Arrays& inputs,
             const HostArray& output, bool in_place, const void* attrs, int threads) {
  const std::string fast_name = op + ".cpu." + variant;
  const std::string slow_name = op + ".cpu.reference";
  HostArray fast = output;
  HostArray slow = output;
  Arrays fast_inputs = inputs;
  Arrays slow_inputs = inputs;
  if (in_place) {
    fast_inputs.insert(fast_inputs.begin(), &fast);
    slow_inputs.insert(slow_inputs.begin(), &slow);
  }
  if (Refusal(fast_name.c_str(), fast_inputs, {&fast}, attrs) != nullptr) { return; }
  const Maybe<void> ran = Call(fast_name.c_str(), fast_inputs, {&fast}, attrs, threads);
  ASSERT_TRUE(ran.ok()) << ran.error()->message();
  const Maybe<void> checked = Call(slow_name.c_str(), slow_inputs, {&slow}, attrs);
  ASSERT_TRUE(checked.ok()) << checked.error()->message();
  EXPECT_EQ(Difference(fast, slow, 1e-5), "") << op;
  EXPECT_TRUE(fast.GuardsIntact()) << op;
}

// Dims before, indexed dims, dims behind, and the dims of the indices.
struct Problem {
  explicit Problem(Rng* rng) {
    const int before = static_cast<int>(Pick(rng, 0, 2));
    const int count = static_cast<int>(Pick(rng, 1, 2));
    const int behind = static_cast<int>(Pick(rng, 0, 2));
    const Dims b = RandomShape(rng, 0, 2);
    attrs.dim = before;
    for (int i = 0; i < before; ++i) { Both(Pick(rng, 1, 3)); }
    for (int i = 0; i < count; ++i) {
      const int64_t size = Pick(rng, 1, 5);
      indexed.PushBack(size);
      indices.push_back(RandomIndex(rng, b, size, true));
    }
    for (int64_t size : b) { plain.PushBack(size > 400 ? 400 : size); }
    if (b.size() > 0 && plain != Dims()) { Shrink(rng); }
    for (int i = 0; i < behind; ++i) { Both(OneIn(rng, 4) ? 40 : Pick(rng, 1, 4)); }
  }

  void Both(int64_t size) {
    indexed.PushBack(size);
    plain.PushBack(size);
  }

  // Indices of the shape that the plain side has, where that was cut.
  void Shrink(Rng* rng) {
    const int before = static_cast<int>(attrs.dim);
    Dims b;
    for (int d = before; d < plain.size(); ++d) { b.PushBack(plain[d]); }
    const size_t count = indices.size();
    indices.clear();
    for (size_t i = 0; i < count; ++i) {
      indices.push_back(RandomIndex(rng, b, indexed[before + static_cast<int>(i)], true));
    }
  }

  Arrays WithIndices(std::vector<const HostArray*> first) const {
    for (const HostArray& index : indices) { first.push_back(&index); }
    return first;
  }

  IndexAtAttrs attrs;
  Dims indexed;
  Dims plain;
  std::vector<HostArray> indices;
};

TEST(IndexingTest, RowsAreReadAsTheReferenceReads) {
  Rng rng(1);
  for (int i = 0; i < 300; ++i) {
    const Problem problem(&rng);
    const DataType dtype = PickDtype(&rng, kAll);
    const HostArray x = RandomValues(&rng, dtype, problem.indexed, true);
    Compare("index_at", "rows", problem.WithIndices({&x}), HostArray(dtype, problem.plain), false,
            &problem.attrs, i % 3 + 1);
  }
}

TEST(IndexingTest, RowsAreWrittenAsTheReferenceWrites) {
  Rng rng(2);
  for (int i = 0; i < 300; ++i) {
    Problem problem(&rng);
    problem.attrs.accumulate = i % 2 == 0;
    const DataType dtype = PickDtype(&rng, problem.attrs.accumulate ? kAdded : kAll);
    const HostArray values = RandomValues(&rng, dtype, problem.plain, true);
    const HostArray target = RandomValues(&rng, dtype, problem.indexed, false);
    Compare("index_at_put", "rows", problem.WithIndices({&values}), target, true, &problem.attrs,
            i % 3 + 1);
  }
}

TEST(IndexingTest, RowsAreAddedToZerosAsTheReferenceAdds) {
  Rng rng(3);
  for (int i = 0; i < 200; ++i) {
    const Problem problem(&rng);
    IndexAtBackwardAttrs attrs;
    attrs.kernel = problem.attrs;
    attrs.shape = IntList(problem.indexed);
    const DataType dtype = PickDtype(&rng, kAdded);
    const HostArray dy = RandomValues(&rng, dtype, problem.plain, true);
    Compare("index_at_backward", "rows", problem.WithIndices({&dy}),
            HostArray(dtype, problem.indexed), false, &attrs, i % 3 + 1);
  }
}

TEST(IndexingTest, ElementsAreGatheredAndScattered) {
  Rng rng(4);
  for (int i = 0; i < 400; ++i) {
    Dims whole = RandomShape(&rng, 1, 3);
    Dims part = whole;
    const int dim = static_cast<int>(Pick(&rng, 0, whole.size() - 1));
    if (whole[dim] == 0) { continue; }
    for (int64_t& size : part) { size = size == 0 ? 0 : Pick(&rng, 1, size); }
    part[dim] = Pick(&rng, 0, 9);
    const HostArray index = RandomIndex(&rng, part, whole[dim], false);
    GatherAttrs gather;
    gather.dim = dim;
    gather.caller = static_cast<int64_t>(IndexCaller::kGather);
    const HostArray x = RandomValues(&rng, PickDtype(&rng, kAll), whole, true);
    Compare("gather", "lines", {&x, &index}, HostArray(x.dtype(), part), false, &gather, i % 3 + 1);
    ScatterAttrs scatter;
    scatter.dim = dim;
    scatter.mode = i % 3;
    scatter.caller = static_cast<int64_t>(IndexCaller::kScatter);
    const DataType dtype = PickDtype(&rng, scatter.mode == 0 ? kAll : kAdded);
    const HostArray src = RandomValues(&rng, dtype, part, true);
    const HostArray target = RandomValues(&rng, dtype, whole, false);
    Compare("scatter", "lines", {&index, &src}, target, true, &scatter, i % 3 + 1);
  }
}

TEST(IndexingTest, WhatIsTrueIsCountedAndCollected) {
  Rng rng(5);
  for (int i = 0; i < 100; ++i) {
    HostArray x(PickDtype(&rng, kAll), RandomShape(&rng, 0, 3));
    x.Fill(&rng, true);
    for (int64_t k = 0; k < x.count(); ++k) {
      if (OneIn(&rng, 2)) { x.Set(k, OneIn(&rng, 2) ? 0.0 : -0.0); }
    }
    HostArray count(DataType::kInt64, {});
    ASSERT_TRUE(Call("nonzero_count.cpu.reference", {&x}, {&count}, nullptr).ok());
    Compare("nonzero_count", "blocks", {&x}, HostArray(DataType::kInt64, {}), false, nullptr, 2);
    CountAttrs attrs;
    attrs.count = static_cast<int64_t>(count.At(0));
    const Dims rows{attrs.count, int64_t{x.shape().size()}};
    Compare("nonzero_rows", "blocks", {&x}, HostArray(DataType::kInt64, rows), false, &attrs, 2);
    HostArray mask(DataType::kBool, x.shape());
    for (int64_t k = 0; k < x.count(); ++k) { mask.Set(k, x.At(k) != 0.0 ? 1.0 : 0.0); }
    const HostArray packed(x.dtype(), {attrs.count});
    Compare("masked_take", "blocks", {&x, &mask}, packed, false, &attrs, 2);
    HostArray dy(x.dtype(), {attrs.count});
    dy.Fill(&rng, false);
    Compare("masked_untake", "blocks", {&dy, &mask}, HostArray(x.dtype(), x.shape()), false,
            nullptr, 2);
    attrs.count += 1;
    const HostArray more(DataType::kInt64, {attrs.count, int64_t{x.shape().size()}});
    HostArray out = more;
    EXPECT_FALSE(Call("nonzero_rows.cpu.blocks", {&x}, {&out}, &attrs).ok());
  }
}

TEST(IndexingTest, ABadIndexIsNamedAndNothingIsWritten) {
  HostArray target(DataType::kFloat, {2, 3});
  HostArray values(DataType::kFloat, {2, 3});
  HostArray index(DataType::kInt64, {2});
  index.Set(0, 1);
  index.Set(1, 2);
  for (int64_t k = 0; k < 6; ++k) {
    target.Set(k, 0.0);
    values.Set(k, 7.0);
  }
  IndexAtAttrs attrs;
  attrs.caller = static_cast<int64_t>(IndexCaller::kSetitem);
  const Maybe<void> put =
      Call("index_at_put.cpu.rows", {&target, &values, &index}, {&target}, &attrs);
  ASSERT_FALSE(put.ok());
  EXPECT_EQ(put.error()->message(),
            "[setitem] expects indices in [-2, 2) for dim 0 of shape (2, 3), got 2 at (1,) of the "
            "indices");
  EXPECT_EQ(put.error()->kind(), ErrorKind::kIndex);
  for (int64_t k = 0; k < 6; ++k) { EXPECT_EQ(target.At(k), 0.0); }
}

TEST(IndexingTest, APlacementOfTheWrongRowIsNoticed) {
  HostArray x(DataType::kFloat, {3});
  for (int64_t k = 0; k < 3; ++k) { x.Set(k, static_cast<double>(k)); }
  HostArray index(DataType::kInt64, {1});
  HostArray one(DataType::kFloat, {1});
  HostArray other(DataType::kFloat, {1});
  const IndexAtAttrs attrs;
  index.Set(0, 0);
  ASSERT_TRUE(Call("index_at.cpu.rows", {&x, &index}, {&one}, &attrs).ok());
  index.Set(0, 1);
  ASSERT_TRUE(Call("index_at.cpu.reference", {&x, &index}, {&other}, &attrs).ok());
  EXPECT_NE(Difference(one, other, 1e-5), "");
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
