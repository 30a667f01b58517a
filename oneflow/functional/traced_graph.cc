#include "oneflow/functional/traced_graph.h"

#include "oneflow/autograd/grad_mode.h"
#include "oneflow/autograd/node.h"
#include "oneflow/common/inline_array.h"
#include "oneflow/lifetime/env.h"

namespace oneflow {

using graph::CompiledGraph;
using lifetime::Env;
using lifetime::GraphLease;

namespace {

constexpr int kInlineArguments = 16;  // and outputs, without taking memory for the list

CompiledGraph* GraphOf(const GraphLease& lease) { return static_cast<CompiledGraph*>(&*lease); }

Maybe<void> CheckArgument(const std::string& graph, size_t i, const TensorMeta& expected,
                          const Tensor& got) {
  if (got.shape() == expected.shape && got.dtype() == expected.dtype &&
      got.device() == expected.device) {
    return Ok();
  }
  return RuntimeError(
      "[graph] '{}' expects argument {} as {} of shape {} on {}, got {} of shape {} "
      "on {}",
      graph, i, DataTypeName(expected.dtype), expected.shape, expected.device,
      DataTypeName(got.dtype()), got.shape(), got.device());
}

}  // namespace

Maybe<std::unique_ptr<TracedGraph>> TracedGraph::FromTrace(const TensorTuple& outputs,
                                                           const CompiledGraph::Options& options) {
  GraphTrace::Result traced = JUST(GraphTrace::End(outputs));
  std::vector<Kept> kept;
  for (const GraphTrace::Captured& captured : traced.captured) {
    kept.push_back({captured.tensor,
                    IntrusivePtr<Storage>(traced.graph.buffer(captured.buffer).storage.get()),
                    captured.meta});
  }
  std::unique_ptr<CompiledGraph> compiled =
      JUST(CompiledGraph::Compile(std::move(traced.graph), options));
  std::unique_ptr<TracedGraph> graph(
      new TracedGraph(JUST(Env::Get()->session()->AddGraph(std::move(compiled)))));
  graph->kept_ = std::move(kept);
  graph->watched_ = std::move(traced.watched);
  return graph;
}

TracedGraph::~TracedGraph() { Env::Get()->session()->PostCloseGraph(handle_); }

Maybe<GraphLease> TracedGraph::Lease() const { return Env::Get()->session()->Acquire(handle_); }

bool TracedGraph::closed() const { return !Lease().ok(); }

Maybe<void> TracedGraph::Close() { return Env::Get()->session()->CloseGraph(handle_); }

bool TracedGraph::Stale() const {
  for (const Kept& kept : kept_) {
    const Tensor* tensor = kept.tensor->tensor;
    if (tensor == nullptr) { continue; }
    if (tensor->storage() != kept.storage.get() || !graph::SameMeta(tensor->meta(), kept.meta)) {
      return true;
    }
  }
  for (const GraphTrace::Watched& watched : watched_) {
    const Tensor* tensor = watched.tensor->tensor;
    if (tensor != nullptr && tensor->requires_grad() != watched.requires_grad) { return true; }
  }
  return false;
}

Maybe<void> TracedGraph::With(const std::function<void(CompiledGraph*)>& use) const {
  const GraphLease lease = JUST(Lease());
  use(GraphOf(lease));
  return Ok();
}

Maybe<std::vector<std::pair<std::string, TensorPtr>>> TracedGraph::CapturedTensors() const {
  std::vector<std::pair<std::string, TensorPtr>> out;
  const GraphLease lease = JUST(Lease());
  const graph::LogicalGraph& logical = GraphOf(lease)->plan().graph();
  for (size_t i = 0; i < logical.buffers().size(); ++i) {
    const graph::Buffer& buffer = logical.buffers()[i];
    if (buffer.kind != graph::Buffer::Kind::kCaptured) { continue; }
    TensorPtr tensor;
    for (const Kept& kept : kept_) {
      const bool lives =
          kept.storage.get() == buffer.storage.get() && kept.tensor->tensor != nullptr;
      if (lives && tensor == nullptr) { tensor = TensorPtr(kept.tensor->tensor); }
    }
    if (tensor == nullptr) {
      tensor = MakeIntrusive<Tensor>(buffer.storage,
                                     logical.value(logical.FirstPlace(static_cast<int>(i))).meta);
    }
    out.emplace_back(buffer.name, std::move(tensor));
  }
  return out;
}

Maybe<TensorTuple> TracedGraph::Run(const TensorTuple& inputs) const {
  const lifetime::ParkableLease lease(JUST(Lease()));
  CompiledGraph* compiled = GraphOf(lease.get());
  const std::vector<TensorMeta>& expected = compiled->arguments();
  if (inputs.size() != expected.size()) {
    return RuntimeError("[graph] '{}' expects {} arguments, got {}", name(), expected.size(),
                        inputs.size());
  }
  TensorTuple dense;  // owns the copies
  InlineArray<CompiledGraph::Argument, kInlineArguments> arguments(static_cast<int>(inputs.size()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    TensorPtr input = inputs[i];
    JUST(CheckArgument(name(), i, expected[i], *input));
    if (!input->contiguous() || compiled->Updates(input->storage())) {
      const ScopedGradMode no_grad(false);
      const ScopedEager eager;  // another graph may be under construction here
      input = JUST(GetGradientOps().clone(input));
      dense.push_back(input);
    }
    arguments[static_cast<int>(i)] = {input->storage_ref(), input->data()};
  }
  InlineArray<StorageRef, kInlineArguments> made(compiled->num_made());
  JUST(compiled->Run(arguments.data(), made.data()));
  TensorTuple outputs;
  outputs.reserve(compiled->outputs().size());
  for (const CompiledGraph::Output& output : compiled->outputs()) {
    TensorMeta meta = output.meta;
    StorageRef storage = output.captured;
    const int index = output.index;
    if (output.from == CompiledGraph::Output::From::kMade) { storage = made[index]; }
    if (output.from == CompiledGraph::Output::From::kArgument) {
      storage = arguments[index].storage;
      const auto bytes = static_cast<char*>(arguments[index].data) -
                         static_cast<char*>(arguments[index].storage->data());
      meta.offset += bytes / static_cast<int64_t>(SizeOf(meta.dtype));
    }
    outputs.push_back(MakeIntrusive<Tensor>(std::move(storage), std::move(meta)));
  }
  return outputs;
}

}  // namespace oneflow
