#include "oneflow/graph/plan.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/graph/passes/pass.h"

namespace oneflow {
namespace graph {

Plan::~Plan() = default;

Maybe<std::unique_ptr<Plan>> Plan::Make(LogicalGraph graph) {
  std::unique_ptr<Plan> plan(new Plan(std::move(graph)));
  JUST(plan->Build());
  return plan;
}

Maybe<void> Plan::Build() {
  const size_t buffers = graph_.buffers().size();
  bound_index_.assign(buffers, -1);
  first_.assign(buffers, -1);
  last_.assign(buffers, -1);
  offsets_.assign(buffers, -1);
  internal_.assign(buffers, false);
  for (size_t i = 0; i < buffers; ++i) { root_.push_back(static_cast<BufferId>(i)); }
  FindOutputs();
  num_threads_ = cpu::NumThreads();
  JUST(AddSteps());
  PlaceBuffers();
  FindSerial();
  return Ok();
}

void Plan::FindOutputs() {
  int next = 0;
  for (ValueId id : graph_.inputs()) {
    bound_index_[static_cast<size_t>(graph_.BufferOf(id))] = next++;
  }
  for (ValueId id : graph_.outputs()) {
    const BufferId buffer = graph_.BufferOf(id);
    int& index = bound_index_[static_cast<size_t>(buffer)];
    if (graph_.buffer(buffer).kind != Buffer::Kind::kComputed || index >= 0) { continue; }
    index = next++;
    made_outputs_.push_back(buffer);
  }
}

Maybe<void> Plan::AddSteps() {
  std::vector<Node>& nodes = *graph_.mutable_nodes();
  builders_.reserve(nodes.size());  // exact enough: pointers into them stay valid
  for (size_t i = 0; i < nodes.size(); ++i) {
    size_t end = i + 1;
    while (nodes[i].fused >= 0 && end < nodes.size() &&
           (nodes[end].fused == nodes[i].fused || nodes[end].form == Form::kView)) {
      ++end;
    }
    if (nodes[i].fused >= 0 && JUST(AddFused(i, end))) {
      i = end - 1;
      continue;
    }
    if (nodes[i].Computes()) { JUST(AddStep(&nodes[i])); }
  }
  return Ok();
}

void Plan::NoteUses(const Node& node, int step) {
  const auto note = [&](ValueId id) {
    if (id == kNoValue) { return; }
    const auto at = static_cast<size_t>(graph_.BufferOf(id));
    if (first_[at] < 0) { first_[at] = step; }
    last_[at] = step;
  };
  for (ValueId id : node.inputs) { note(id); }
  for (ValueId id : node.outputs) { note(id); }
}

Maybe<void> Plan::AddStep(Node* node) {
  const int index = num_steps();
  NoteUses(*node, index);
  if (node->reuses >= 0) {
    const BufferId from = graph_.BufferOf(node->inputs[static_cast<size_t>(node->reuses)]);
    root_[static_cast<size_t>(graph_.BufferOf(node->outputs[0]))] =
        root_[static_cast<size_t>(from)];
  }
  builders_.emplace_back(graph_, *node);
  CallBuilder& builder = builders_.back();
  const DeviceType device =
      node->outputs.empty() ? DeviceType::kCPU : graph_.value(node->outputs[0]).meta.device.type();
  Step step;
  step.node = node;
  step.call.op = node->def->name;
  step.call.kernel = JUST(ChooseKernel(*node->def, device, *builder.call()));
  const double cost = CostOf(*step.call.kernel, *builder.call());
  cost_ns_ += cost;
  step.cost_ns = cost;
  builder.call()->threads = cpu::ThreadsForCost(cost);
  step.call.call = *builder.call();
  if (node->draws()) {
    step.slot = reinterpret_cast<RandomSlot*>(node->attrs.data() + node->def->random_slot);
  }
  if (step.call.kernel->scratch != nullptr) {
    step.scratch_bytes = static_cast<int64_t>(step.call.kernel->scratch(step.call.call));
  }
  for (size_t i = 0; i < builder.size(); ++i) {
    if (builder.place(i) == kNoValue) { continue; }
    const BufferId buffer = graph_.BufferOf(builder.place(i));
    const bool bound = bound_index_[static_cast<size_t>(buffer)] >= 0;
    (bound ? bound_ : fixed_).push_back({&builder.view(i)->data, buffer, builder.byte_offset(i)});
  }
  ++num_kernels_;
  steps_.push_back(step);
  return Ok();
}

// False: the nodes run one by one.
Maybe<bool> Plan::AddFused(size_t begin, size_t end) {
  const int group = graph_.nodes()[begin].fused;
  std::vector<const Node*> nodes;
  for (size_t i = begin; i < end; ++i) {
    if (graph_.nodes()[i].fused == group) { nodes.push_back(&graph_.nodes()[i]); }
  }
  const Usage usage(graph_);
  std::vector<bool> internal(graph_.buffers().size(), false);
  const auto within = [&](NodeId id) {
    return id >= static_cast<NodeId>(begin) && id < static_cast<NodeId>(end);
  };
  for (const Node* node : nodes) {
    for (ValueId id : node->outputs) {
      const BufferId buffer = graph_.BufferOf(id);
      internal[static_cast<size_t>(buffer)] = node->form == Form::kFresh && !usage[buffer].output &&
                                              within(usage[buffer].first) &&
                                              within(usage[buffer].last);
    }
  }
  std::unique_ptr<FusedStep> fused = FusedStep::Make(graph_, nodes, internal);
  if (fused == nullptr) { return false; }
  const int index = num_steps();
  for (const Node* node : nodes) { NoteUses(*node, index); }
  for (size_t i = 0; i < internal.size(); ++i) { internal_[i] = internal_[i] || internal[i]; }
  for (const FusedStep::Operand& operand : fused->Operands()) {
    const BufferId buffer = graph_.BufferOf(operand.place);
    const TensorMeta& meta = graph_.value(operand.place).meta;
    const bool bound = bound_index_[static_cast<size_t>(buffer)] >= 0;
    (bound ? bound_ : fixed_)
        .push_back({operand.base, buffer, meta.offset * static_cast<int64_t>(SizeOf(meta.dtype))});
  }
  cost_ns_ += fused->cost_ns();
  num_kernels_ += fused->num_kernels();
  Step step;
  step.fused = fused.get();
  step.scratch_bytes = fused->scratch_bytes();
  fused_.push_back(std::move(fused));
  steps_.push_back(step);
  return true;
}

void Plan::PlaceBuffers() {
  std::vector<Lifetime> arrays;
  std::vector<int> array_of(graph_.buffers().size(), -1);
  for (size_t i = 0; i < graph_.buffers().size(); ++i) {
    const Buffer& buffer = graph_.buffers()[i];
    if (buffer.kind == Buffer::Kind::kConstant && first_[i] >= 0) {
      constant_bytes_ += buffer.bytes;
    }
    if (buffer.kind != Buffer::Kind::kComputed || first_[i] < 0 || internal_[i] ||
        bound_index_[i] >= 0) {
      continue;
    }
    int& array = array_of[static_cast<size_t>(root_[i])];
    if (array < 0) {
      array = static_cast<int>(arrays.size());
      arrays.push_back({buffer.bytes, first_[i], last_[i]});
    }
    Lifetime& lifetime = arrays[static_cast<size_t>(array)];
    lifetime.first = std::min(lifetime.first, first_[i]);
    lifetime.last = std::max(lifetime.last, last_[i]);
    array_of[i] = array;
  }
  memory_ = PlanMemory(arrays);
  PlaceScratch(std::move(arrays));
  for (size_t i = 0; i < array_of.size(); ++i) {
    if (array_of[i] >= 0) { offsets_[i] = memory_.offsets[static_cast<size_t>(array_of[i])]; }
  }
}

// Each step's scratch is one more array, which lives in that step alone: most of it lies in gaps of the
// values, since few steps have scratch where the most values are alive.
void Plan::PlaceScratch(std::vector<Lifetime> arrays) {
  const size_t num_values = arrays.size();
  int64_t largest = 0;
  for (int i = 0; i < num_steps(); ++i) {
    const int64_t bytes = steps_[static_cast<size_t>(i)].scratch_bytes;
    if (bytes == 0) { continue; }
    arrays.push_back({bytes, i, i});
    largest = std::max(largest, (bytes + kPlanAlignment - 1) / kPlanAlignment * kPlanAlignment);
  }
  if (largest == 0) { return; }
  MemoryPlan together = PlanMemory(arrays);
  // Best fit may do worse than one place for all scratch, behind the values.
  const bool apart = together.bytes > memory_.bytes + largest;
  size_t next = num_values;
  for (Step& step : steps_) {
    if (step.scratch_bytes == 0) { continue; }
    step.scratch_offset = apart ? memory_.bytes : together.offsets[next++];
  }
  const int64_t values_bytes = memory_.bytes;
  const int64_t lower_bound = memory_.lower_bound;  // of the values
  if (apart) {
    memory_.bytes += largest;
  } else {
    memory_ = std::move(together);
    memory_.lower_bound = lower_bound;
  }
  scratch_bytes_ = std::max<int64_t>(0, memory_.bytes - values_bytes);
}

void* Plan::FixedBase(BufferId id) const {
  const Buffer& buffer = graph_.buffer(id);
  if (buffer.kind != Buffer::Kind::kComputed) { return buffer.storage->data(); }
  return base_ + offsets_[static_cast<size_t>(id)];
}

void Plan::SetMemory(void* memory) {
  base_ = static_cast<char*>(memory);
  for (const Address& address : fixed_) {
    *address.at = static_cast<char*>(FixedBase(address.buffer)) + address.offset;
  }
  for (Step& step : steps_) {
    if (step.scratch_bytes == 0) { continue; }
    if (step.fused != nullptr) {
      step.fused->SetScratch(base_ + step.scratch_offset);
      continue;
    }
    step.call.call.scratch = base_ + step.scratch_offset;
    step.call.call.scratch_bytes = static_cast<size_t>(step.scratch_bytes);
  }
}

// After set_num_threads. A step whose kernel would then want more scratch than it was given stays as it is.
void Plan::AdaptThreads() {
  num_threads_ = cpu::NumThreads();
  for (Step& step : steps_) {
    if (step.fused != nullptr) {
      step.fused->AdaptThreads();
      continue;
    }
    KernelCall call = step.call.call;
    call.threads = cpu::ThreadsForCost(step.cost_ns);
    const KernelScratchFn scratch = step.call.kernel->scratch;
    const size_t bytes = scratch == nullptr ? 0 : scratch(call);
    if (static_cast<int64_t>(bytes) > step.scratch_bytes) { continue; }
    call.scratch = bytes == 0 ? nullptr : base_ + step.scratch_offset;
    call.scratch_bytes = bytes;
    step.call.call = call;
  }
  FindSerial();
}

void Plan::FindSerial() {
  bool serial = true;
  for (const Step& step : steps_) {
    const int threads = step.fused != nullptr ? step.fused->threads() : step.call.call.threads;
    serial = serial && threads == 1;
  }
  serial_.store(serial, std::memory_order_relaxed);
}

Maybe<void> Plan::Run(const Given& given) {
  if (__builtin_expect(cpu::NumThreads() != num_threads_, 0)) { AdaptThreads(); }
  for (const Address& address : bound_) {
    const int index = bound_index_[static_cast<size_t>(address.buffer)];
    *address.at = static_cast<char*>(given.bases[index]) + address.offset;
  }
  for (Step& step : steps_) {
    if (__builtin_expect(step.slot != nullptr, 0)) {
      const RandomSlot& drawn = given.draws[step.node->generator];
      *step.slot = {drawn.seed, drawn.offset + step.node->draw_offset};
    }
    if (step.fused != nullptr) {
      JUST(step.fused->Run());
      continue;
    }
    const Maybe<void> ran = RunKernel(step.call, "graph", step.node->stack.id());
    if (__builtin_expect(!ran.ok(), 0)) {
      ran.error()->set_stack(step.node->stack.id(), step.node->context.get());
      return ran.error();
    }
  }
  return Ok();
}

}  // namespace graph
}  // namespace oneflow
