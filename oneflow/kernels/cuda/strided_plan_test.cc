// Plans of random calls visit the same elements as plain nested loops. Needs no GPU.
#include "oneflow/kernels/cuda/strided_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <tuple>
#include <vector>

namespace oneflow {
namespace cuda {
namespace {

struct Operand {
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;

  ArrayView View() const {
    ArrayView view;
    view.shape = shape.data();
    view.strides = strides.data();
    view.ndim = static_cast<int>(shape.size());
    return view;
  }
};

using Offsets = std::tuple<int64_t, int64_t, int64_t>;

std::set<Offsets> Visit(const StridedPlan& plan) {
  std::set<Offsets> seen;
  for (int64_t i = 0; i < plan.total; ++i) {
    int64_t offsets[3] = {};
    int64_t rest = i;
    for (int d = 0; d < plan.ndim; ++d) {
      for (int k = 0; k < 3; ++k) { offsets[k] += rest % plan.sizes[d] * plan.strides[k][d]; }
      rest /= plan.sizes[d];
    }
    EXPECT_EQ(rest, 0);
    seen.emplace(offsets[0], offsets[1], offsets[2]);
  }
  return seen;
}

int64_t OffsetIn(const Operand& operand, const std::vector<int64_t>& index) {
  int64_t offset = 0;
  const size_t missing = index.size() - operand.shape.size();
  for (size_t d = 0; d < operand.shape.size(); ++d) {
    offset += operand.shape[d] == 1 ? 0 : index[d + missing] * operand.strides[d];
  }
  return offset;
}

std::set<Offsets> VisitPlainly(const Operand& out, const Operand& x, const Operand& y) {
  std::set<Offsets> seen;
  std::vector<int64_t> index(out.shape.size(), 0);
  if (std::count(out.shape.begin(), out.shape.end(), 0) > 0) { return seen; }
  while (true) {
    seen.emplace(OffsetIn(out, index), OffsetIn(x, index), OffsetIn(y, index));
    size_t d = index.size();
    while (d > 0 && ++index[d - 1] == out.shape[d - 1]) { index[--d] = 0; }
    if (d == 0) { return seen; }
  }
}

using Rng = std::mt19937;

int64_t Pick(Rng* rng, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(*rng);
}

// Dense memory, with the dimensions in a random order, and sometimes gaps.
Operand RandomOperand(Rng* rng, std::vector<int64_t> shape, bool ordered) {
  std::vector<size_t> order(shape.size());
  for (size_t i = 0; i < order.size(); ++i) { order[i] = order.size() - 1 - i; }
  if (!ordered) { std::shuffle(order.begin(), order.end(), *rng); }
  Operand operand{shape, std::vector<int64_t>(shape.size(), 0)};
  int64_t stride = Pick(rng, 0, 3) == 0 ? 2 : 1;
  for (const size_t d : order) {
    operand.strides[d] = stride;
    stride *= std::max<int64_t>(shape[d], 1);
  }
  return operand;
}

std::vector<int64_t> Broadcasting(Rng* rng, std::vector<int64_t> shape) {
  for (int64_t& size : shape) { size = Pick(rng, 0, 3) == 0 ? 1 : size; }
  shape.erase(shape.begin(), shape.begin() + Pick(rng, 0, static_cast<int64_t>(shape.size())));
  return shape;
}

TEST(StridedPlanTest, VisitsWhatNestedLoopsVisit) {
  Rng rng(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<int64_t> shape(static_cast<size_t>(Pick(&rng, 0, 5)));
    for (int64_t& size : shape) { size = Pick(&rng, Pick(&rng, 0, 9) == 0 ? 0 : 1, 4); }
    const bool ordered = Pick(&rng, 0, 1) == 0;
    const Operand out = RandomOperand(&rng, shape, ordered);
    const Operand x = RandomOperand(&rng, Broadcasting(&rng, shape), ordered);
    const Operand y = RandomOperand(&rng, shape, ordered);
    const ArrayView views[] = {out.View(), x.View(), y.View()};
    const ArrayView* operands[] = {&views[0], &views[1], &views[2]};
    const StridedPlan plan = MakeStridedPlan(operands, 3);
    ASSERT_EQ(Visit(plan), VisitPlainly(out, x, y)) << "round " << round;
  }
}

TEST(StridedPlanTest, ADenseCallHasOneDimension) {
  const Operand operand{{2, 3, 1, 4}, {12, 4, 4, 1}};
  const ArrayView view = operand.View();
  const ArrayView* operands[] = {&view, &view, &view};
  const StridedPlan plan = MakeStridedPlan(operands, 3);
  EXPECT_EQ(plan.ndim, 1);
  EXPECT_EQ(plan.sizes[0], 24);
  EXPECT_EQ(plan.strides[1][0], 1);
}

}  // namespace
}  // namespace cuda
}  // namespace oneflow
