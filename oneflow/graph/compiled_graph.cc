#include "oneflow/graph/compiled_graph.h"

#include <algorithm>
#include <cstring>

#include "oneflow/common/inline_array.h"
#include "oneflow/common/trace.h"
#include "oneflow/vm/take_memory.h"

namespace oneflow {
namespace graph {

namespace {

// What a run is given, as the attributes of its instruction: this, the addresses of bound buffers, then
// a slot for each generator.
struct RunRecord {
  CompiledGraph* graph;
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

}  // namespace

struct GraphKernel {
  static Maybe<void> Run(const KernelCall& call) {
    auto* record = static_cast<RunRecord*>(const_cast<void*>(call.attrs));
    const Plan::Given given{record->bases(), record->draws()};
    record->graph->given_ = &given;
    return record->graph->actors_->Run();
  }
  static double Cost(const KernelCall& call) {
    return static_cast<const RunRecord*>(call.attrs)->graph->plan_->cost_ns();
  }
};

namespace {
const Kernel kGraphKernel = {"graph.run", &GraphKernel::Run, nullptr, &GraphKernel::Cost, nullptr};
}  // namespace

Maybe<std::unique_ptr<CompiledGraph>> CompiledGraph::Compile(LogicalGraph traced,
                                                             const Options& options) {
  std::unique_ptr<CompiledGraph> graph(new CompiledGraph(traced.name()));
  graph->traced_text_ = traced.ToString();
  LogicalGraph result =
      JUST(RunPasses(std::move(traced), DefaultPasses(), &graph->passes_, options.disable));
  graph->plan_ = JUST(Plan::Make(std::move(result)));
  JUST(graph->Prepare());
  return graph;
}

Maybe<void> CompiledGraph::Prepare() {
  const LogicalGraph& graph = plan_->graph();
  Device device;
  for (const Buffer& buffer : graph.buffers()) { device = buffer.device; }
  stream_ = JUST(Vm::Get()->StreamFor(device));
  const auto bytes = static_cast<size_t>(std::max<int64_t>(plan_->memory_bytes(), kPlanAlignment));
  Allocator* pool = JUST(GetAllocator(device));
  const MemoryRequest request{"graph", bytes, device};
  MemoryBlock* block = JUST(TakeMemory(pool, request, stream_->index()));
  memory_ = Storage::Own(pool, block, request, stream_->index());
  plan_->SetMemory(memory_->data());
  FindUses();
  std::vector<ActorSpec> chains(1);  // one stream: all its kernels are one actor
  chains[0].name = "compute";
  chains[0].act = [this](int64_t) {
    TraceScope trace("actor", name_.c_str());
    return plan_->Run(*given_);
  };
  actors_ = std::make_unique<ActorSystem>(name_, std::move(chains), std::vector<RegisterSpec>());
  const std::vector<BufferId>& made = plan_->made_outputs();
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
  return Ok();
}

void CompiledGraph::FindUses() {
  const LogicalGraph& graph = plan_->graph();
  std::vector<bool> read(graph.buffers().size(), false);
  std::vector<bool> written(graph.buffers().size(), false);
  for (const Node& node : graph.nodes()) {
    if (!node.Computes()) { continue; }
    for (ValueId id : node.inputs) {
      if (id != kNoValue) { read[static_cast<size_t>(graph.BufferOf(id))] = true; }
    }
    for (ValueId id : node.outputs) { written[static_cast<size_t>(graph.BufferOf(id))] = true; }
  }
  for (ValueId id : graph.inputs()) {
    arguments_.push_back(graph.value(id).meta);
    updates_argument_.push_back(written[static_cast<size_t>(graph.BufferOf(id))]);
  }
  for (size_t i = 0; i < graph.buffers().size(); ++i) {
    const Buffer& buffer = graph.buffers()[i];
    if (!buffer.storage) { continue; }
    if (read[i]) { reads_.push_back(buffer.storage.get()); }
    if (written[i]) { updates_.push_back(buffer.storage.get()); }
  }
  std::sort(updates_.begin(), updates_.end());
}

bool CompiledGraph::Updates(const Storage* storage) const {
  return std::binary_search(updates_.begin(), updates_.end(), storage);
}

Maybe<void> CompiledGraph::TakeOutputs(StorageRef* made) {
  Allocator* pool = JUST(GetAllocator(stream_->device()));
  for (BufferId buffer : plan_->made_outputs()) {
    const auto bytes = static_cast<size_t>(plan_->graph().buffer(buffer).bytes);
    const MemoryRequest request{"graph", bytes, stream_->device()};
    MemoryBlock* block = JUST(TakeMemory(pool, request, stream_->index()));
    *made++ = Storage::Own(pool, block, request, stream_->index());
  }
  return Ok();
}

Maybe<void> CompiledGraph::Run(const Argument* arguments, StorageRef* made) {
  const LogicalGraph& graph = plan_->graph();
  JUST(TakeOutputs(made));
  const Argument* const end_of_arguments = arguments + arguments_.size();
  const StorageRef* const end_of_made = made + num_made();
  const size_t num_bases = arguments_.size() + static_cast<size_t>(num_made());
  const size_t bytes = RunRecord::Bytes(num_bases, graph.draws().size());
  InlineArray<uint64_t, kInlineWords> words(static_cast<int>((bytes + 7) / 8));
  auto* record = reinterpret_cast<RunRecord*>(words.data());
  record->graph = this;
  record->num_bases = static_cast<int64_t>(num_bases);
  size_t next = 0;
  for (const Argument* a = arguments; a != end_of_arguments; ++a) {
    record->bases()[next++] = a->data;
  }
  for (const StorageRef* m = made; m != end_of_made; ++m) {
    record->bases()[next++] = (*m)->data();
  }
  next = 0;
  for (const LogicalGraph::Draws& draws : graph.draws()) {
    record->draws()[next++] = draws.generator->Reserve(draws.blocks);
  }

  const size_t most = arguments_.size() + num_bases + reads_.size() + updates_.size() + 1;
  InlineArray<Storage*, kInlineStorages> storages(static_cast<int>(most));
  int n = 0;
  for (const Argument* a = arguments; a != end_of_arguments; ++a) {
    storages[n++] = a->storage.get();
  }
  for (Storage* storage : reads_) { storages[n++] = storage; }
  OpCall call;
  call.num_reads = n;
  for (const StorageRef* m = made; m != end_of_made; ++m) { storages[n++] = m->get(); }
  const int first_update = n;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (updates_argument_[i]) { storages[n++] = arguments[i].storage.get(); }
  }
  for (Storage* storage : updates_) { storages[n++] = storage; }
  const int end_of_versions = n;
  storages[n++] = memory_.get();
  call.op = "graph";
  call.kernel = &kGraphKernel;
  call.call.attrs = record;
  call.attrs_size = bytes;
  call.reads = storages.data();
  call.writes = storages.data() + call.num_reads;
  call.num_writes = n - call.num_reads;
  call.num_updates = n - first_update;
  call.stream = stream_;
  call.inline_limit_ns = plan_->serial() ? kInlineLimitNs : 0;
  JUST(Vm::Get()->Issue(&call));
  for (int i = first_update; i < end_of_versions; ++i) { storages[i]->BumpVersion(); }
  runs_.fetch_add(1, std::memory_order_relaxed);
  return Ok();
}

void CompiledGraph::Close(lifetime::Deadline deadline) {
  const auto end = std::chrono::steady_clock::now() + deadline.Remaining();
  if (Vm::Get()->AwaitUses(*memory_.get(), end)) { actors_->Stop(); }
}

std::string CompiledGraph::Unfinished() const {
  return Format("a run of graph '{}', after {} that were issued", name_, runs());
}

}  // namespace graph
}  // namespace oneflow
