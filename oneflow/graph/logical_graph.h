// LogicalGraph: what one trace of `nn.Graph.build` did, as a list of ops over values.
//
// A value is written once: it is an input of the graph, a captured tensor (a parameter, a buffer, a
// constant), or an output of a node. Nodes are in an order in which they can run. A buffer that the
// trace wrote to in place is an update: after a run its storage holds another value.
//
// Thread safety: as a plain value; passes make new graphs. Ownership: nodes pin their stacks, captured
// values keep their memory.
#ifndef ONEFLOW_GRAPH_LOGICAL_GRAPH_H_
#define ONEFLOW_GRAPH_LOGICAL_GRAPH_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "oneflow/common/maybe.h"
#include "oneflow/core/tensor_meta.h"
#include "oneflow/graph/pinned_stack.h"
#include "oneflow/op/op_def.h"
#include "oneflow/vm/storage.h"

namespace oneflow {
namespace graph {

using ValueId = int32_t;
using NodeId = int32_t;
inline constexpr ValueId kNoValue = -1;  // an optional input that was not given
inline constexpr NodeId kNoNode = -1;

struct Value {
  enum class Kind { kInput, kCaptured, kComputed };
  Kind kind = Kind::kComputed;
  TensorMeta meta;
  std::string name;           // of an input or a captured tensor
  StorageRef storage;         // of a captured tensor
  NodeId producer = kNoNode;  // of a computed value
  int output_index = 0;
};

struct Node {
  const OpDef* def = nullptr;
  std::vector<char> attrs;  // def->attrs_size bytes of the op's attribute struct
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  PinnedStack stack;  // the line in `build`

  // Draws random numbers: two such nodes are never the same, however much they look alike.
  bool draws() const { return def->random_slot >= 0; }
};

class LogicalGraph {
 public:
  struct Update {
    ValueId target;  // captured
    ValueId source;
  };

  explicit LogicalGraph(std::string name) : name_(std::move(name)) {}
  LogicalGraph(LogicalGraph&&) = default;
  LogicalGraph& operator=(LogicalGraph&&) = default;

  const std::string& name() const { return name_; }
  const std::vector<Value>& values() const { return values_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<ValueId>& inputs() const { return inputs_; }
  const std::vector<ValueId>& outputs() const { return outputs_; }
  const std::vector<Update>& updates() const { return updates_; }
  const Value& value(ValueId id) const { return values_[static_cast<size_t>(id)]; }
  const Node& node(NodeId id) const { return nodes_[static_cast<size_t>(id)]; }

  ValueId AddInput(std::string name, const TensorMeta& meta);
  ValueId AddCaptured(std::string name, const TensorMeta& meta, StorageRef storage);
  // Appends a call of `def`: infers the outputs' metas as eager dispatch does, and returns the
  // outputs. `attrs` points at the op's attribute struct, its random slot filled in. The op's own
  // errors for bad operands; RuntimeError for an op whose output shape depends on data.
  // `device` and `dtype` are those of the call, for ops without inputs.
  // REQUIRES: devices and dtypes were made equal by the dispatcher, as for an eager call.
  Maybe<std::vector<ValueId>> Append(const OpDef* def, const void* attrs,
                                     const std::vector<ValueId>& inputs, StackId stack,
                                     Device device = Device(), DataType dtype = DataType::kFloat);
  // Appends a copy of another graph's node, whose outputs have the metas given.
  std::vector<ValueId> AppendCopy(const Node& node, std::vector<ValueId> inputs,
                                  const std::vector<TensorMeta>& output_metas);
  void SetOutputs(std::vector<ValueId> outputs) { outputs_ = std::move(outputs); }
  void AddUpdate(ValueId target, ValueId source) { updates_.push_back({target, source}); }

  // An internal error when the graph breaks a rule of this file: an id that does not exist, a value
  // used before it is computed, a meta that its op would not infer.
  Maybe<void> Verify() const;

  // One line for each value, with its op, shape, and the Python line that made it.
  std::string ToString() const;

 private:
  Maybe<std::vector<TensorMeta>> InferOutputs(const OpDef& def, const void* attrs,
                                              const std::vector<ValueId>& inputs, Device device,
                                              DataType dtype) const;
  Maybe<void> VerifyNode(NodeId id) const;
  Maybe<void> VerifyUse(ValueId id, NodeId user) const;
  std::string DescribeNode(const Node& node) const;
  ValueId AddValue(Value value);

  std::string name_;
  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::vector<ValueId> inputs_;
  std::vector<ValueId> outputs_;
  std::vector<Update> updates_;
};

}  // namespace graph
}  // namespace oneflow

#endif  // ONEFLOW_GRAPH_LOGICAL_GRAPH_H_
