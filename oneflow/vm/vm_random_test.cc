// Random programs over several streams, against a plain interpreter that runs them in order: values
// bit for bit, and which error each read gives. Fake kernels of random length shake the order.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "oneflow/common/env_var.h"
#include "oneflow/vm/vm_testlib.h"

namespace oneflow {
namespace {

constexpr int64_t kLength = 24;

struct MixAttrs {
  uint32_t scale;
  uint32_t shift;
  uint32_t spin;  // how long the kernel takes
  uint32_t fail;  // not 0: the number of the error
};

uint32_t Mix(const MixAttrs& attrs, uint32_t a, uint32_t b) {
  return (a * attrs.scale + b + attrs.shift) * 2654435761u;
}

Maybe<void> RunMix(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<MixAttrs>();
  for (volatile uint32_t i = 0; i < attrs.spin; i = i + 1) {}
  if (attrs.fail != 0) { return RuntimeError("failure {}", attrs.fail); }
  auto* out = call.outputs[0].Data<uint32_t>();
  for (int64_t i = 0; i < call.outputs[0].Count(); ++i) {
    const uint32_t a = call.num_inputs > 0 ? call.inputs[0].Data<uint32_t>()[i] : 0;
    const uint32_t b = call.num_inputs > 1 ? call.inputs[1].Data<uint32_t>()[i] : 0;
    out[i] = Mix(attrs, a, b);
  }
  return Ok();
}
double CostOfMix(const KernelCall& call) { return call.GetAttrs<MixAttrs>().spin > 50 ? 20e3 : 50; }
const Kernel kMix{"mix.test", &RunMix, nullptr, &CostOfMix, nullptr};

// A storage, what it must hold, and the error that reading it must give (0: none).
struct Cell {
  StorageRef storage;
  std::vector<uint32_t> host;  // the memory itself, where it is imported
  std::vector<uint32_t> expected = std::vector<uint32_t>(kLength, 0);
  uint32_t poison = 0;

  bool imported() const { return !host.empty(); }
};

// A part of a cell: [offset, kLength).
struct Part {
  Cell* cell;
  int64_t offset;
};

class RandomProgram {
 public:
  RandomProgram(uint32_t seed, const std::vector<Stream*>& streams, bool lose_order)
      : random_(seed), streams_(streams), lose_order_(lose_order) {
    for (int i = 0; i < 8; ++i) { cells_.push_back(NewCell()); }
    cells_[0] = NewImported();
  }

  // False at the first difference; problem() says which.
  bool Run(int steps) {
    for (int step = 0; step < steps && problem_.empty(); ++step) {
      switch (Draw(12)) {
        case 0: ReplaceCell(); break;
        case 1: CheckRead(Pick()); break;
        case 2: PokeImported(); break;
        default: IssueOne(); break;
      }
    }
    for (auto& cell : cells_) { CheckRead(cell.get()); }
    return problem_.empty();
  }
  const std::string& problem() const { return problem_; }

 private:
  uint32_t Draw(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  Cell* Pick() { return cells_[Draw(static_cast<uint32_t>(cells_.size()))].get(); }
  Stream* PickStream() { return streams_[Draw(static_cast<uint32_t>(streams_.size()))]; }

  // Fresh memory holds whatever it did; the model learns nothing of it before a full overwrite.
  std::unique_ptr<Cell> NewCell() {
    auto cell = std::make_unique<Cell>();
    Stream* home = PickStream();
    cell->storage = CHECK_JUST(Storage::Allocate(Device(), kLength * 4, home->index()));
    Apply({cell.get(), 0}, {}, RandomAttrs(false), OnFailure::kPoison, PickStream());
    return cell;
  }

  std::unique_ptr<Cell> NewImported() {
    auto cell = std::make_unique<Cell>();
    cell->host.assign(kLength, 0);
    cell->storage =
        Storage::Import(Device(), cell->host.data(), kLength * 4, nullptr, [](void*) {});
    return cell;
  }

  // The last handle goes while instructions that use the memory may be queued.
  void ReplaceCell() { cells_[1 + Draw(static_cast<uint32_t>(cells_.size()) - 1)] = NewCell(); }

  MixAttrs RandomAttrs(bool may_fail) {
    MixAttrs attrs;
    attrs.scale = Draw(1000) * 2 + 1;
    attrs.shift = Draw(1u << 30);
    attrs.spin = Draw(3) == 0 ? Draw(20000) : Draw(50);
    attrs.fail = may_fail && Draw(25) == 0 ? ++failures_ : 0;
    return attrs;
  }

  void IssueOne() {
    Part out = {Pick(), Draw(3) == 0 ? 1 + static_cast<int64_t>(Draw(kLength - 1)) : 0};
    std::vector<Part> inputs;
    const uint32_t kind = Draw(4);  // 0: a fill; else in place or not
    if (kind == 1) { inputs.push_back(out); }
    if (kind != 0) { inputs.push_back({Pick(), out.offset}); }
    const bool poisons = out.offset == 0 && kind != 1 && Draw(2) == 0;
    OnFailure what = Draw(2) == 0 ? OnFailure::kKeepTarget : OnFailure::kSkip;
    if (poisons) { what = OnFailure::kPoison; }
    Apply(out, inputs, RandomAttrs(true), what, PickStream());
  }

  // Issues, and does the same to the model.
  void Apply(Part out, const std::vector<Part>& inputs, const MixAttrs& attrs, OnFailure what,
             Stream* stream) {
    uint32_t expected_error = 0;
    for (const Part& input : inputs) {
      if (expected_error == 0) { expected_error = input.cell->poison; }
    }
    const bool skipped = expected_error != 0;
    if (!skipped) { expected_error = attrs.fail; }
    const Maybe<void> issued = Issue(out, inputs, attrs, what, stream);
    if (lose_order_ && Draw(4) == 0) { out.cell->storage->RecordWrite(StreamPoint()); }
    if (!issued.ok()) {
      if (issued.error()->message() != Format("failure {}", expected_error)) {
        Report("an op gave: " + issued.error()->message(), *out.cell);
      }
      // Raised at its line. Inline, the target is as it was; queued, it may be poisoned.
      if (out.cell->storage->poisoned() && what == OnFailure::kPoison) {
        Spoil(out, expected_error);
      }
      return;
    }
    if (expected_error != 0) {
      if (what == OnFailure::kPoison) { Spoil(out, expected_error); }
      return;
    }
    Compute(out, inputs, attrs);
    if (out.offset == 0) { out.cell->poison = 0; }
    if (out.cell->imported() || (!inputs.empty() && inputs[0].cell->imported())) {
      CheckHost(*cells_[0]);
    }
  }

  void Spoil(Part out, uint32_t error) {
    if (out.cell->poison == 0) { out.cell->poison = error; }
  }

  void Compute(Part out, const std::vector<Part>& inputs, const MixAttrs& attrs) {
    std::vector<uint32_t> result;
    for (int64_t i = out.offset; i < kLength; ++i) {
      const auto at = static_cast<size_t>(i);
      const uint32_t a = inputs.size() > 0 ? inputs[0].cell->expected[at] : 0;
      const uint32_t b = inputs.size() > 1 ? inputs[1].cell->expected[at] : 0;
      result.push_back(Mix(attrs, a, b));
    }
    std::copy(result.begin(), result.end(), out.cell->expected.begin() + out.offset);
  }

  Maybe<void> Issue(Part out, const std::vector<Part>& inputs, const MixAttrs& attrs,
                    OnFailure what, Stream* stream) {
    const int64_t count = kLength - out.offset;
    const int64_t stride = 1;
    ArrayView views[3];
    Storage* storages[3];
    int n = 0;
    for (const Part& part : inputs) { storages[n++] = part.cell->storage.get(); }
    storages[n] = out.cell->storage.get();
    for (int i = 0; i <= n; ++i) {
      char* data = static_cast<char*>(storages[i]->data()) + out.offset * 4;
      views[i] = {data, &count, &stride, 1, DataType::kInt32, true, true};
    }
    OpCall call;
    call.op = "mix";
    call.kernel = &kMix;
    call.call.inputs = views;
    call.call.num_inputs = n;
    call.call.outputs = views + n;
    call.call.num_outputs = 1;
    call.call.attrs = &attrs;
    call.attrs_size = sizeof(attrs);
    call.reads = storages;
    call.num_reads = n;
    call.writes = storages + n;
    call.num_writes = 1;
    call.on_failure = what;
    call.overwrites = out.offset == 0;
    call.stream = stream;
    return Vm::Get()->Issue(&call);
  }

  void CheckRead(Cell* cell) {
    const Maybe<void> read = Vm::Get()->SyncRead(cell->storage.get());
    const std::string got = read.ok() ? "" : read.error()->message();
    const std::string wanted = cell->poison == 0 ? "" : Format("failure {}", cell->poison);
    if (got != wanted) { Report("a read gave '" + got + "', not '" + wanted + "'", *cell); }
    if (read.ok()) { CheckHost(*cell); }
  }

  void CheckHost(const Cell& cell) {
    if (cell.poison == 0 &&
        std::memcmp(cell.storage->data(), cell.expected.data(), kLength * 4) != 0) {
      Report("wrong values", cell);
    }
  }

  // The host writes memory that it sees, as numpy would: no op may still be reading it.
  void PokeImported() {
    const size_t at = Draw(kLength);
    cells_[0]->host[at] = cells_[0]->expected[at] = Draw(1u << 30);
  }

  void Report(const std::string& what, const Cell& cell) {
    if (problem_.empty()) { problem_ = Format("{} (imported: {})", what, cell.imported()); }
  }

  std::mt19937 random_;
  const std::vector<Stream*> streams_;
  const bool lose_order_;
  std::vector<std::unique_ptr<Cell>> cells_;
  uint32_t failures_ = 0;
  std::string problem_;
};

class VmRandomTest : public VmTest {
 protected:
  void SetUp() override {
    VmTest::SetUp();
    static const std::vector<Stream*> streams = {stream_,
                                                 CHECK_JUST(vm_->NewStream(Device(), "random a")),
                                                 CHECK_JUST(vm_->NewStream(Device(), "random b"))};
    streams_ = streams;
  }
  // How many of the programs differ; says the first one's seed.
  int Failing(uint32_t first, int programs, bool lose_order) {
    int failing = 0;
    for (int i = 0; i < programs; ++i) {
      for (const Vm::Mode mode :
           {Vm::Mode::kAuto, Vm::Mode::kInline, Vm::Mode::kQueued, Vm::Mode::kRandom}) {
        vm_->SetMode(mode);
        const uint32_t seed = first + static_cast<uint32_t>(i);
        RandomProgram program(seed, streams_, lose_order);
        if (program.Run(400)) { continue; }
        if (++failing == 1 && !lose_order) {
          ADD_FAILURE() << "seed " << seed << ", mode " << static_cast<int>(mode) << ": "
                        << program.problem();
        }
      }
    }
    (void)vm_->Sync();
    return failing;
  }

  std::vector<Stream*> streams_;
};

// ONEFLOW_TEST_PROGRAMS: how many; ONEFLOW_TEST_SEED: the first.
TEST_F(VmRandomTest, ProgramsOverStreamsGiveWhatTheirOrderSays) {
  const bool slow = !EnvString("ONEFLOW_SANITIZER", "").empty();
  const int64_t programs = EnvInt64("ONEFLOW_TEST_PROGRAMS", slow ? 8 : 60);
  const int64_t seed = EnvInt64("ONEFLOW_TEST_SEED", 1);
  EXPECT_EQ(Failing(static_cast<uint32_t>(seed), static_cast<int>(programs), false), 0);
}

// The control: an engine that now and then forgets who wrote last. It plants a race, so that the
// thread sanitizer would end the process.
#if !defined(__SANITIZE_THREAD__)
TEST_F(VmRandomTest, ALostOrderIsNoticed) { EXPECT_GT(Failing(1, 10, true), 0); }
#endif

}  // namespace
}  // namespace oneflow
