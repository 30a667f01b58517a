// GraphTrace: what ops of this thread are recorded in, instead of being run, while nn.Graph.build is
// traced.
//
// Results are lazy tensors: over a storage without memory, which is poisoned with "expects a value,
// got a tensor of graph 'X' that is being built", so that whoever reads one, during the trace or
// later, hears that. Tensors that are not lazy are captured, by their storage, when an op meets them.
// Autograd's tape and all composites work on lazy tensors as on others.
//
// Thread safety: a trace belongs to its thread; other threads run eagerly. Under the host's lock.
#ifndef ONEFLOW_FUNCTIONAL_GRAPH_TRACE_H_
#define ONEFLOW_FUNCTIONAL_GRAPH_TRACE_H_

#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "oneflow/common/maybe.h"
#include "oneflow/graph/logical_graph.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow {

class GraphTrace {
 public:
  // RuntimeError when this thread traces already.
  static Maybe<void> Begin(const std::string& name);
  // The trace of this thread, nullptr when it has none or is suspended. One load where no thread has.
  static GraphTrace* Current() {
    if (__builtin_expect(threads_tracing.load(std::memory_order_relaxed) == 0, 1)) {
      return nullptr;
    }
    return OfThisThread();
  }
  // Also one that is suspended.
  static GraphTrace* Unfinished();
  // Ends this thread's trace and forgets it. Nothing happens when there is none.
  static void Abort();

  // The op that copies; registered once by the functional layer.
  static void SetCopyOp(const OpDef* copy);

  // A captured tensor that still lives, for whoever asks later whether it is the same.
  struct Captured {
    graph::BufferId buffer;
    IntrusivePtr<WeakTensor> tensor;
    TensorMeta meta;
  };
  // A tensor that was named or captured, and whether it required gradients before the trace.
  struct Watched {
    IntrusivePtr<WeakTensor> tensor;
    bool requires_grad;
  };
  struct Result {
    graph::LogicalGraph graph;
    std::vector<Captured> captured;
    std::vector<Watched> watched;
  };
  // Ends this thread's trace. RuntimeError when it has none.
  static Maybe<Result> End(const TensorTuple& outputs);

  ~GraphTrace();
  GraphTrace(const GraphTrace&) = delete;
  GraphTrace& operator=(const GraphTrace&) = delete;

  const std::string& name() const { return graph_.name(); }
  Maybe<TensorPtr> AddInput(const TensorMeta& like, const std::string& name, bool requires_grad);
  // What the tensor is called if it is captured; its gradient is put aside now.
  void Name(const TensorPtr& tensor, const std::string& name);
  // Of a tensor that was just made of numbers of the host.
  void NoteMade(const TensorPtr& tensor) { made_.emplace_back(tensor->storage()); }
  // Nodes that are recorded from here on belong to it; see graph::Node.
  void SetRegion(int region) { region_ = region; }
  std::vector<uint64_t> DrawMark() const { return graph_.DrawMark(); }
  void RewindDraws(const std::vector<uint64_t>& mark) { graph_.RewindDraws(mark); }
  // While suspended, ops of this thread run.
  void SetSuspended(bool suspended) { suspended_ = suspended; }

  // For dispatch. `metas` are the outputs', strides included.
  Maybe<void> RecordOp(const OpDef& def, const TensorPtr* inputs, int count, const void* attrs,
                       TensorMeta* metas, const GeneratorPtr& generator, TensorPtr* outputs);
  // tensors[0, targets) are written; those before `first` are not read.
  Maybe<void> RecordInPlace(const OpDef& def, const TensorPtr* tensors, int count, int first,
                            int targets, const void* attrs, const GeneratorPtr& generator);
  Maybe<void> RecordView(const OpDef& def, const TensorPtr& base, const void* attrs,
                         const TensorPtr& view);

 private:
  static inline std::atomic<int> threads_tracing{0};
  static GraphTrace* OfThisThread();
  explicit GraphTrace(const std::string& name) : graph_(name) {}

  // A tensor that was captured, as it was before.
  struct Before {
    TensorPtr tensor;
    TensorPtr grad;
    bool requires_grad = false;
    IntrusivePtr<GradFnBase> grad_fn;
    int32_t output_index = 0;
  };
  void Adopt(const TensorPtr& tensor);
  void Restore();
  Maybe<graph::ValueId> ValueOf(const char* op, const TensorPtr& tensor);
  Maybe<graph::Node> MakeNode(const OpDef& def, const TensorPtr* inputs, int count,
                              const void* attrs);
  Maybe<void> Record(graph::Node node, Device device, int64_t count, const GeneratorPtr& generator);
  TensorPtr MakeLazy(graph::BufferId buffer, TensorMeta meta);

  graph::LogicalGraph graph_;
  std::unordered_map<const Storage*, graph::BufferId> buffers_;
  std::vector<IntrusivePtr<Storage>> lazy_;  // their records, so that no address is used twice
  std::vector<IntrusivePtr<Storage>> made_;
  std::vector<Before> before_;
  std::unordered_set<const Tensor*> adopted_;
  std::unordered_map<const Storage*, std::string> names_;
  int region_ = 0;
  bool suspended_ = false;
};

// Where a value is read during a trace: for the life of the object, what that needs of ops runs.
class ScopedEager {
 public:
  ScopedEager() : trace_(GraphTrace::Current()) {
    if (trace_ != nullptr) { trace_->SetSuspended(true); }
  }
  ~ScopedEager() {
    if (trace_ != nullptr) { trace_->SetSuspended(false); }
  }
  ScopedEager(const ScopedEager&) = delete;
  ScopedEager& operator=(const ScopedEager&) = delete;

 private:
  GraphTrace* const trace_;
};

// RuntimeError "[op] expects a value, got ..." if `tensor` is lazy.
Maybe<void> CheckHasValue(const char* op, const Tensor& tensor);

}  // namespace oneflow

#endif  // ONEFLOW_FUNCTIONAL_GRAPH_TRACE_H_
