#include "oneflow/graph/logical_graph.h"

#include <algorithm>
#include <cstring>

#include "oneflow/device/out_of_memory.h"

namespace oneflow {
namespace graph {

namespace {

std::string Join(const std::vector<ValueId>& ids) {
  std::string out;
  for (ValueId id : ids) {
    out += (out.empty() ? "" : ", ") + (id == kNoValue ? "none" : "%" + std::to_string(id));
  }
  return out;
}

std::string DescribeMeta(const TensorMeta& meta) {
  return Format("{} {} {}{}", DataTypeName(meta.dtype), meta.shape, meta.device,
                meta.contiguous ? "" : ", strides " + meta.strides.ToString());
}

std::string LineComment(StackId stack) {
  const std::string line = DescribeLine(stack);
  return line.empty() ? "" : "  # " + line;
}

const char* KindName(Buffer::Kind kind) {
  switch (kind) {
    case Buffer::Kind::kInput: return "input";
    case Buffer::Kind::kCaptured: return "captured";
    case Buffer::Kind::kConstant: return "constant";
    case Buffer::Kind::kComputed: break;
  }
  return "computed";
}

}  // namespace

std::string DescribeLine(StackId stack) {
  const StackSource* source = StackSource::Get();
  if (stack == kNoStack || source == nullptr) { return ""; }
  if (source->Evicted(stack)) { return "stack evicted"; }
  const std::vector<StackFrame> frames = ProgramLines(source->Resolve(stack));
  if (frames.empty()) { return ""; }
  const StackFrame& line = frames.back();
  return Format("{}:{} in {}", line.file, line.line, line.function);
}

bool SameMeta(const TensorMeta& a, const TensorMeta& b) {
  return a.shape == b.shape && a.strides == b.strides && a.offset == b.offset &&
         a.dtype == b.dtype && a.device == b.device;
}

int64_t EndOfPlace(const TensorMeta& meta) {
  if (meta.Count() == 0) { return 0; }
  int64_t last = meta.offset;
  for (int i = 0; i < meta.shape.size(); ++i) { last += (meta.shape[i] - 1) * meta.strides[i]; }
  return (last + 1) * static_cast<int64_t>(SizeOf(meta.dtype));
}

bool CoversBuffer(const LogicalGraph& graph, ValueId id) {
  const TensorMeta& meta = graph.value(id).meta;
  return meta.Count() * static_cast<int64_t>(SizeOf(meta.dtype)) ==
             graph.buffer(graph.BufferOf(id)).bytes &&
         !MayOverlap(meta.shape, meta.strides);
}

bool Node::Computes() const {
  if (form == Form::kView) { return false; }
  for (const auto& names : def->kernel_names) {
    if (names[0] != nullptr) { return true; }
  }
  return false;
}

BufferId LogicalGraph::AddBuffer(Buffer buffer) {
  buffers_.push_back(std::move(buffer));
  places_.emplace_back();
  return static_cast<BufferId>(buffers_.size()) - 1;
}

ValueId LogicalGraph::Place(BufferId buffer, const TensorMeta& meta) {
  std::vector<ValueId>& places = places_[static_cast<size_t>(buffer)];
  for (ValueId id : places) {
    if (SameMeta(value(id).meta, meta)) { return id; }
  }
  values_.push_back({buffer, meta});
  places.push_back(static_cast<ValueId>(values_.size()) - 1);
  return places.back();
}

namespace {

Buffer BufferFor(Buffer::Kind kind, std::string name, const TensorMeta& meta) {
  Buffer buffer;
  buffer.kind = kind;
  buffer.device = meta.device;
  buffer.bytes = EndOfPlace(meta);
  buffer.name = std::move(name);
  return buffer;
}

}  // namespace

ValueId LogicalGraph::AddInput(std::string name, const TensorMeta& meta) {
  inputs_.push_back(Place(AddBuffer(BufferFor(Buffer::Kind::kInput, std::move(name), meta)), meta));
  return inputs_.back();
}

ValueId LogicalGraph::AddCaptured(std::string name, const TensorMeta& meta, StorageRef storage) {
  Buffer buffer = BufferFor(Buffer::Kind::kCaptured, std::move(name), meta);
  if (storage) { buffer.bytes = static_cast<int64_t>(storage->bytes()); }
  buffer.storage = std::move(storage);
  return Place(AddBuffer(std::move(buffer)), meta);
}

ValueId LogicalGraph::AddComputed(const TensorMeta& meta) {
  return Place(AddBuffer(BufferFor(Buffer::Kind::kComputed, "", meta)), meta);
}

void LogicalGraph::TakeBlocks(const GeneratorPtr& generator, uint64_t blocks, Node* node) {
  size_t i = 0;
  while (i < draws_.size() && draws_[i].generator != generator) { ++i; }
  if (i == draws_.size()) { draws_.push_back({generator, 0, 0}); }
  Draws* draws = &draws_[i];
  node->generator = static_cast<int>(i);
  node->draw_offset = draws->next;
  draws->next += blocks;
  draws->blocks = std::max(draws->blocks, draws->next);
}

std::vector<uint64_t> LogicalGraph::DrawMark() const {
  std::vector<uint64_t> mark;
  for (const Draws& draws : draws_) { mark.push_back(draws.next); }
  return mark;
}

void LogicalGraph::RewindDraws(const std::vector<uint64_t>& mark) {
  for (size_t i = 0; i < draws_.size(); ++i) { draws_[i].next = i < mark.size() ? mark[i] : 0; }
}

Maybe<std::vector<TensorMeta>> LogicalGraph::InferOutputs(const OpDef& def, const void* attrs,
                                                          const std::vector<ValueId>& inputs,
                                                          Device device, DataType dtype,
                                                          size_t count) const {
  std::vector<const TensorMeta*> metas;
  metas.reserve(inputs.size());
  for (ValueId id : inputs) { metas.push_back(id == kNoValue ? nullptr : &value(id).meta); }
  const InferContext context{def.name, metas.data(), static_cast<int>(metas.size()), attrs};
  std::vector<TensorMeta> outputs(count);
  for (TensorMeta& output : outputs) {
    const auto given = std::find_if(metas.begin(), metas.end(),
                                    [](const TensorMeta* meta) { return meta != nullptr; });
    output.dtype = given != metas.end() ? (*given)->dtype : dtype;
    output.device = given != metas.end() ? (*given)->device : device;
  }
  JUST(def.infer(context, outputs.data()));
  for (TensorMeta& output : outputs) {
    JUST(CheckedBytes(def.name, output.shape, output.dtype));
    if (!def.is_view) {
      output.SetContiguous(Shape(output.shape));
    } else {
      output.contiguous = IsContiguous(output.shape, output.strides);
    }
  }
  return outputs;
}

Maybe<void> LogicalGraph::CheckIds(const std::vector<ValueId>& ids, const char* who) const {
  for (ValueId id : ids) {
    CHECK_OR_RETURN(id >= kNoValue && id < static_cast<ValueId>(values_.size()),
                    "[{}] expects a value of the graph, got %{}", who, id);
  }
  return Ok();
}

namespace {

Node MakeNode(const OpDef* def, Form form, const void* attrs, std::vector<ValueId> inputs,
              StackId stack) {
  Node node;
  node.def = def;
  node.form = form;
  node.stack = PinnedStack(stack);
  node.inputs = std::move(inputs);
  node.attrs.resize(def->attrs_size);
  if (def->attrs_size > 0) { std::memcpy(node.attrs.data(), attrs, def->attrs_size); }
  return node;
}

}  // namespace

Maybe<std::vector<ValueId>> LogicalGraph::Append(const OpDef* def, const void* attrs,
                                                 const std::vector<ValueId>& inputs, StackId stack,
                                                 Device device, DataType dtype) {
  if (def->syncs) {
    return RuntimeError("[{}] cannot be part of a graph: the shape of its result depends on data",
                        def->name);
  }
  const int count = static_cast<int>(inputs.size());
  CHECK_OR_RETURN(def->num_inputs < 0 || count == def->num_inputs, "[{}] expects {} inputs, got {}",
                  def->name, def->num_inputs, count);
  JUST(CheckIds(inputs, def->name));
  const std::vector<TensorMeta> metas = JUST(InferOutputs(
      *def, attrs, inputs, device, dtype, static_cast<size_t>(std::max(def->num_outputs, 0))));
  Node node = MakeNode(def, def->is_view ? Form::kView : Form::kFresh, attrs, inputs, stack);
  for (const TensorMeta& meta : metas) {
    node.outputs.push_back(def->is_view ? Place(BufferOf(inputs[0]), meta) : AddComputed(meta));
  }
  std::vector<ValueId> outputs = node.outputs;
  Record(std::move(node));
  return outputs;
}

Maybe<void> LogicalGraph::AppendInPlace(const OpDef* def, const void* attrs,
                                        const std::vector<ValueId>& inputs, int targets,
                                        StackId stack) {
  JUST(CheckIds(inputs, def->name));
  CHECK_OR_RETURN(targets <= static_cast<int>(inputs.size()));
  Node node = MakeNode(def, Form::kInPlace, attrs, inputs, stack);
  node.outputs.assign(inputs.begin(), inputs.begin() + targets);
  Record(std::move(node));
  return Ok();
}

std::string LogicalGraph::DescribeNode(const Node& node) const {
  const char* arrow = node.form == Form::kFresh || node.form == Form::kView ? "=" : "<-";
  std::string out =
      Format("  {} {} {}({}) : ", Join(node.outputs), arrow, node.def->name, Join(node.inputs));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    out += (i == 0 ? "" : "; ") + DescribeMeta(value(node.outputs[i]).meta);
  }
  if (node.fused >= 0) { out += Format(", fused {}", node.fused); }
  if (node.reuses >= 0) {
    out += Format(", in the memory of %{}", node.inputs[static_cast<size_t>(node.reuses)]);
  }
  return out + LineComment(node.stack.id()) + "\n";
}

std::string LogicalGraph::ToString() const {
  std::vector<bool> used(values_.size(), false);
  for (ValueId id : inputs_) { used[static_cast<size_t>(id)] = true; }
  for (ValueId id : outputs_) { used[static_cast<size_t>(id)] = true; }
  std::vector<bool> made(values_.size(), false);
  for (const Node& node : nodes_) {
    for (ValueId id : node.inputs) {
      if (id != kNoValue) { used[static_cast<size_t>(id)] = true; }
    }
    for (ValueId id : node.outputs) {
      const bool makes = node.form == Form::kFresh || node.form == Form::kView;
      (makes ? made : used)[static_cast<size_t>(id)] = true;
    }
  }
  std::string out = "graph '" + name_ + "':\n";
  for (size_t i = 0; i < values_.size(); ++i) {
    const Buffer& of = buffer(values_[i].buffer);
    if (!used[i] || made[i] || of.kind == Buffer::Kind::kComputed) { continue; }
    out += Format("  %{} = {} '{}' : {}\n", i, KindName(of.kind), of.name,
                  DescribeMeta(values_[i].meta));
  }
  for (const Node& node : nodes_) { out += DescribeNode(node); }
  return out + "  return " + Join(outputs_) + "\n";
}

}  // namespace graph
}  // namespace oneflow
