#include "oneflow/functional/graph_trace.h"

#include <cstring>
#include <utility>

#include "oneflow/device/allocator.h"
#include "oneflow/functional/autocast.h"
#include "oneflow/graph/call_builder.h"

namespace oneflow {

using graph::BufferId;
using graph::Form;
using graph::kNoValue;
using graph::ValueId;

namespace {

// Leaked by a thread that ends within a trace: there is no host's lock to end it under.
thread_local GraphTrace* trace_of_thread = nullptr;

constexpr char kGraphIsBuilt[] = "[graph] ";

bool IsOutput(const graph::LogicalGraph& graph, BufferId buffer) {
  for (ValueId id : graph.outputs()) {
    if (graph.BufferOf(id) == buffer) { return true; }
  }
  return false;
}

bool IsWritten(const graph::LogicalGraph& graph, BufferId buffer) {
  for (const graph::Node& node : graph.nodes()) {
    for (ValueId id : node.outputs) {
      if (node.form != Form::kView && graph.BufferOf(id) == buffer) { return true; }
    }
  }
  return false;
}

// By a node, or by whoever is given it as an output.
bool MayBeWritten(const graph::LogicalGraph& graph, BufferId buffer) {
  return IsOutput(graph, buffer) || IsWritten(graph, buffer);
}

std::atomic<const OpDef*> copy_op{nullptr};

// Each run makes a copy of the buffer first, which takes its place.
void WriteToACopy(graph::LogicalGraph* graph, BufferId from) {
  TensorMeta flat = graph->value(graph->FirstPlace(from)).meta;
  flat.SetContiguous({graph->buffer(from).bytes / static_cast<int64_t>(SizeOf(flat.dtype))});
  const ValueId copied = graph->AddComputed(flat);
  const auto redirect = [&](std::vector<ValueId>* ids) {
    for (ValueId& id : *ids) {
      if (id == kNoValue || graph->BufferOf(id) != from) { continue; }
      id = graph->Place(graph->BufferOf(copied), TensorMeta(graph->value(id).meta));
    }
  };
  std::vector<graph::Node>& nodes = *graph->mutable_nodes();
  for (graph::Node& node : nodes) {
    redirect(&node.inputs);
    redirect(&node.outputs);
  }
  std::vector<ValueId> outputs = graph->outputs();
  redirect(&outputs);
  graph->SetOutputs(std::move(outputs));
  graph::Node copy;
  copy.def = copy_op.load();
  copy.attrs.resize(copy.def->attrs_size);
  copy.inputs = {graph->Place(from, flat)};
  copy.outputs = {copied};
  nodes.insert(nodes.begin(), std::move(copy));
}

// Arguments are the caller's, whatever `build` does to them.
void KeepArguments(graph::LogicalGraph* graph) {
  const std::vector<ValueId> inputs = graph->inputs();
  for (ValueId input : inputs) {
    if (IsWritten(*graph, graph->BufferOf(input))) { WriteToACopy(graph, graph->BufferOf(input)); }
  }
}

}  // namespace

void GraphTrace::SetCopyOp(const OpDef* copy) { copy_op.store(copy); }

GraphTrace* GraphTrace::OfThisThread() {
  GraphTrace* trace = trace_of_thread;
  return trace == nullptr || trace->suspended_ ? nullptr : trace;
}

GraphTrace* GraphTrace::Unfinished() { return trace_of_thread; }

Maybe<void> GraphTrace::Begin(const std::string& name) {
  if (trace_of_thread != nullptr) {
    return RuntimeError("[graph] expects one graph to be built at a time, got '{}' while '{}' is",
                        name, trace_of_thread->name());
  }
  autocast::ClearCache();
  trace_of_thread = new GraphTrace(name);
  threads_tracing.fetch_add(1);
  return Ok();
}

GraphTrace::~GraphTrace() = default;

void GraphTrace::Abort() {
  if (trace_of_thread == nullptr) { return; }
  // Tensors that go with it may run code of the host, which must not meet a trace that is half gone.
  const std::unique_ptr<GraphTrace> trace(std::exchange(trace_of_thread, nullptr));
  threads_tracing.fetch_sub(1);
  autocast::ClearCache();
  trace->Restore();
}

void GraphTrace::Adopt(const TensorPtr& tensor) {
  if (!adopted_.insert(tensor.get()).second) { return; }
  Before before;
  before.tensor = tensor;
  if (AutogradMeta* meta = tensor->autograd()) {
    before.grad = std::exchange(meta->grad, nullptr);
    before.requires_grad = meta->requires_grad;
    before.grad_fn = meta->grad_fn;
    before.output_index = meta->output_index;
  }
  before_.push_back(std::move(before));
}

void GraphTrace::Restore() {
  for (Before& before : before_) {
    AutogradMeta* meta = before.tensor->autograd();
    if (meta == nullptr) { continue; }
    meta->grad = before.grad;
    if (meta->grad_fn == before.grad_fn && meta->requires_grad == before.requires_grad) {
      continue;
    }
    meta->requires_grad = before.requires_grad;
    meta->grad_fn = before.grad_fn;
    meta->output_index = before.output_index;
    ++meta->history;
  }
}

void GraphTrace::Name(const TensorPtr& tensor, const std::string& name) {
  names_[tensor->storage()] = name;
  const auto found = buffers_.find(tensor->storage());
  if (found != buffers_.end()) { graph_.mutable_buffer(found->second)->name = name; }
  if (!tensor->storage()->traced()) { Adopt(tensor); }
}

Maybe<ValueId> GraphTrace::ValueOf(const char* op, const TensorPtr& tensor) {
  const auto found = buffers_.find(tensor->storage());
  if (found != buffers_.end()) {
    if (!tensor->storage()->traced()) { Adopt(tensor); }
    return graph_.Place(found->second, tensor->meta());
  }
  if (tensor->storage()->traced()) {
    return RuntimeError("[{}] expects tensors of graph '{}', which is being built, or tensors that "
                        "have a value, got one of another graph (shape {})",
                        op, name(), tensor->shape());
  }
  Adopt(tensor);
  const auto named = names_.find(tensor->storage());
  const std::string called =
      named != names_.end() ? named->second : Format("captured_{}", buffers_.size());
  const ValueId value = graph_.AddCaptured(called, tensor->meta(), tensor->storage_ref());
  buffers_[tensor->storage()] = graph_.BufferOf(value);
  return value;
}

TensorPtr GraphTrace::MakeLazy(BufferId buffer, TensorMeta meta) {
  const StackId stack = CurrentStack();
  const std::string line = graph::DescribeLine(stack);
  ErrorPtr why = RuntimeError("{}expects a value, got a tensor of graph '{}' that is being built{}",
                              kGraphIsBuilt, name(), line.empty() ? "" : " (" + line + ")");
  const StorageRef storage =
      Storage::Traced(meta.device, static_cast<size_t>(graph_.buffer(buffer).bytes), why);
  buffers_[storage.get()] = buffer;
  lazy_.emplace_back(storage.get());
  return MakeIntrusive<Tensor>(storage, std::move(meta));
}

Maybe<TensorPtr> GraphTrace::AddInput(const TensorMeta& like, const std::string& name,
                                      bool requires_grad) {
  TensorMeta meta = like;
  meta.SetContiguous(Shape(like.shape));
  const ValueId value = graph_.AddInput(name, meta);
  TensorPtr tensor = MakeLazy(graph_.BufferOf(value), meta);
  if (requires_grad) { tensor->MutableAutograd()->requires_grad = true; }
  return tensor;
}

Maybe<graph::Node> GraphTrace::MakeNode(const OpDef& def, const TensorPtr* inputs, int count,
                                        const void* attrs) {
  if (def.syncs) {
    return RuntimeError(
        "[{}] cannot be part of graph '{}': the shape of its result depends on data", def.name,
        name());
  }
  graph::Node node;
  node.def = &def;
  node.stack = PinnedStack(CurrentStack());
  node.context = StackContextPtr(CurrentStackContext());
  node.attrs.resize(def.attrs_size);
  if (def.attrs_size > 0) { std::memcpy(node.attrs.data(), attrs, def.attrs_size); }
  node.region = region_;
  for (int i = 0; i < count; ++i) {
    node.inputs.push_back(inputs[i] == nullptr ? kNoValue : JUST(ValueOf(def.name, inputs[i])));
  }
  return node;
}

// `count`: elements that an op draws.
Maybe<void> GraphTrace::Record(graph::Node node, Device device, int64_t count,
                               const GeneratorPtr& generator) {
  JUST(GetAllocator(device));  // says why when there is no such device
  if (node.Computes()) {
    const graph::CallBuilder builder(graph_, node);
    JUST(ChooseKernel(*node.def, device.type(), *builder.call()));
  }
  if (node.draws()) {
    graph_.TakeBlocks(generator == nullptr ? DefaultGenerator() : generator,
                      static_cast<uint64_t>(count + 1) / 2, &node);
  }
  graph_.Record(std::move(node));
  return Ok();
}

Maybe<void> GraphTrace::RecordOp(const OpDef& def, const TensorPtr* inputs, int count,
                                 const void* attrs, TensorMeta* metas,
                                 const GeneratorPtr& generator, TensorPtr* outputs) {
  graph::Node node = JUST(MakeNode(def, inputs, count, attrs));
  const int64_t drawn = def.num_outputs > 0 ? metas[0].Count() : 0;
  for (int i = 0; i < def.num_outputs; ++i) {
    JUST(CheckedBytes(def.name, metas[i].shape, metas[i].dtype));
    metas[i].SetContiguous(Shape(metas[i].shape));
    node.outputs.push_back(graph_.AddComputed(metas[i]));
  }
  const std::vector<ValueId> values = node.outputs;
  JUST(Record(std::move(node), metas[0].device, drawn, generator));
  for (int i = 0; i < def.num_outputs; ++i) {
    outputs[i] = MakeLazy(graph_.BufferOf(values[static_cast<size_t>(i)]), metas[i]);
  }
  return Ok();
}

Maybe<void> GraphTrace::RecordInPlace(const OpDef& def, const TensorPtr* tensors, int count,
                                      int first, int targets, const void* attrs,
                                      const GeneratorPtr& generator) {
  graph::Node node = JUST(MakeNode(def, tensors + first, count - first, attrs));
  node.form = first == 0 ? Form::kInPlace : Form::kOverwrite;
  for (int i = 0; i < targets; ++i) { node.outputs.push_back(JUST(ValueOf(def.name, tensors[i]))); }
  return Record(std::move(node), tensors[0]->device(), tensors[0]->Count(), generator);
}

Maybe<void> GraphTrace::RecordView(const OpDef& def, const TensorPtr& base, const void* attrs,
                                   const TensorPtr& view) {
  graph::Node node = JUST(MakeNode(def, &base, 1, attrs));
  node.form = Form::kView;
  node.outputs.push_back(graph_.Place(graph_.BufferOf(node.inputs[0]), view->meta()));
  graph_.Record(std::move(node));
  return Ok();
}

Maybe<GraphTrace::Result> GraphTrace::End(const TensorTuple& outputs) {
  if (trace_of_thread == nullptr) {
    return RuntimeError("[graph] expects a graph that is being built, got end_trace without one");
  }
  GraphTrace* trace = trace_of_thread;
  std::vector<ValueId> values;
  for (const TensorPtr& output : outputs) {
    Maybe<ValueId> value = trace->ValueOf("graph", output);
    if (!value.ok()) {
      Abort();
      return value.error();
    }
    values.push_back(value.value());
  }
  trace->graph_.SetOutputs(std::move(values));
  KeepArguments(&trace->graph_);
  Result result{std::move(trace->graph_), {}, {}};
  trace->graph_ = graph::LogicalGraph(result.graph.name());
  struct Met {
    BufferId buffer;
    IntrusivePtr<WeakTensor> tensor;
    TensorMeta meta;
  };
  std::vector<Met> all;
  for (const Before& before : trace->before_) {
    result.watched.push_back({before.tensor->Weak(), before.requires_grad});
    const auto found = trace->buffers_.find(before.tensor->storage());
    if (found == trace->buffers_.end()) { continue; }  // named only
    all.push_back({found->second, before.tensor->Weak(), before.tensor->meta()});
  }
  std::unordered_set<const Storage*> made;
  for (const IntrusivePtr<Storage>& storage : trace->made_) { made.insert(storage.get()); }
  Abort();
  for (const Met& met : all) {
    graph::Buffer* buffer = result.graph.mutable_buffer(met.buffer);
    const Storage& storage = *buffer->storage.get();
    // Whoever made it holds it no more, or `build` made it and returns it: each run begins with it as
    // it is. What `build` made and keeps is a state.
    const bool returned = made.count(&storage) > 0 && IsOutput(result.graph, met.buffer);
    if ((storage.Unshared() || returned) && !storage.host_visible()) {
      if (MayBeWritten(result.graph, met.buffer)) { WriteToACopy(&result.graph, met.buffer); }
      result.graph.mutable_buffer(met.buffer)->kind = graph::Buffer::Kind::kConstant;
    } else if (met.tensor->tensor != nullptr) {
      result.captured.push_back({met.buffer, met.tensor, met.meta});
    }
  }
  return result;
}

Maybe<void> CheckHasValue(const char* op, const Tensor& tensor) {
  if (__builtin_expect(!tensor.storage()->traced(), 1)) { return Ok(); }
  const ErrorPtr why = tensor.storage()->poison();
  const std::string text = why == nullptr ? "" : why->message();
  const size_t prefix = sizeof(kGraphIsBuilt) - 1;
  return RuntimeError("[{}] {}", op, text.size() > prefix ? text.substr(prefix) : text);
}

}  // namespace oneflow
