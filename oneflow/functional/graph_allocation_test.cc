// A run of a graph takes no memory beyond what its outputs are: counted by interposition of malloc, mmap,
// brk and their like. The few calls that oneDNN makes for itself are counted apart.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include "oneflow/autograd/engine.h"
#include "oneflow/autograd/grad_mode.h"
#include "oneflow/boot/boot.h"
#include "oneflow/common/memory_calls_testlib.h"
#include "oneflow/device/allocator.h"
#include "oneflow/functional/generated/functional.h"
#include "oneflow/functional/graph_trace.h"
#include "oneflow/functional/traced_graph.h"
#include "oneflow/vm/vm.h"

namespace oneflow {
namespace {

namespace f = functional;

class GraphAllocationTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { CHECK_JUST(StartRuntime()); }
  static TensorPtr Leaf(const Dims& shape) {
    TensorPtr t = CHECK_JUST(f::randn(shape, DataType::kFloat));
    t->MutableAutograd()->requires_grad = true;
    return t;
  }
  static TensorPtr Train(const TensorPtr& x, const TensorTuple& weights) {
    TensorPtr y = x;
    for (const TensorPtr& w : weights) {
      y = CHECK_JUST(f::dropout(CHECK_JUST(f::tanh(CHECK_JUST(f::linear(y, w)))), 0.1));
    }
    const TensorPtr loss = CHECK_JUST(f::sum(CHECK_JUST(f::square(y))));
    CHECK_JUST(Backward({loss}, {nullptr}, BackwardOptions()));
    const ScopedGradMode no_grad(false);
    TensorTuple grads;
    for (const TensorPtr& w : weights) { grads.push_back(w->autograd()->grad); }
    CHECK_JUST(f::multi_tensor_sgd_update_(weights, grads, 0.01));
    return loss;
  }
  // A training step over weights of this size, run a few times: oneDNN has made its primitives then.
  struct Step {
    TensorPtr like;
    std::unique_ptr<TracedGraph> graph;

    explicit Step(int64_t size) {
      const TensorTuple weights = {Leaf({size, size}), Leaf({size, size})};
      like = CHECK_JUST(f::randn({128, size}, DataType::kFloat));
      CHECK_JUST(GraphTrace::Begin("G"));
      const TensorPtr x = CHECK_JUST(GraphTrace::Current()->AddInput(like->meta(), "x", false));
      graph = CHECK_JUST(TracedGraph::FromTrace({Train(x, weights)}, {}));
      CallsOf(3);
    }
    ~Step() { CHECK_JUST(graph->Close()); }  // its end is over then, too
    // Of so many runs, each waited for.
    MemoryCalls CallsOf(int runs) const {
      const TensorTuple inputs = {like};
      MemoryCalls::Begin("dnnl");
      for (int i = 0; i < runs; ++i) {
        const TensorTuple out = CHECK_JUST(graph->Run(inputs));
        CHECK_JUST(Vm::Get()->SyncRead(out[0]->storage()));
      }
      return MemoryCalls::End();
    }
  };
  static constexpr int kRuns = 50;
  // What the one output of a run is, where it is issued: the list of outputs, a storage, a tensor.
  static constexpr int kForAnOutput = 3;
};

TEST_F(GraphAllocationTest, AQueuedRunTakesNothingButItsOutputs) {
  Vm::Get()->SetMode(Vm::Mode::kQueued);
  const Step step(160);
  const MemoryCalls calls = step.CallsOf(kRuns);
  EXPECT_EQ(calls.elsewhere, 0) << calls.first;
  EXPECT_EQ(calls.system, 0) << calls.first;
  EXPECT_LE(calls.here, kForAnOutput * kRuns);
  std::cout << calls.here << " for outputs, " << calls.excused << " of oneDNN's own" << std::endl;
}

TEST_F(GraphAllocationTest, ARunInlineTakesNothingButItsOutputs) {
  Vm::Get()->SetMode(Vm::Mode::kInline);
  const Step step(160);
  const MemoryCalls calls = step.CallsOf(kRuns);
  EXPECT_EQ(calls.elsewhere, 0) << calls.first;
  EXPECT_EQ(calls.system, 0) << calls.first;
  EXPECT_LE(calls.here, kForAnOutput * kRuns);
}

// The pool's bytes are all the tensor memory there is: while a run goes on, the plan's and the output's.
TEST_F(GraphAllocationTest, TensorMemoryIsThePlanAndTheOutputs) {
  Vm::Get()->SetMode(Vm::Mode::kQueued);
  const Step step(160);
  Allocator* pool = CHECK_JUST(GetAllocator(Device()));
  CHECK_JUST(Vm::Get()->Sync());
  pool->ResetPeak();
  const int64_t before = pool->Stats().allocated;
  const TensorTuple out = CHECK_JUST(step.graph->Run({step.like}));
  CHECK_JUST(Vm::Get()->SyncRead(out[0]->storage()));
  const int64_t most = pool->Stats().allocated_peak - before;
  EXPECT_GT(most, 0);
  EXPECT_LE(most, 512);  // a scalar, rounded up to what the pool gives
}

// The planted faults. A compiler leaves out calls of malloc whose memory nobody looks at.
void FreeLater(void* memory) {
  static std::vector<void*> kept = std::vector<void*>(16);
  std::free(kept[0]);
  kept[0] = memory;
}

TEST_F(GraphAllocationTest, MallocOfAnotherThreadIsSeen) {
  MemoryCalls::Begin("dnnl");
  std::thread other([] { FreeLater(std::malloc(3)); });
  other.join();
  const MemoryCalls calls = MemoryCalls::End();
  EXPECT_GE(calls.elsewhere, 1);  // a thread that begins may take some, too
  EXPECT_NE(calls.first, "");
}

TEST_F(GraphAllocationTest, MmapAndWhatMallocMapsAreSeen) {
  MemoryCalls::Begin("dnnl");
  void* map = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_EQ(MemoryCalls::End().system, 1);
  ::munmap(map, 4096);
  MemoryCalls::Begin("dnnl");
  FreeLater(std::malloc(size_t{256} << 20));
  EXPECT_EQ(MemoryCalls::End().system, 1);
}

}  // namespace
}  // namespace oneflow
