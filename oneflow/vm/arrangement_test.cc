// Storages that lie in another order between ops that know of it: who does not know never notices.
#include "oneflow/vm/arrangement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "oneflow/common/planted_faults_testlib.h"
#include "oneflow/vm/vm_testlib.h"

namespace oneflow {
namespace {

constexpr int64_t kLength = 24;

// Called once, by the next kernel that arranges: what another thread does meanwhile.
std::function<void()> while_arranging;

// Element i lies at place i + 1, the last one at 0: twice is not plain again.
Maybe<void> RunRotate(const KernelCall& call) {
  if (while_arranging) { std::exchange(while_arranging, nullptr)(); }
  auto* data = call.outputs[0].Data<uint32_t>();
  std::rotate(data, data + call.outputs[0].Count() - 1, data + call.outputs[0].Count());
  return Ok();
}
Maybe<void> RunRotateBack(const KernelCall& call) {
  auto* data = call.outputs[0].Data<uint32_t>();
  std::rotate(data, data + 1, data + call.outputs[0].Count());
  return Ok();
}
const Kernel kRotate{"rotate.test", &RunRotate, nullptr, &CostTiny, nullptr};
const Kernel kRotateBack{"rotate_back.test", &RunRotateBack, nullptr, &CostTiny, nullptr};
const ArrangementKind kRotated{"rotated", &kRotate, &kRotateBack};
const ArrangementKind kRotatedToo{"rotated_too", &kRotate, &kRotateBack};

const Arrangement* Rotated() { return Arrangement::Of(kRotated, Shape{kLength}, DataType::kInt32); }

// x[i] = x[i] * scale + y[i] + i, x in place, where `rotated` says that they lie so.
struct StepAttrs {
  uint32_t scale;
  bool rotated;
  uint32_t spin;
  bool fail;
};
int64_t PlaceOf(int64_t i, bool rotated) { return rotated ? (i + 1) % kLength : i; }
Maybe<void> RunStep(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<StepAttrs>();
  while (!gate_open.load()) { std::this_thread::yield(); }
  for (volatile uint32_t i = 0; i < attrs.spin; i = i + 1) {}
  if (attrs.fail) { return RuntimeError("[step] on purpose"); }
  auto* x = call.outputs[0].Data<uint32_t>();
  const auto* y = call.inputs[0].Data<uint32_t>();
  for (int64_t i = 0; i < kLength; ++i) {
    const int64_t at = PlaceOf(i, attrs.rotated);
    x[at] = x[at] * attrs.scale + y[at] + static_cast<uint32_t>(i);
  }
  return Ok();
}
double CostOfStep(const KernelCall& call) {
  return call.GetAttrs<StepAttrs>().spin > 100 ? 20e3 : 100;
}
const Kernel kStep{"step.test", &RunStep, nullptr, &CostOfStep, nullptr};

struct Cell {
  StorageRef storage;
  std::vector<uint32_t> expected = std::vector<uint32_t>(kLength, 0);

  const uint32_t* data() const { return static_cast<const uint32_t*>(storage->data()); }
  std::vector<uint32_t> Values() const { return {data(), data() + kLength}; }
};

class ArrangementTest : public VmTest {
 protected:
  Cell NewCell() {
    Cell cell;
    cell.storage = CHECK_JUST(Storage::Allocate(Device(), kLength * 4, stream_->index()));
    CHECK_JUST(vm_->SyncWrite(cell.storage.get()));
    std::fill_n(static_cast<uint32_t*>(cell.storage->data()), kLength, 0);
    return cell;
  }

  // x = x * scale + y + i; arranged operands if `rotated`. True: it was issued.
  bool Step(Cell* x, Cell* y, StepAttrs attrs, Stream* stream = nullptr) {
    const int64_t n = kLength;
    const int64_t stride = 1;
    const ArrayView in{y->storage->data(), &n, &stride, 1, DataType::kInt32, true, true};
    const ArrayView out{x->storage->data(), &n, &stride, 1, DataType::kInt32, true, true};
    Storage* storages[] = {y->storage.get(), x->storage.get(), x->storage.get()};
    const Arrangement* wanted[] = {Rotated(), Rotated(), Rotated()};
    ArrangedOperands arranged{wanted};
    OpCall call;
    call.op = "step";
    call.kernel = &kStep;
    call.call.inputs = &in;
    call.call.num_inputs = 1;
    call.call.outputs = &out;
    call.call.num_outputs = 1;
    call.call.attrs = &attrs;
    call.attrs_size = sizeof(attrs);
    call.reads = storages;
    call.num_reads = 2;
    call.writes = storages + 2;
    call.num_writes = 1;
    call.overwrites = false;
    call.on_failure = OnFailure::kSkip;
    call.stream = stream == nullptr ? stream_ : stream;
    if (attrs.rotated) { call.arranged = &arranged; }
    (void)vm_->Issue(&call);
    converted_ = arranged.converted;
    if (arranged.refused) { return false; }
    if (attrs.fail) { return true; }
    const std::vector<uint32_t> other = y->expected;
    for (size_t i = 0; i < kLength; ++i) {
      x->expected[i] = x->expected[i] * attrs.scale + other[i] + static_cast<uint32_t>(i);
    }
    return true;
  }
  void ExpectRead(const Cell& cell) {
    CHECK_JUST(vm_->SyncRead(cell.storage.get()));
    EXPECT_EQ(cell.Values(), cell.expected);
  }

  int converted_ = 0;
};

constexpr Vm::Mode kModes[] = {Vm::Mode::kAuto, Vm::Mode::kInline, Vm::Mode::kQueued,
                               Vm::Mode::kRandom};

TEST_F(ArrangementTest, WhoKnowsNothingMeetsThePlainOrder) {
  for (const Vm::Mode mode : kModes) {
    vm_->SetMode(mode);
    Cell x = NewCell();
    Cell y = NewCell();
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(Step(&x, &y, {3, true, 0, false}));
      EXPECT_EQ(converted_, 2);  // an op brought both back
      ASSERT_TRUE(Step(&y, &x, {5, true, 0, false}));
      EXPECT_EQ(converted_, 0);  // they stay as they are
      ASSERT_TRUE(Step(&x, &y, {7, false, 0, false}));
      ExpectRead(x);
      ExpectRead(y);
    }
  }
}

TEST_F(ArrangementTest, TheHostReadsThePlainOrder) {
  for (const Vm::Mode mode : kModes) {
    vm_->SetMode(mode);
    Cell x = NewCell();
    Cell y = NewCell();
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(Step(&x, &y, {3, true, i == 1 ? 100000u : 0u, false}));
      EXPECT_EQ(converted_, i == 0 ? 2 : 1);
      ExpectRead(x);
    }
    CHECK_JUST(vm_->SyncWrite(y.storage.get()));
    EXPECT_EQ(y.Values(), y.expected);
  }
}

TEST_F(ArrangementTest, AnotherOrderGoesByWayOfThePlainOne) {
  Cell x = NewCell();
  Cell y = NewCell();
  ASSERT_TRUE(Step(&x, &y, {3, true, 0, false}));
  const Arrangement* other = Arrangement::Of(kRotatedToo, Shape{kLength}, DataType::kInt32);
  EXPECT_NE(other, Rotated());
  EXPECT_EQ(other, Arrangement::Of(kRotatedToo, Shape{kLength}, DataType::kInt32));
  const Arrangement* wanted[] = {other};
  ArrangedOperands arranged{wanted};
  Storage* const storages[] = {x.storage.get()};
  StepAttrs attrs{1, true, 0, true};
  OpCall call;
  call.op = "step";
  call.kernel = &kStep;
  call.call.attrs = &attrs;
  call.attrs_size = sizeof(attrs);
  call.writes = storages;
  call.num_writes = call.num_updates = 1;
  call.on_failure = OnFailure::kSkip;
  call.stream = stream_;
  call.arranged = &arranged;
  (void)vm_->Issue(&call);
  EXPECT_EQ(arranged.converted, 1);
  EXPECT_FALSE(arranged.refused);
  ExpectRead(x);
}

TEST_F(ArrangementTest, WhatTheHostSeesStaysPlain) {
  Cell x = NewCell();
  Cell y = NewCell();
  ASSERT_TRUE(Step(&x, &y, {3, true, 0, false}));
  x.storage->MarkHostVisible();
  CHECK_JUST(vm_->SyncWrite(x.storage.get()));
  EXPECT_EQ(x.Values(), x.expected);
  EXPECT_FALSE(Step(&x, &y, {3, true, 0, false}));
  EXPECT_EQ(x.Values(), x.expected);
  ASSERT_TRUE(Step(&x, &y, {3, false, 0, false}));
  EXPECT_EQ(x.Values(), x.expected);
  ExpectRead(y);

  std::vector<uint32_t> memory(kLength, 0);
  Cell imported;
  imported.storage = Storage::Adopt(Device(), memory.data(), kLength * 4, nullptr, [](void*) {});
  EXPECT_FALSE(Step(&y, &imported, {3, true, 0, false}));
  ExpectRead(y);
}

TEST_F(ArrangementTest, AFailureLeavesTheValueInItsOrder) {
  for (const Vm::Mode mode : kModes) {
    vm_->SetMode(mode);
    Cell x = NewCell();
    Cell y = NewCell();
    ASSERT_TRUE(Step(&x, &y, {3, true, 0, false}));
    ASSERT_TRUE(Step(&x, &y, {3, true, 0, true}));
    ExpectRead(x);
    (void)vm_->Sync();
  }
}

TEST_F(ArrangementTest, PoisonGoesWithTheNextFullOverwrite) {
  for (const Vm::Mode mode : kModes) {
    vm_->SetMode(mode);
    Cell x = NewCell();
    Cell y = NewCell();
    ASSERT_TRUE(Step(&x, &y, {3, true, 0, false}));
    x.storage->Poison(RuntimeError("on purpose"));
    ASSERT_TRUE(Step(&y, &x, {3, true, 0, true}));  // skipped
    ASSERT_FALSE(vm_->SyncRead(x.storage.get()).ok());
    const Vec plain{x.storage, kLength};
    CHECK_JUST(Issue(kFill, {}, plain, {0, 2.0f}));
    CHECK_JUST(vm_->SyncRead(x.storage.get()));
    for (int64_t i = 0; i < kLength; ++i) { EXPECT_EQ(plain.data()[i], 2.0f); }
    (void)vm_->Sync();
  }
}

TEST_F(ArrangementTest, AfterTheStreamsStopped) {
  Cell x = NewCell();
  Cell y = NewCell();
  ASSERT_TRUE(Step(&x, &y, {3, true, 0, false}));
  ASSERT_TRUE(vm_->Stop(std::chrono::steady_clock::time_point::max()));
  ASSERT_TRUE(Step(&x, &y, {3, true, 0, false}));
  ExpectRead(x);
  vm_->Start();
}

// An operand is seen by the host while the one before it is brought into order.
TEST_F(ArrangementTest, WhatBecameVisibleMeanwhileIsNotMoved) {
  vm_->SetMode(Vm::Mode::kInline);
  Cell x = NewCell();
  Cell y = NewCell();
  ASSERT_TRUE(Step(&x, &y, {3, false, 0, false}));
  ASSERT_TRUE(Step(&y, &x, {3, false, 0, false}));
  while_arranging = [&] {  // y is arranged first, as it is read
    x.storage->MarkHostVisible();
    EXPECT_EQ(x.Values(), x.expected);
  };
  EXPECT_FALSE(Step(&x, &y, {3, true, 0, false}));
  EXPECT_FALSE(while_arranging);
  EXPECT_EQ(x.Values(), x.expected);
  ASSERT_TRUE(Step(&x, &y, {3, false, 0, false}));
  EXPECT_EQ(x.Values(), x.expected);
  ExpectRead(y);
}

// A reader waits for a write; meanwhile the memory is to be arranged, and to be brought back, behind it.
TEST_F(ArrangementTest, AReaderWaitsForWhatWasQueuedMeanwhile) {
  vm_->SetMode(Vm::Mode::kQueued);
  for (const bool writes : {false, true}) {
    Cell x = NewCell();
    Cell y = NewCell();
    gate_open = false;
    ASSERT_TRUE(Step(&y, &x, {3, false, 0, false}));
    std::vector<uint32_t> seen;
    std::thread reader([&] {
      CHECK_JUST(writes ? vm_->SyncWrite(y.storage.get()) : vm_->SyncRead(y.storage.get()));
      seen = y.Values();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ASSERT_TRUE(Step(&x, &y, {1, true, 100'000'000, false}));
    ASSERT_TRUE(Step(&x, &y, {1, false, 0, false}));
    gate_open = true;
    reader.join();
    EXPECT_EQ(seen, y.expected);
    ExpectRead(x);
  }
}

// One thread arranges again and again what another reads.
TEST_F(ArrangementTest, AReaderBesideAThreadThatArranges) {
  Cell x = NewCell();
  Cell y = NewCell();
  std::atomic<bool> done{false};
  int refused = 0;
  std::thread steps([&] {
    while (!done.load()) {
      if (!Step(&x, &y, {1, true, 2000, false})) {
        ++refused;
        Step(&x, &y, {1, false, 2000, false});
      }
    }
  });
  for (int i = 0; i < 200; ++i) { CHECK_JUST(vm_->SyncRead(y.storage.get())); }
  done = true;
  steps.join();
  ExpectRead(x);
  ExpectRead(y);
}

// ---- random programs ----------------------------------------------------------------------------

class Program {
 public:
  using StepFn = std::function<bool(Cell*, Cell*, StepAttrs)>;
  Program(uint32_t seed, std::function<Cell()> make, StepFn step)
      : random_(seed), make_(std::move(make)), step_(std::move(step)) {
    for (int i = 0; i < 5; ++i) { cells_.push_back(make_()); }
  }

  // False at the first difference.
  bool Run(int steps) {
    for (int i = 0; i < steps; ++i) {
      Cell* x = Pick();
      Cell* y = Pick();
      const uint32_t spin = Draw(4) == 0 ? Draw(20000) : Draw(50);
      const StepAttrs attrs{2 * Draw(50) + 1, Draw(2) == 0, spin, Draw(20) == 0};
      switch (Draw(14)) {
        case 0: *x = make_(); break;
        case 1: x->storage->MarkHostVisible(); [[fallthrough]];
        case 2:
          if (!Reads(*x)) { return false; }
          break;
        case 3:
          if (!Write(x)) { return false; }
          break;
        default:
          if (x == y) { break; }
          if (!step_(x, y, attrs)) { step_(x, y, {attrs.scale, false, spin, attrs.fail}); }
      }
    }
    return std::all_of(cells_.begin(), cells_.end(), [&](const Cell& x) { return Reads(x); });
  }

 private:
  uint32_t Draw(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  Cell* Pick() { return &cells_[Draw(static_cast<uint32_t>(cells_.size()))]; }
  bool Reads(const Cell& cell) {
    CHECK_JUST(Vm::Get()->SyncRead(cell.storage.get()));
    return cell.Values() == cell.expected;
  }
  // By the host, as the memory is.
  bool Write(Cell* cell) {
    cell->storage->MarkHostVisible();
    CHECK_JUST(Vm::Get()->SyncWrite(cell->storage.get()));
    if (cell->Values() != cell->expected) { return false; }
    const uint32_t at = Draw(kLength);
    cell->expected[at] = static_cast<uint32_t*>(cell->storage->data())[at] = Draw(1000);
    return true;
  }

  std::mt19937_64 random_;
  const std::function<Cell()> make_;
  const StepFn step_;
  std::vector<Cell> cells_;
};

class ArrangementRandomTest : public ArrangementTest {
 protected:
  int Differences(int programs) {
    int found = 0;
    for (int seed = 0; seed < programs; ++seed) {
      vm_->SetMode(kModes[seed % 4]);
      Program program(
          static_cast<uint32_t>(seed), [this] { return NewCell(); },
          [this](Cell* x, Cell* y, StepAttrs attrs) { return Step(x, y, attrs); });
      found += program.Run(120) ? 0 : 1;
      (void)vm_->Sync();
    }
    return found;
  }
};

TEST_F(ArrangementRandomTest, ProgramsComputeWhatTheyWouldWithoutArrangements) {
  EXPECT_EQ(Differences(200), 0);
}

TEST_F(ArrangementRandomTest, ARestoreThatIsLeftOutIsNoticed) {
  const ScopedFault planted(Fault::kArrangedTakenForPlain);
  EXPECT_GT(Differences(20), 15);
}

}  // namespace
}  // namespace oneflow
