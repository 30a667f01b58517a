// CompiledGraph: a graph that can run; what the Session owns for each nn.Graph.
//
// A run is one vm instruction that declares what it reads (arguments, captured tensors) and writes
// (outputs; then what it updates, and the plan's memory, so that two runs of a graph never overlap).
// Its record is complete before it is issued. Outputs come from the pool at the call; the run itself
// takes no memory.
//
// Captured tensors may lie in another order during a run (vm/arrangement.h): the vm brings them there if
// they are not left over from the last run. Where that cannot be, since somebody looks at the memory, and
// where it never lasts, a second program without arrangements takes over for good.
//
// A run that fails, or that is given a poisoned tensor, poisons its outputs; what it was to update
// keeps what it holds then (passes/late_updates.h), and the next run starts afresh.
//
// Thread safety: all methods but the constructor. Ownership: by the Session; see graph_resource.h.
// Blocking: Run() as Vm::Issue(); Close() waits for runs that were issued.
#ifndef ONEFLOW_GRAPH_COMPILED_GRAPH_H_
#define ONEFLOW_GRAPH_COMPILED_GRAPH_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "oneflow/common/maybe.h"
#include "oneflow/common/mutex.h"
#include "oneflow/graph/actor_system.h"
#include "oneflow/graph/passes/pass.h"
#include "oneflow/graph/plan.h"
#include "oneflow/lifetime/graph_resource.h"
#include "oneflow/vm/vm.h"

namespace oneflow {
namespace graph {

class CompiledGraph : public lifetime::GraphResource {
 public:
  struct Options {
    std::vector<std::string> disable;  // passes that do not run
  };
  // Runs the passes, plans, and takes the plan's memory.
  static Maybe<std::unique_ptr<CompiledGraph>> Compile(LogicalGraph traced, const Options& options);

  const std::string& name() const override { return name_; }
  void Close(lifetime::Deadline deadline) override;
  std::string Unfinished() const override;

  struct Argument {
    StorageRef storage;
    void* data = nullptr;  // of element (0, ..., 0) of a dense tensor
  };
  // Where an output of the graph is found after a run.
  struct Output {
    enum class From { kMade, kArgument, kCaptured };
    From from = From::kMade;
    int index = 0;  // of Run()'s result, or of the argument
    StorageRef captured;
    TensorMeta meta;  // its offset counts from the start of what is named here
  };
  const std::vector<Output>& outputs() const { return outputs_; }
  // Metas of the arguments, dense.
  const std::vector<TensorMeta>& arguments() const { return arguments_; }
  // Does a run write to memory that was captured with this storage?
  bool Updates(const Storage* storage) const;

  // Of outputs that a run makes.
  int num_made() const { return static_cast<int>(first_->plan->made_outputs().size()); }
  // REQUIRES: arguments as arguments() says. Fills `made`, num_made() long, with the storages of the
  // outputs that this run makes: the only memory that it takes, as long as the lists are short.
  Maybe<void> Run(const Argument* arguments, StorageRef* made);

  // Of the program that was made last.
  const Plan& plan() const;
  // How many captured tensors lie in another order in that.
  int num_arranged() const;
  int num_actors() const { return first_->actors->num_actors(); }
  const std::vector<PassCount>& passes() const { return passes_; }
  int64_t runs() const { return runs_.load(std::memory_order_relaxed); }
  // Before any pass, as text.
  const std::string& traced_text() const { return traced_text_; }

 private:
  // A plan with all that its runs need but what each of them is given.
  struct Program {
    std::unique_ptr<Plan> plan;
    std::unique_ptr<ActorSystem> actors;
    const Plan::Given* given = nullptr;        // of the run that is under way
    StorageRef memory;                         // given back once another program has taken over
    IntrusivePtr<Storage> uses;                // its record
    std::vector<Storage*> reads;               // captured
    std::vector<Storage*> updates;             // captured, sorted by address
    std::vector<const Arrangement*> arranged;  // of reads, then updates; empty: all are plain
    std::vector<const Storage*> movable;       // those that are not plain, sorted by address
    std::atomic<int64_t> runs{0};
    std::atomic<int64_t> converted_runs{0};  // that found a tensor in another order than they want
  };
  // What a call holds on to while it issues a run.
  struct Lease {
    Program* program;
    StorageRef memory;
  };

  explicit CompiledGraph(std::string name) : name_(std::move(name)) {}
  Maybe<std::unique_ptr<Program>> MakeProgram(LogicalGraph traced,
                                              const std::vector<std::string>& disable,
                                              std::vector<PassCount>* passes) const;
  static void FindUses(Program* program);
  void FindOutputs();
  Maybe<Lease> Current();
  void GiveUpArrangements(const Program* program);
  Maybe<bool> RunProgram(const Lease& lease, const Argument* arguments, const RandomSlot* draws,
                         const StorageRef* made);
  Maybe<void> Issue(const Lease& lease, OpCall* call, bool* refused);
  Maybe<void> TakeOutputs(StorageRef* made);
  friend struct GraphKernel;

  const std::string name_;
  std::vector<PassCount> passes_;
  std::string traced_text_;
  Options options_;
  std::unique_ptr<LogicalGraph> traced_;  // what a second program is made of
  Stream* stream_ = nullptr;
  std::vector<TensorMeta> arguments_;
  std::vector<Output> outputs_;
  std::vector<bool> updates_argument_;
  std::unique_ptr<Program> first_;
  mutable Mutex mutex_;  // never held while something is waited for
  std::unique_ptr<Program> second_ GUARDED_BY(mutex_);
  Program* current_ GUARDED_BY(mutex_) = nullptr;  // nullptr: the second one is to be made
  std::atomic<int64_t> runs_{0};
};

}  // namespace graph
}  // namespace oneflow

#endif  // ONEFLOW_GRAPH_COMPILED_GRAPH_H_
