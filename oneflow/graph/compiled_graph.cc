#include "oneflow/graph/compiled_graph.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "oneflow/common/inline_array.h"
#include "oneflow/common/trace.h"
#include "oneflow/graph/passes/arranged_weights.h"
#include "oneflow/vm/take_memory.h"

namespace oneflow {
namespace graph {

namespace {

// What a run is given, as the attributes of its instruction: this, the addresses of bound buffers, then
// a slot for each generator.
struct RunRecord {
  void* program;
  int64_t num_bases;

  static size_t Bytes(size_t bases, size_t draws) {
    return sizeof(RunRecord) + bases * sizeof(void*) + draws * sizeof(RandomSlot);
  }
  void** bases() { return reinterpret_cast<void**>(this + 1); }
  RandomSlot* draws() { return reinterpret_cast<RandomSlot*>(bases() + num_bases); }
};

// A short graph runs on the thread that calls it: handing it over and waiting for its outputs costs
// some 30 us (a perceptron's step of 30 us: 63 us queued, 32 us inline, each loss read). A longer one
// is queued, so that Python can make the next batch meanwhile.
constexpr double kInlineLimitNs = 60e3;
// What a run's record and list of storages may hold without taking memory: those of ResNet-50's step are
// 6 and 430.
constexpr int kInlineStorages = 1024;
constexpr int kInlineWords = 64;
constexpr int kInlineDraws = 4;
// Captured tensors are left plain from then on if they were found so, or otherwise arranged, by more than
// half of the runs, and by so many.
constexpr int64_t kLeastConvertedRuns = 8;

}  // namespace

struct GraphKernel {
  using Program = CompiledGraph::Program;
  static Maybe<void> Run(const KernelCall& call) {
    auto* record = static_cast<RunRecord*>(const_cast<void*>(call.attrs));
    const Plan::Given given{record->bases(), record->draws()};
    auto* program = static_cast<Program*>(record->program);
    program->given = &given;
    return program->actors->Run();
  }
  static double Cost(const KernelCall& call) {
    return static_cast<Program*>(static_cast<const RunRecord*>(call.attrs)->program)
        ->plan->cost_ns();
  }
};

namespace {
const Kernel kGraphKernel = {"graph.run", &GraphKernel::Run, nullptr, &GraphKernel::Cost, nullptr};
}  // namespace

Maybe<std::unique_ptr<CompiledGraph>> CompiledGraph::Compile(LogicalGraph traced,
                                                             const Options& options) {
  std::unique_ptr<CompiledGraph> graph(new CompiledGraph(traced.name()));
  graph->traced_text_ = traced.ToString();
  graph->options_ = options;
  graph->traced_ = std::make_unique<LogicalGraph>(traced);
  Device device;
  for (const Buffer& buffer : traced.buffers()) { device = buffer.device; }
  graph->stream_ = JUST(Vm::Get()->StreamFor(device));
  graph->first_ = JUST(graph->MakeProgram(std::move(traced), options.disable, &graph->passes_));
  if (graph->first_->movable.empty()) { graph->traced_.reset(); }
  graph->FindOutputs();
  MutexLock lock(&graph->mutex_);
  graph->current_ = graph->first_.get();
  return graph;
}

Maybe<std::unique_ptr<CompiledGraph::Program>> CompiledGraph::MakeProgram(
    LogicalGraph traced, const std::vector<std::string>& disable,
    std::vector<PassCount>* passes) const {
  auto program = std::make_unique<Program>();
  LogicalGraph result = JUST(RunPasses(std::move(traced), DefaultPasses(), passes, disable));
  program->plan = JUST(Plan::Make(std::move(result)));
  Plan* plan = program->plan.get();
  const auto bytes = static_cast<size_t>(std::max<int64_t>(plan->memory_bytes(), kPlanAlignment));
  Allocator* pool = JUST(GetAllocator(stream_->device()));
  const MemoryRequest request{"graph", bytes, stream_->device()};
  MemoryBlock* block = JUST(TakeMemory(pool, request, stream_->index()));
  program->memory = Storage::Own(pool, block, request, stream_->index());
  program->uses = IntrusivePtr<Storage>(program->memory.get());
  plan->SetMemory(program->memory->data());
  FindUses(program.get());
  std::vector<ActorSpec> chains(1);  // one stream: all its kernels are one actor
  chains[0].name = "compute";
  chains[0].act = [this, p = program.get()](int64_t) {
    TraceScope trace("actor", name_.c_str());
    return p->plan->Run(*p->given);
  };
  program->actors =
      std::make_unique<ActorSystem>(name_, std::move(chains), std::vector<RegisterSpec>());
  return program;
}

void CompiledGraph::FindOutputs() {
  const LogicalGraph& graph = first_->plan->graph();
  const std::vector<BufferId>& made = first_->plan->made_outputs();
  for (ValueId id : graph.outputs()) {
    const BufferId buffer = graph.BufferOf(id);
    Output output;
    output.meta = graph.value(id).meta;
    if (graph.buffer(buffer).kind == Buffer::Kind::kInput) {
      output.from = Output::From::kArgument;
      while (graph.BufferOf(graph.inputs()[static_cast<size_t>(output.index)]) != buffer) {
        ++output.index;
      }
    } else if (graph.buffer(buffer).kind == Buffer::Kind::kComputed) {
      output.index = static_cast<int>(std::find(made.begin(), made.end(), buffer) - made.begin());
    } else {
      output.from = Output::From::kCaptured;
      output.captured = graph.buffer(buffer).storage;
    }
    outputs_.push_back(std::move(output));
  }
  std::vector<bool> written(graph.buffers().size(), false);
  for (const Node& node : graph.nodes()) {
    if (!node.Computes()) { continue; }
    for (ValueId id : node.outputs) { written[static_cast<size_t>(graph.BufferOf(id))] = true; }
  }
  for (ValueId id : graph.inputs()) {
    arguments_.push_back(graph.value(id).meta);
    updates_argument_.push_back(written[static_cast<size_t>(graph.BufferOf(id))]);
  }
}

void CompiledGraph::FindUses(Program* program) {
  const LogicalGraph& graph = program->plan->graph();
  std::vector<bool> read(graph.buffers().size(), false);
  std::vector<bool> written(graph.buffers().size(), false);
  for (const Node& node : graph.nodes()) {
    if (!node.Computes()) { continue; }
    for (ValueId id : node.inputs) {
      if (id != kNoValue) { read[static_cast<size_t>(graph.BufferOf(id))] = true; }
    }
    for (ValueId id : node.outputs) { written[static_cast<size_t>(graph.BufferOf(id))] = true; }
  }
  std::unordered_map<const Storage*, const Arrangement*> arrangements;
  for (size_t i = 0; i < graph.buffers().size(); ++i) {
    const Buffer& buffer = graph.buffers()[i];
    if (!buffer.storage) { continue; }
    if (read[i]) { program->reads.push_back(buffer.storage.get()); }
    if (written[i]) { program->updates.push_back(buffer.storage.get()); }
    if (buffer.arrangement != nullptr && (read[i] || written[i])) {
      arrangements[buffer.storage.get()] = buffer.arrangement;
      program->movable.push_back(buffer.storage.get());
    }
  }
  std::sort(program->updates.begin(), program->updates.end());
  std::sort(program->movable.begin(), program->movable.end());
  if (arrangements.empty()) { return; }
  for (const std::vector<Storage*>* list : {&program->reads, &program->updates}) {
    for (const Storage* storage : *list) {
      const auto found = arrangements.find(storage);
      program->arranged.push_back(found == arrangements.end() ? nullptr : found->second);
    }
  }
}

const Plan& CompiledGraph::plan() const {
  MutexLock lock(&mutex_);
  return second_ != nullptr ? *second_->plan : *first_->plan;
}

int CompiledGraph::num_arranged() const {
  MutexLock lock(&mutex_);
  return current_ == nullptr ? 0 : static_cast<int>(current_->movable.size());
}

// The program that a run takes now.
Maybe<CompiledGraph::Lease> CompiledGraph::Current() {
  {
    MutexLock lock(&mutex_);
    if (current_ != nullptr) { return Lease{current_, current_->memory}; }
  }
  std::vector<std::string> disable = options_.disable;
  disable.emplace_back(kArrangedWeights);
  std::vector<PassCount> passes;
  std::unique_ptr<Program> made = JUST(MakeProgram(LogicalGraph(*traced_), disable, &passes));
  CHECK_OR_RETURN(made->plan->made_outputs() == first_->plan->made_outputs(),
                  "graph '{}': its programs differ", name_);
  MutexLock lock(&mutex_);
  if (second_ == nullptr) { second_ = std::move(made); }
  current_ = second_.get();
  return Lease{current_, current_->memory};
}

// The next run takes the second program, if it would have taken `program`.
void CompiledGraph::GiveUpArrangements(const Program* program) {
  StorageRef memory;  // so that it is free before the other program asks for some
  MutexLock lock(&mutex_);
  if (current_ != program || program->movable.empty()) { return; }
  memory = std::move(current_->memory);
  current_ = nullptr;
}

bool CompiledGraph::Updates(const Storage* storage) const {
  return std::binary_search(first_->updates.begin(), first_->updates.end(), storage);
}

Maybe<void> CompiledGraph::TakeOutputs(StorageRef* made) {
  Allocator* pool = JUST(GetAllocator(stream_->device()));
  for (BufferId buffer : first_->plan->made_outputs()) {
    const auto bytes = static_cast<size_t>(first_->plan->graph().buffer(buffer).bytes);
    const MemoryRequest request{"graph", bytes, stream_->device()};
    MemoryBlock* block = JUST(TakeMemory(pool, request, stream_->index()));
    *made++ = Storage::Own(pool, block, request, stream_->index());
  }
  return Ok();
}

Maybe<void> CompiledGraph::Run(const Argument* arguments, StorageRef* made) {
  JUST(TakeOutputs(made));
  const auto& all = first_->plan->graph().draws();
  InlineArray<RandomSlot, kInlineDraws> draws(static_cast<int>(all.size()));
  for (size_t i = 0; i < all.size(); ++i) {
    draws[static_cast<int>(i)] = all[i].generator->Reserve(all[i].blocks);
  }
  while (true) {
    const Lease lease = JUST(Current());
    if (JUST(RunProgram(lease, arguments, draws.data(), made))) { break; }
    GiveUpArrangements(lease.program);
  }
  runs_.fetch_add(1, std::memory_order_relaxed);
  return Ok();
}

// False, and nothing was issued: it cannot have what it is given arranged.
Maybe<bool> CompiledGraph::RunProgram(const Lease& lease, const Argument* arguments,
                                      const RandomSlot* draws, const StorageRef* made) {
  Program* program = lease.program;
  const size_t num_draws = program->plan->graph().draws().size();
  const Argument* const end_of_arguments = arguments + arguments_.size();
  const StorageRef* const end_of_made = made + num_made();
  for (const Argument* a = arguments; a != end_of_arguments; ++a) {
    const auto& movable = program->movable;
    if (std::binary_search(movable.begin(), movable.end(), a->storage.get())) { return false; }
  }
  const size_t num_bases = arguments_.size() + static_cast<size_t>(num_made());
  const size_t bytes = RunRecord::Bytes(num_bases, num_draws);
  InlineArray<uint64_t, kInlineWords> words(static_cast<int>((bytes + 7) / 8));
  auto* record = reinterpret_cast<RunRecord*>(words.data());
  record->program = program;
  record->num_bases = static_cast<int64_t>(num_bases);
  size_t next = 0;
  for (const Argument* a = arguments; a != end_of_arguments; ++a) {
    record->bases()[next++] = a->data;
  }
  for (const StorageRef* m = made; m != end_of_made; ++m) {
    record->bases()[next++] = (*m)->data();
  }
  std::copy(draws, draws + num_draws, record->draws());

  const size_t most =
      arguments_.size() + num_bases + program->reads.size() + program->updates.size() + 1;
  InlineArray<Storage*, kInlineStorages> storages(static_cast<int>(most));
  int n = 0;
  for (const Argument* a = arguments; a != end_of_arguments; ++a) {
    storages[n++] = a->storage.get();
  }
  for (Storage* storage : program->reads) { storages[n++] = storage; }
  OpCall call;
  call.num_reads = n;
  for (const StorageRef* m = made; m != end_of_made; ++m) { storages[n++] = m->get(); }
  const int first_update = n;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (updates_argument_[i]) { storages[n++] = arguments[i].storage.get(); }
  }
  for (Storage* storage : program->updates) { storages[n++] = storage; }
  const int end_of_versions = n;
  storages[n++] = lease.memory.get();
  call.op = "graph";
  call.kernel = &kGraphKernel;
  call.call.attrs = record;
  call.attrs_size = bytes;
  call.reads = storages.data();
  call.writes = storages.data() + call.num_reads;
  call.num_writes = n - call.num_reads;
  call.num_updates = n - first_update;
  call.stream = stream_;
  call.inline_limit_ns = program->plan->serial() ? kInlineLimitNs : 0;
  bool refused = false;
  JUST(Issue(lease, &call, &refused));
  for (int i = first_update; i < end_of_versions && !refused; ++i) { storages[i]->BumpVersion(); }
  return !refused;
}

// With the order in which the program wants each of the call's storages.
Maybe<void> CompiledGraph::Issue(const Lease& lease, OpCall* call, bool* refused) {
  Program* program = lease.program;
  if (program->arranged.empty()) { return Vm::Get()->Issue(call); }
  InlineArray<const Arrangement*, kInlineStorages> wanted(call->num_reads + call->num_writes);
  const Arrangement* const* from = program->arranged.data();
  const size_t num_reads = program->reads.size();
  // The captured ones are the last of the reads, and the last of the writes but the plan's memory.
  std::copy(from, from + num_reads,
            wanted.data() + (static_cast<size_t>(call->num_reads) - num_reads));
  std::copy(from + num_reads, from + program->arranged.size(),
            wanted.data() + (static_cast<size_t>(wanted.size()) - 1 - program->updates.size()));
  ArrangedOperands arranged{wanted.data()};
  call->arranged = &arranged;
  JUST(Vm::Get()->Issue(call));
  *refused = arranged.refused;
  if (arranged.refused) { return Ok(); }
  const int64_t runs = program->runs.fetch_add(1, std::memory_order_relaxed) + 1;
  if (arranged.converted == 0) { return Ok(); }
  const int64_t converted = program->converted_runs.fetch_add(1, std::memory_order_relaxed) + 1;
  if (converted >= kLeastConvertedRuns && 2 * converted > runs) { GiveUpArrangements(program); }
  return Ok();
}

void CompiledGraph::Close(lifetime::Deadline deadline) {
  const auto end = std::chrono::steady_clock::now() + deadline.Remaining();
  Program* second = nullptr;
  {
    MutexLock lock(&mutex_);
    second = second_.get();
  }
  for (Program* program : {first_.get(), second}) {
    if (program != nullptr && Vm::Get()->AwaitUses(*program->uses.get(), end)) {
      program->actors->Stop();
    }
  }
}

std::string CompiledGraph::Unfinished() const {
  return Format("a run of graph '{}', after {} that were issued", name_, runs());
}

}  // namespace graph
}  // namespace oneflow
