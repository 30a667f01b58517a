// LogicalGraph: what one trace of `nn.Graph.build` did, as a list of ops over buffers.
//
// A *buffer* is memory: an argument of the graph, a captured tensor's storage (a parameter, a free
// tensor), a constant, or what a node makes. A *value* is a place: a buffer seen with a shape, strides
// and offset; views are further values of their buffer. Nodes run in their order. A node makes new
// buffers (kFresh), names a view (kView, nothing runs), or writes places that exist: those of its
// first inputs (kInPlace), or one that it does not read (kOverwrite). To read a value is to read what
// its buffer holds at that moment, as for an eager tensor; so aliases and ops in place mean what they
// mean eagerly, and a write to a captured buffer is what a run does to that tensor.
//
// Thread safety: as a plain value; passes make new graphs. Ownership: nodes pin their stacks, captured
// buffers keep their memory.
#ifndef ONEFLOW_GRAPH_LOGICAL_GRAPH_H_
#define ONEFLOW_GRAPH_LOGICAL_GRAPH_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "oneflow/common/maybe.h"
#include "oneflow/common/pinned_stack.h"
#include "oneflow/common/stack_context.h"
#include "oneflow/core/generator.h"
#include "oneflow/core/tensor_meta.h"
#include "oneflow/op/op_def.h"
#include "oneflow/vm/storage.h"

namespace oneflow {
namespace graph {

using BufferId = int32_t;
using ValueId = int32_t;
using NodeId = int32_t;
inline constexpr ValueId kNoValue = -1;  // an optional input that was not given

struct Buffer {
  enum class Kind : uint8_t { kInput, kCaptured, kConstant, kComputed };
  Kind kind = Kind::kComputed;
  Device device;
  int64_t bytes = 0;
  std::string name;    // of an input or a captured tensor
  StorageRef storage;  // of a captured tensor or a constant
  // What has one number may lie in another order, the same for all of it (passes/arranged_weights.h).
  int order_group = -1;
  // How a captured tensor lies during a run; nullptr: as its strides say. Places in it that nodes use are
  // then places in that.
  const Arrangement* arrangement = nullptr;
};

struct Value {
  BufferId buffer;
  TensorMeta meta;
};

enum class Form : uint8_t { kFresh, kView, kInPlace, kOverwrite };

struct Node {
  const OpDef* def = nullptr;
  Form form = Form::kFresh;
  std::vector<char> attrs;  // def->attrs_size bytes of the op's attribute struct
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  PinnedStack stack;        // the line in `build`
  StackContextPtr context;  // of an op that backward() issued
  // Of an op that draws: where it takes its blocks. Numbered in the order of the trace.
  int generator = -1;
  uint64_t draw_offset = 0;
  int region = 0;  // nodes of different regions are never merged: a recomputation is one
  int fused = -1;  // nodes with one number (neighbours) run tile by tile
  // Of a kFresh node: output 0 takes over the memory of input `reuses`, which ends here; -1: no.
  int reuses = -1;

  // Draws random numbers: two such nodes are never the same, however much they look alike.
  bool draws() const { return def->random_slot >= 0; }
  // Is there a kernel to call? (An op without one leaves its output undefined.)
  bool Computes() const;
};

class LogicalGraph {
 public:
  struct Draws {
    GeneratorPtr generator;
    uint64_t blocks = 0;  // that one run takes
    uint64_t next = 0;    // where the next node's begin: less, while a recomputation draws again
  };

  explicit LogicalGraph(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  const std::vector<Buffer>& buffers() const { return buffers_; }
  const std::vector<Value>& values() const { return values_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<ValueId>& inputs() const { return inputs_; }
  const std::vector<ValueId>& outputs() const { return outputs_; }
  const std::vector<Draws>& draws() const { return draws_; }
  const Buffer& buffer(BufferId id) const { return buffers_[static_cast<size_t>(id)]; }
  const Value& value(ValueId id) const { return values_[static_cast<size_t>(id)]; }
  const Node& node(NodeId id) const { return nodes_[static_cast<size_t>(id)]; }
  BufferId BufferOf(ValueId id) const { return value(id).buffer; }

  // For passes.
  std::vector<Node>* mutable_nodes() { return &nodes_; }
  Buffer* mutable_buffer(BufferId id) { return &buffers_[static_cast<size_t>(id)]; }

  // Each makes a buffer and the place that is all of it.
  ValueId AddInput(std::string name, const TensorMeta& meta);
  ValueId AddCaptured(std::string name, const TensorMeta& meta, StorageRef storage);
  ValueId AddComputed(const TensorMeta& meta);

  BufferId AddBuffer(Buffer buffer);
  // The place in `buffer` that `meta` describes; the same one for the same meta.
  ValueId Place(BufferId buffer, const TensorMeta& meta);
  // REQUIRES that it has one.
  ValueId FirstPlace(BufferId buffer) const { return places_[static_cast<size_t>(buffer)][0]; }

  // Appends a node whose places exist already. REQUIRES that they were checked, as by dispatch.
  void Record(Node node) { nodes_.push_back(std::move(node)); }
  // So many blocks of `generator` for `node`, behind those that were taken before.
  void TakeBlocks(const GeneratorPtr& generator, uint64_t blocks, Node* node);
  // Where each generator is, and back to there: what is recorded then draws the same numbers again.
  std::vector<uint64_t> DrawMark() const;
  void RewindDraws(const std::vector<uint64_t>& mark);

  // Appends a call of `def` that makes its outputs (for a view: places): infers their metas as eager
  // dispatch does, and returns them. The op's own errors for bad operands; RuntimeError for an op whose
  // output shape depends on data. `device` and `dtype` are those of the call, for ops without inputs.
  // REQUIRES: devices and dtypes were made equal by the dispatcher, as for an eager call.
  Maybe<std::vector<ValueId>> Append(const OpDef* def, const void* attrs,
                                     const std::vector<ValueId>& inputs, StackId stack,
                                     Device device = Device(), DataType dtype = DataType::kFloat);
  // The same in place: the first `targets` inputs are written.
  Maybe<void> AppendInPlace(const OpDef* def, const void* attrs, const std::vector<ValueId>& inputs,
                            int targets, StackId stack);
  void SetOutputs(std::vector<ValueId> outputs) { outputs_ = std::move(outputs); }

  // An internal error when the graph breaks a rule of this file: an id that does not exist, a buffer
  // that is read before a node makes it or made twice, a place outside its buffer, a constant that is
  // written, a meta that its op would not infer.
  Maybe<void> Verify() const;

  // One line for each value, with its op, shape, and the Python line that made it.
  std::string ToString() const;

 private:
  Maybe<std::vector<TensorMeta>> InferOutputs(const OpDef& def, const void* attrs,
                                              const std::vector<ValueId>& inputs, Device device,
                                              DataType dtype, size_t count) const;
  Maybe<void> CheckIds(const std::vector<ValueId>& ids, const char* who) const;
  Maybe<void> VerifyNode(NodeId id, std::vector<bool>* made) const;
  Maybe<void> VerifyMetas(const Node& node) const;
  Maybe<void> VerifyPlace(ValueId id) const;
  std::string DescribeNode(const Node& node) const;

  std::string name_;
  std::vector<Buffer> buffers_;
  std::vector<std::vector<ValueId>> places_;  // of each buffer
  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::vector<ValueId> inputs_;
  std::vector<ValueId> outputs_;
  std::vector<Draws> draws_;
};

// "net.py:12 in build": the last line of the program, not of this package; nothing when it is not known.
std::string DescribeLine(StackId stack);
// One byte behind the last element of a place, counted from the start of its buffer.
int64_t EndOfPlace(const TensorMeta& meta);
bool SameMeta(const TensorMeta& a, const TensorMeta& b);
// Does the place hold every byte of its buffer?
bool CoversBuffer(const LogicalGraph& graph, ValueId id);

}  // namespace graph
}  // namespace oneflow

#endif  // ONEFLOW_GRAPH_LOGICAL_GRAPH_H_
