// Plan: how a graph runs. Steps in their order, kernels chosen and calls built, and a place for every
// buffer: a run only loops over them.
//
// A step is one kernel call, or a group of fused ones that runs tile by tile (fused_step.h).
//
// Thread safety: one Run() at a time. Ownership: owns the graph, and with it what was captured.
// Blocking: Run() computes; it takes no memory and no lock.
#ifndef ONEFLOW_GRAPH_PLAN_H_
#define ONEFLOW_GRAPH_PLAN_H_

#include <atomic>
#include <memory>
#include <vector>

#include "oneflow/common/maybe.h"
#include "oneflow/graph/call_builder.h"
#include "oneflow/graph/fused_step.h"
#include "oneflow/graph/logical_graph.h"
#include "oneflow/graph/memory_plan.h"
#include "oneflow/vm/instruction.h"

namespace oneflow {
namespace graph {

class Plan {
 public:
  // NotImplementedError when an op has no kernel for what it is given.
  static Maybe<std::unique_ptr<Plan>> Make(LogicalGraph graph);
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const LogicalGraph& graph() const { return graph_; }
  // Memory that a run needs beside its arguments, outputs and what was captured; alignment 64.
  int64_t memory_bytes() const { return memory_.bytes; }
  void SetMemory(void* memory);

  // Buffers whose address a run is given: the arguments, then `made_outputs()`.
  const std::vector<BufferId>& made_outputs() const { return made_outputs_; }

  struct Given {
    void* const* bases;       // where each bound buffer begins
    const RandomSlot* draws;  // what this run took of each generator
  };
  // An error names the op that failed and its line in `build`; what comes after has not run.
  Maybe<void> Run(const Given& given);

  double cost_ns() const { return cost_ns_; }
  // No kernel uses more than one thread.
  bool serial() const { return serial_.load(std::memory_order_relaxed); }
  int num_steps() const { return static_cast<int>(steps_.size()); }
  int num_kernels() const { return num_kernels_; }
  // Bytes that the values alone take.
  int64_t peak_bytes() const { return memory_.bytes - scratch_bytes_; }
  int64_t lower_bound_bytes() const { return memory_.lower_bound; }
  int64_t constant_bytes() const { return constant_bytes_; }
  // What the kernels' own memory adds to that.
  int64_t scratch_bytes() const { return scratch_bytes_; }

 private:
  struct Step {
    OpCall call;
    double cost_ns = 0;
    const Node* node = nullptr;
    FusedStep* fused = nullptr;  // then `call` is not used
    RandomSlot* slot = nullptr;  // in the attributes, of an op that draws
    int64_t scratch_bytes = 0;
    int64_t scratch_offset = 0;  // in the plan's memory
  };
  // An address to fill in: once, or (`bound` >= 0) at each run.
  struct Address {
    void** at;
    BufferId buffer;
    int64_t offset;
  };

  explicit Plan(LogicalGraph graph) : graph_(std::move(graph)) {}
  Maybe<void> Build();
  void FindOutputs();
  Maybe<void> AddSteps();
  Maybe<void> AddStep(Node* node);
  Maybe<bool> AddFused(size_t begin, size_t end);
  void PlaceBuffers();
  void PlaceScratch(std::vector<Lifetime> arrays);
  void NoteUses(const Node& node, int step);
  void* FixedBase(BufferId buffer) const;
  void AdaptThreads();
  void FindSerial();

  LogicalGraph graph_;
  std::vector<CallBuilder> builders_;
  std::vector<std::unique_ptr<FusedStep>> fused_;
  std::vector<Step> steps_;
  std::vector<Address> bound_;    // filled in at each run
  std::vector<Address> fixed_;    // when the memory is known
  std::vector<int> bound_index_;  // of a buffer; -1: not bound
  std::vector<BufferId> made_outputs_;
  std::vector<BufferId> root_;     // whose memory a buffer lies in
  std::vector<int> first_, last_;  // steps that use a buffer; -1: none
  std::vector<bool> internal_;     // to a fused step, which has memory of its own for it
  std::vector<int64_t> offsets_;   // in the plan's memory; -1: elsewhere
  MemoryPlan memory_;
  int64_t scratch_bytes_ = 0;
  int64_t constant_bytes_ = 0;
  char* base_ = nullptr;
  int num_threads_ = 0;  // what the steps' threads were chosen for
  std::atomic<bool> serial_{true};
  double cost_ns_ = 0;
  int num_kernels_ = 0;
};

}  // namespace graph
}  // namespace oneflow

#endif  // ONEFLOW_GRAPH_PLAN_H_
