#include "oneflow/graph/memory_plan.h"

#include <algorithm>
#include <numeric>

namespace oneflow {
namespace graph {

namespace {

int64_t Aligned(int64_t bytes) {
  return (bytes + kPlanAlignment - 1) / kPlanAlignment * kPlanAlignment;
}

int64_t LargestSum(const std::vector<Lifetime>& arrays) {
  int steps = 0;
  for (const Lifetime& a : arrays) { steps = std::max(steps, a.last + 1); }
  std::vector<int64_t> change(static_cast<size_t>(steps) + 1, 0);
  for (const Lifetime& a : arrays) {
    change[static_cast<size_t>(a.first)] += Aligned(a.bytes);
    change[static_cast<size_t>(a.last) + 1] -= Aligned(a.bytes);
  }
  int64_t alive = 0;
  int64_t largest = 0;
  for (int64_t c : change) {
    alive += c;
    largest = std::max(largest, alive);
  }
  return largest;
}

}  // namespace

MemoryPlan PlanMemory(const std::vector<Lifetime>& arrays) {
  MemoryPlan plan;
  plan.offsets.assign(arrays.size(), 0);
  plan.lower_bound = LargestSum(arrays);
  std::vector<size_t> order(arrays.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return arrays[a].bytes > arrays[b].bytes; });
  std::vector<size_t> placed;  // by offset
  for (size_t i : order) {
    const Lifetime& array = arrays[i];
    const int64_t bytes = Aligned(array.bytes);
    if (bytes == 0) { continue; }
    int64_t end = 0;  // of what was met so far
    int64_t best = -1;
    int64_t best_gap = 0;
    for (size_t j : placed) {
      const Lifetime& other = arrays[j];
      if (other.last < array.first || other.first > array.last) { continue; }
      const int64_t gap = plan.offsets[j] - end;
      if (gap >= bytes && (best < 0 || gap < best_gap)) {
        best = end;
        best_gap = gap;
      }
      end = std::max(end, plan.offsets[j] + Aligned(other.bytes));
    }
    plan.offsets[i] = best < 0 ? end : best;
    plan.bytes = std::max(plan.bytes, plan.offsets[i] + bytes);
    const auto at =
        std::upper_bound(placed.begin(), placed.end(), plan.offsets[i],
                         [&](int64_t offset, size_t j) { return offset < plan.offsets[j]; });
    placed.insert(at, i);
  }
  return plan;
}

}  // namespace graph
}  // namespace oneflow
