#include "oneflow/graph/fused_step.h"

#include <algorithm>
#include <atomic>

#include "oneflow/common/trace.h"
#include "oneflow/device/cpu/parallel.h"
#include "oneflow/graph/call_builder.h"
#include "oneflow/graph/passes/fusion.h"

namespace oneflow {
namespace graph {

namespace {

const int64_t kOne = 1;
constexpr int kMaxOperands = 16;

int64_t Aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

const char* Refusal(const Kernel& kernel, const KernelCall& call) {
  return kernel.accepts == nullptr ? nullptr : kernel.accepts(call);
}

}  // namespace

std::unique_ptr<FusedStep> FusedStep::Make(const LogicalGraph& graph,
                                           const std::vector<const Node*>& nodes,
                                           const std::vector<bool>& internal) {
  auto step = std::make_unique<FusedStep>();
  step->n_ = graph.value(nodes[0]->outputs[0]).meta.Count();
  step->tile_ = kTileElements;
  step->rest_ = step->n_ % kTileElements == 0 ? kTileElements : step->n_ % kTileElements;
  std::vector<int64_t> scratch_of(graph.buffers().size(), -1);
  for (const Node* node : nodes) {
    if (!step->Add(graph, *node, internal, &scratch_of)) { return nullptr; }
  }
  step->threads_ = step->most_threads_ = cpu::ThreadsForCost(step->cost_ns_);
  return step;
}

bool FusedStep::Add(const LogicalGraph& graph, const Node& node, const std::vector<bool>& internal,
                    std::vector<int64_t>* scratch_of) {
  CallBuilder whole(graph, node);
  if (whole.size() > kMaxOperands) { return false; }
  Member member;
  member.node = &node;
  member.num_inputs = static_cast<int>(node.inputs.size());
  for (size_t i = 0; i < whole.size(); ++i) {
    View view;
    view.place = whole.place(i);
    view.array = *whole.view(i);
    const auto buffer = static_cast<size_t>(graph.BufferOf(view.place));
    const auto size = static_cast<int64_t>(SizeOf(view.array.dtype));
    if (!IsOneElement(graph.value(view.place).meta)) {
      view.array.ndim = 1;
      view.array.strides = &kOne;
      view.step = tile_ * size;
    } else {
      view.array.ndim = 0;
    }
    if (internal[buffer]) {
      int64_t& at = (*scratch_of)[buffer];
      if (at < 0) {
        at = thread_bytes_;
        thread_bytes_ += Aligned(tile_ * size);
      }
      view.scratch_offset = at;
    }
    member.views.push_back(view);
  }
  KernelCall call;
  std::vector<ArrayView> arrays;
  for (const int64_t* length :
       {static_cast<const int64_t*>(&tile_), static_cast<const int64_t*>(&rest_)}) {
    arrays.clear();
    for (const View& view : member.views) {
      arrays.push_back(view.array);
      arrays.back().shape = length;
    }
    call.inputs = arrays.data();
    call.num_inputs = member.num_inputs;
    call.outputs = arrays.data() + member.num_inputs;
    call.num_outputs = static_cast<int>(node.outputs.size());
    call.attrs = node.attrs.data();
    if (length == &tile_) {
      const Maybe<const Kernel*> chosen = ChooseKernel(*node.def, DeviceType::kCPU, call);
      if (!chosen.ok()) { return false; }
      member.kernel = chosen.value();
    } else if (Refusal(*member.kernel, call) != nullptr) {
      return false;
    }
    if (member.kernel->scratch != nullptr && member.kernel->scratch(call) > 0) { return false; }
  }
  cost_ns_ += CostOf(*member.kernel, *whole.call());
  name_ += (members_.empty() ? "" : "+") + std::string(node.def->name);
  members_.push_back(std::move(member));
  return true;
}

void FusedStep::AdaptThreads() {
  threads_ = std::min(cpu::ThreadsForCost(cost_ns_), most_threads_);
}

std::vector<FusedStep::Operand> FusedStep::Operands() {
  std::vector<Operand> operands;
  for (Member& member : members_) {
    for (View& view : member.views) {
      if (view.scratch_offset < 0) { operands.push_back({view.place, &view.array.data}); }
    }
  }
  return operands;
}

Maybe<void> FusedStep::RunTile(int64_t tile, char* scratch) {
  const bool last = (tile + 1) * tile_ >= n_;
  const int64_t* length = last ? &rest_ : &tile_;
  ArrayView arrays[kMaxOperands];
  for (const Member& member : members_) {
    int i = 0;
    for (const View& view : member.views) {
      arrays[i] = view.array;
      arrays[i].shape = length;
      arrays[i++].data = view.scratch_offset >= 0
                             ? scratch + view.scratch_offset
                             : static_cast<char*>(view.array.data) + tile * view.step;
    }
    OpCall call;
    call.op = member.node->def->name;
    call.kernel = member.kernel;
    call.call.inputs = arrays;
    call.call.num_inputs = member.num_inputs;
    call.call.outputs = arrays + member.num_inputs;
    call.call.num_outputs = i - member.num_inputs;
    call.call.attrs = member.node->attrs.data();
    const Maybe<void> ran = RunKernel(call, nullptr);
    if (__builtin_expect(!ran.ok(), 0)) {
      ran.error()->set_stack(member.node->stack.id(), member.node->context.get());
      return ran.error();
    }
  }
  return Ok();
}

Maybe<void> FusedStep::Run() {
  TraceScope trace("graph", name_.c_str());
  if (__builtin_expect(trace.sink() != nullptr, 0)) {
    trace.Tell({members_.front().node->stack.id(), ""});
  }
  const int64_t tiles = (n_ + tile_ - 1) / tile_;
  const int64_t share = (tiles + threads_ - 1) / threads_;
  std::atomic<Error*> failure{nullptr};  // owns one reference
  cpu::ParallelFor(threads_, tiles, share, [&](int64_t begin, int64_t end) {
    char* scratch = scratch_ + begin / share * thread_bytes_;
    for (int64_t tile = begin; tile < end && failure.load() == nullptr; ++tile) {
      const Maybe<void> ran = RunTile(tile, scratch);
      if (ran.ok()) { continue; }
      Error* none = nullptr;
      ran.error()->AddRef();
      if (!failure.compare_exchange_strong(none, ran.error().get())) { ran.error()->Release(); }
    }
  });
  if (Error* error = failure.load()) {
    const ErrorPtr first(error);
    error->Release();
    return first;
  }
  return Ok();
}

}  // namespace graph
}  // namespace oneflow
