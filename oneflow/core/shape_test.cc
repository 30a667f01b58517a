#include "oneflow/core/shape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace oneflow {
namespace {

// Offsets of all elements, in row-major order of the shape.
std::vector<int64_t> Offsets(const Shape& shape, const Strides& strides) {
  std::vector<int64_t> out;
  Dims index(shape.size(), 0);
  for (int64_t n = ElementCount(shape); n > 0; --n) {
    int64_t at = 0;
    for (int i = 0; i < shape.size(); ++i) { at += index[i] * strides[i]; }
    out.push_back(at);
    for (int i = shape.size() - 1; i >= 0 && ++index[i] == shape[i]; --i) { index[i] = 0; }
  }
  return out;
}

class Draw {
 public:
  explicit Draw(uint32_t seed) : state_(seed) {}
  int64_t Below(int64_t n) {
    state_ = state_ * 1664525u + 1013904223u;
    return static_cast<int64_t>(state_ >> 16) % n;
  }
  Shape ShapeOf(int max_dims, int64_t max_size) {
    Shape shape;
    for (int64_t n = Below(max_dims + 1); n > 0; --n) { shape.PushBack(1 + Below(max_size)); }
    return shape;
  }
  Strides StridesFor(const Shape& shape) {
    // A permuted dense array, sometimes with gaps or repeats.
    Strides strides(shape.size(), 0);
    std::vector<int> order(static_cast<size_t>(shape.size()));
    for (size_t i = 0; i < order.size(); ++i) { order[i] = static_cast<int>(i); }
    for (size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[static_cast<size_t>(Below(static_cast<int64_t>(i)))]);
    }
    int64_t step = 1 + Below(2);
    for (int i : order) {
      strides[i] = Below(6) == 0 ? 0 : step;
      step *= shape[i] + Below(2);
    }
    return strides;
  }

 private:
  uint32_t state_;
};

TEST(ShapeTest, ContiguousStridesAreRowMajor) {
  EXPECT_EQ(ContiguousStrides({2, 3, 4}), (Strides{12, 4, 1}));
  EXPECT_EQ(ContiguousStrides({}), (Strides{}));
  EXPECT_EQ(ContiguousStrides({2, 0, 4}), (Strides{4, 4, 1}));
}

TEST(ShapeTest, IsContiguousMeansOffsetsCountUp) {
  Draw draw(1);
  int seen[2] = {0, 0};
  for (int i = 0; i < 5000; ++i) {
    const Shape shape = draw.ShapeOf(4, 4);
    const Strides strides = i % 3 == 0 ? ContiguousStrides(shape) : draw.StridesFor(shape);
    const std::vector<int64_t> offsets = Offsets(shape, strides);
    bool counts_up = true;
    for (size_t k = 0; k < offsets.size(); ++k) {
      counts_up = counts_up && offsets[k] == static_cast<int64_t>(k);
    }
    ASSERT_EQ(IsContiguous(shape, strides), counts_up) << shape.ToString() << strides.ToString();
    ++seen[counts_up ? 1 : 0];
  }
  EXPECT_GT(seen[0], 100);
  EXPECT_GT(seen[1], 100);
  EXPECT_TRUE(IsContiguous({0, 3}, {7, 7}));
}

TEST(ShapeTest, MayOverlapNeverMissesAnOverlap) {
  Draw draw(2);
  int overlaps = 0;
  int sure = 0;
  for (int i = 0; i < 5000; ++i) {
    const Shape shape = draw.ShapeOf(4, 4);
    const Strides strides = draw.StridesFor(shape);
    std::vector<int64_t> offsets = Offsets(shape, strides);
    std::sort(offsets.begin(), offsets.end());
    const bool overlap = std::adjacent_find(offsets.begin(), offsets.end()) != offsets.end();
    const bool may = MayOverlap(shape, strides);
    ASSERT_TRUE(may || !overlap) << shape.ToString() << strides.ToString();
    overlaps += overlap ? 1 : 0;
    sure += may ? 0 : 1;
  }
  EXPECT_GT(overlaps, 100);
  EXPECT_GT(sure, 100);
  EXPECT_FALSE(MayOverlap({0, 2}, {0, 0}));
}

TEST(ShapeTest, CheckedBytes) {
  EXPECT_EQ(CHECK_JUST(CheckedBytes("ones", {2, 3}, DataType::kDouble)), 48);
  EXPECT_EQ(CHECK_JUST(CheckedBytes("ones", {}, DataType::kFloat)), 4);
  EXPECT_EQ(CHECK_JUST(CheckedBytes("ones", {int64_t{1} << 62, 0, 9}, DataType::kFloat)), 0);
  EXPECT_EQ(CheckedBytes("ones", {2, -1}, DataType::kFloat).error()->kind(), ErrorKind::kValue);
  EXPECT_EQ(CheckedBytes("ones", {0, -1}, DataType::kFloat).error()->kind(), ErrorKind::kValue);
  const int64_t large = int64_t{1} << 40;
  EXPECT_EQ(CheckedBytes("ones", {large, large}, DataType::kFloat).error()->kind(),
            ErrorKind::kOutOfMemory);
  EXPECT_EQ(CheckedBytes("ones", {large, large, large, large}, DataType::kFloat).error()->kind(),
            ErrorKind::kOutOfMemory);
}

TEST(ShapeTest, BroadcastFollowsNumpy) {
  const auto both = [](const Shape& a, const Shape& b) {
    const Shape ab = CHECK_JUST(BroadcastShapes("add", a, b));
    EXPECT_EQ(CHECK_JUST(BroadcastShapes("add", b, a)), ab);
    return ab;
  };
  EXPECT_EQ(both({2, 3}, {3}), (Shape{2, 3}));
  EXPECT_EQ(both({2, 1}, {1, 3}), (Shape{2, 3}));
  EXPECT_EQ(both({}, {4}), (Shape{4}));
  EXPECT_EQ(both({0}, {1}), (Shape{0}));
  EXPECT_EQ(both({5, 1, 0}, {1, 4, 1}), (Shape{5, 4, 0}));
  const ErrorPtr error = BroadcastShapes("add", {2, 3}, {4, 2, 2}).error();
  EXPECT_EQ(error->kind(), ErrorKind::kRuntime);
  EXPECT_EQ(error->message(),
            "[add] expects shapes that broadcast together, got (2, 3) and (4, 2, 2): sizes 3 and 2 "
            "differ at dimension 2");
  EXPECT_FALSE(BroadcastShapes("add", {0}, {2}).ok());
}

TEST(ShapeTest, BroadcastStridesRepeat) {
  EXPECT_EQ(BroadcastStrides({3}, {1}, {2, 3}), (Strides{0, 1}));
  EXPECT_EQ(BroadcastStrides({2, 1}, {5, 9}, {2, 3}), (Strides{5, 0}));
  EXPECT_EQ(BroadcastStrides({2, 1}, {5, 9}, {2, 1}), (Strides{5, 9}));
  EXPECT_EQ(BroadcastStrides({}, {}, {2}), (Strides{0}));
}

TEST(ShapeTest, WrapDim) {
  EXPECT_EQ(CHECK_JUST(WrapDim("sum", -1, 3)), 2);
  EXPECT_EQ(CHECK_JUST(WrapDim("sum", 2, 3)), 2);
  EXPECT_EQ(CHECK_JUST(WrapDim("sum", 0, 0)), 0);
  EXPECT_EQ(CHECK_JUST(WrapDim("sum", -1, 0)), 0);
  const ErrorPtr error = WrapDim("sum", 3, 3).error();
  EXPECT_EQ(error->kind(), ErrorKind::kIndex);
  EXPECT_EQ(error->message(), "[sum] expects a dim of a tensor with 3 dims, got 3");
  EXPECT_FALSE(WrapDim("sum", -4, 3).ok());
  EXPECT_FALSE(WrapDim("sum", INT64_MIN, 3).ok());
}

TEST(ShapeTest, InferViewShape) {
  const auto infer = [](const Shape& from, const Shape& wanted) {
    return InferViewShape("view", from, wanted);
  };
  EXPECT_EQ(CHECK_JUST(infer({2, 3}, {6})), (Shape{6}));
  EXPECT_EQ(CHECK_JUST(infer({2, 3}, {-1, 2})), (Shape{3, 2}));
  EXPECT_EQ(CHECK_JUST(infer({}, {1, -1})), (Shape{1, 1}));
  EXPECT_EQ(CHECK_JUST(infer({0, 3}, {3, -1})), (Shape{3, 0}));
  for (const Shape& bad : {Shape{5}, Shape{-1, 4}, Shape{-1, -1}, Shape{-2, 3}, Shape{0, -1},
                           Shape{int64_t{1} << 32, int64_t{1} << 32}}) {
    EXPECT_EQ(infer({2, 3}, bad).error()->kind(), ErrorKind::kRuntime) << bad.ToString();
  }
}

// Cuts `count` into factors.
Shape Factors(Draw* draw, int64_t count) {
  Shape out;
  while (count > 1 && out.size() < 5) {
    int64_t f = 1 + draw->Below(count);
    while (count % f != 0) { --f; }
    out.PushBack(f);
    count /= f;
  }
  if (count > 1) { out.PushBack(count); }
  if (draw->Below(2) == 0) { out.Insert(static_cast<int>(draw->Below(out.size() + 1)), 1); }
  return out;
}

TEST(ShapeTest, ViewStridesGiveTheSameElementsWheneverThatIsPossible) {
  Draw draw(3);
  int possible = 0;
  int impossible = 0;
  for (int i = 0; i < 20000; ++i) {
    const Shape from = draw.ShapeOf(4, 4);
    const Strides strides = draw.StridesFor(from);
    const Shape to = Factors(&draw, ElementCount(from));
    const std::vector<int64_t> expected = Offsets(from, strides);
    Strides out;
    if (ViewStrides(from, strides, to, &out)) {
      ++possible;
      ASSERT_EQ(Offsets(to, out), expected)
          << from.ToString() << strides.ToString() << to.ToString() << out.ToString();
      continue;
    }
    ++impossible;
    // The only strides that could do it are the steps between neighbours; they must not.
    Strides only(to.size(), 0);
    const Strides dense = ContiguousStrides(to);
    for (int d = 0; d < to.size(); ++d) {
      if (to[d] > 1) { only[d] = expected[static_cast<size_t>(dense[d])] - expected[0]; }
    }
    ASSERT_NE(Offsets(to, only), expected)
        << from.ToString() << strides.ToString() << to.ToString();
  }
  EXPECT_GT(possible, 1000);
  EXPECT_GT(impossible, 1000);
}

TEST(ShapeTest, ViewStridesOfNothing) {
  Strides out;
  EXPECT_TRUE(ViewStrides({0, 3}, {1, 7}, {3, 0, 2}, &out));
  EXPECT_EQ(out.size(), 3);
}

}  // namespace
}  // namespace oneflow
