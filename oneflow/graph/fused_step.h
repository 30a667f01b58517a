// FusedStep: elementwise kernels over arrays of one size that run tile by tile.
//
// Thread safety: one Run() at a time; inside, tiles are spread over threads. Ownership: its own views
// only. Errors of a kernel end the step.
#ifndef ONEFLOW_GRAPH_FUSED_STEP_H_
#define ONEFLOW_GRAPH_FUSED_STEP_H_

#include <memory>
#include <string>
#include <vector>

#include "oneflow/common/maybe.h"
#include "oneflow/graph/logical_graph.h"
#include "oneflow/vm/instruction.h"

namespace oneflow {
namespace graph {

class FusedStep {
 public:
  // `internal[b]`: only these nodes use buffer b, which gets a tile for each thread instead of memory.
  // nullptr when a kernel cannot be called for a tile.
  static std::unique_ptr<FusedStep> Make(const LogicalGraph& graph,
                                         const std::vector<const Node*>& nodes,
                                         const std::vector<bool>& internal);

  // The operands that lie in memory: where their addresses go.
  struct Operand {
    ValueId place;
    void** base;  // of the place, not of its buffer
  };
  std::vector<Operand> Operands();

  // For the tiles of internal buffers; aligned to 64.
  int64_t scratch_bytes() const { return most_threads_ * thread_bytes_; }
  // As many as the cost is worth now, at most as many as there are tiles for.
  void AdaptThreads();
  void SetScratch(void* scratch) { scratch_ = static_cast<char*>(scratch); }

  // In a trace it is one scope, named after its kernels: "mul+add+relu".
  Maybe<void> Run();
  double cost_ns() const { return cost_ns_; }
  int threads() const { return threads_; }
  int num_kernels() const { return static_cast<int>(members_.size()); }

 private:
  struct View {
    ArrayView array;  // of one tile; its data is the whole place's
    ValueId place = kNoValue;
    int64_t step = 0;             // bytes from tile to tile; 0 for what every tile reads
    int64_t scratch_offset = -1;  // of an internal buffer
  };
  struct Member {
    const Node* node = nullptr;
    const Kernel* kernel = nullptr;
    std::vector<View> views;
    int num_inputs = 0;
  };
  bool Add(const LogicalGraph& graph, const Node& node, const std::vector<bool>& internal,
           std::vector<int64_t>* scratch_of);
  Maybe<void> RunTile(int64_t tile, char* scratch);

  int64_t n_ = 0;
  int64_t tile_ = 0;
  int64_t rest_ = 0;  // elements of the last tile
  std::vector<Member> members_;
  std::string name_;
  int64_t thread_bytes_ = 0;
  int threads_ = 1;
  int most_threads_ = 1;  // for which there is scratch
  double cost_ns_ = 0;
  char* scratch_ = nullptr;
};

}  // namespace graph
}  // namespace oneflow

#endif  // ONEFLOW_GRAPH_FUSED_STEP_H_
