#include "oneflow/graph/passes/constant_folding.h"

#include <utility>

#include "oneflow/graph/call_builder.h"
#include "oneflow/vm/vm.h"

namespace oneflow {
namespace graph {

namespace {

bool Folds(const LogicalGraph& graph, const Usage& usage, const Node& node) {
  if (node.form != Form::kFresh || !node.Computes() || node.draws() || node.outputs.empty()) {
    return false;
  }
  for (ValueId id : node.inputs) {
    if (id == kNoValue) { continue; }
    if (graph.buffer(graph.BufferOf(id)).kind != Buffer::Kind::kConstant) { return false; }
  }
  for (ValueId id : node.outputs) {
    const BufferId buffer = graph.BufferOf(id);
    if (usage[buffer].writers != 1 || usage[buffer].output) { return false; }
    if (graph.buffer(buffer).bytes > kLargestConstant) { return false; }
    if (graph.buffer(buffer).device.type() != DeviceType::kCPU) { return false; }
  }
  return true;
}

Maybe<void> Compute(const LogicalGraph& graph, const Node& node,
                    const std::vector<StorageRef>& made) {
  CallBuilder builder(graph, node);
  const KernelCall& call = *builder.call();
  const Kernel* kernel = JUST(ChooseKernel(*node.def, DeviceType::kCPU, call));
  std::vector<char> scratch(kernel->scratch == nullptr ? 0 : kernel->scratch(call) + 64);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoValue) { continue; }
    JUST(Vm::Get()->SyncRead(graph.buffer(graph.BufferOf(node.inputs[i])).storage.get()));
    builder.SetBase(i, graph.buffer(graph.BufferOf(node.inputs[i])).storage->data());
  }
  for (size_t i = 0; i < made.size(); ++i) {
    builder.SetBase(node.inputs.size() + i, made[i]->data());
  }
  KernelCall run = call;
  const auto start = reinterpret_cast<uintptr_t>(scratch.data());
  run.scratch = scratch.data() + (64 - start % 64) % 64;
  run.scratch_bytes = scratch.empty() ? 0 : scratch.size() - 64;
  OpCall op;
  op.op = node.def->name;
  op.kernel = kernel;
  op.call = run;
  return RunKernel(op);
}

}  // namespace

Maybe<PassResult> FoldConstants(const LogicalGraph& graph) {
  LogicalGraph result = graph;
  const Usage usage(graph);
  std::vector<Node> kept;
  int64_t fired = 0;
  for (const Node& node : graph.nodes()) {
    bool folded = Folds(result, usage, node);
    std::vector<StorageRef> made;
    for (size_t i = 0; folded && i < node.outputs.size(); ++i) {
      const Buffer& buffer = result.buffer(result.BufferOf(node.outputs[i]));
      // At home on no stream: it is used by the host at once.
      made.push_back(
          JUST(Storage::Allocate(buffer.device, static_cast<size_t>(buffer.bytes), kHostStream)));
    }
    folded = folded && Compute(result, node, made).ok();
    if (!folded) {
      kept.push_back(node);
      continue;
    }
    ++fired;
    for (size_t i = 0; i < made.size(); ++i) {
      Buffer* buffer = result.mutable_buffer(result.BufferOf(node.outputs[i]));
      buffer->kind = Buffer::Kind::kConstant;
      buffer->storage = made[i];
      if (buffer->name.empty()) { buffer->name = node.def->name; }
    }
  }
  *result.mutable_nodes() = std::move(kept);
  return PassResult{std::move(result), fired};
}

}  // namespace graph
}  // namespace oneflow
