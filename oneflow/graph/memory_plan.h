// Memory planning: where in one block of memory each of many arrays lies, given when each is alive.
//
// Offline best fit: the largest arrays first, each into the smallest gap that is free for all of its
// life (Pisarchyk and Lee, "Efficient memory management for deep neural net inference", 2020).
// Thread safety: pure functions.
#ifndef ONEFLOW_GRAPH_MEMORY_PLAN_H_
#define ONEFLOW_GRAPH_MEMORY_PLAN_H_

#include <cstdint>
#include <vector>

namespace oneflow {
namespace graph {

struct Lifetime {
  int64_t bytes = 0;
  int first = 0;  // the first and the last step that uses it
  int last = 0;
};

struct MemoryPlan {
  std::vector<int64_t> offsets;  // of each array; multiples of kPlanAlignment
  int64_t bytes = 0;             // of the block
  int64_t lower_bound = 0;       // the largest sum of arrays that are alive at one step
};

inline constexpr int64_t kPlanAlignment = 64;

MemoryPlan PlanMemory(const std::vector<Lifetime>& arrays);

}  // namespace graph
}  // namespace oneflow

#endif  // ONEFLOW_GRAPH_MEMORY_PLAN_H_
