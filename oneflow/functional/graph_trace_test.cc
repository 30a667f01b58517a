// Traces, and graphs made of them: what a graph computes is what the same calls compute eagerly.
#include "oneflow/functional/graph_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <thread>

#include "oneflow/autograd/engine.h"
#include "oneflow/autograd/grad_mode.h"
#include "oneflow/boot/boot.h"
#include "oneflow/common/trace.h"
#include "oneflow/device/cpu/parallel.h"
#include "oneflow/functional/generated/functional.h"
#include "oneflow/functional/traced_graph.h"
#include "oneflow/vm/vm.h"

namespace oneflow {
namespace {

namespace f = functional;
using graph::CompiledGraph;
using Floats = std::vector<float>;
using Build = std::function<TensorTuple(const TensorTuple&)>;

class GraphTraceTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { CHECK_JUST(StartRuntime()); }
  void TearDown() override { GraphTrace::Abort(); }

  static TensorPtr Make(const Floats& values, const Dims& shape) {
    const TensorPtr t = CHECK_JUST(AllocateHostTensor("test", Shape(shape), DataType::kFloat));
    std::copy(values.begin(), values.end(), reinterpret_cast<float*>(t->data()));
    if (GraphTrace* trace = GraphTrace::Current()) { trace->NoteMade(t); }
    return t;
  }
  static TensorPtr Random(const Dims& shape, uint64_t seed) {
    return CHECK_JUST(
        f::randn(shape, DataType::kFloat, std::nullopt, MakeIntrusive<Generator>(seed)));
  }
  static TensorPtr Leaf(const Dims& shape, uint64_t seed) {
    TensorPtr t = Random(shape, seed);
    t->MutableAutograd()->requires_grad = true;
    return t;
  }
  static Floats Values(const TensorPtr& t) {
    const TensorPtr dense = CHECK_JUST(f::contiguous(t));
    CHECK_JUST(Vm::Get()->SyncRead(dense->storage()));
    const float* data = reinterpret_cast<const float*>(dense->data());
    return Floats(data, data + dense->Count());
  }
  static std::unique_ptr<TracedGraph> Trace(const TensorTuple& like, const Build& build,
                                            const std::vector<std::string>& disable = {}) {
    CHECK_JUST(GraphTrace::Begin("G"));
    TensorTuple inputs;
    for (const TensorPtr& t : like) {
      inputs.push_back(CHECK_JUST(GraphTrace::Current()->AddInput(t->meta(), "x", false)));
    }
    CompiledGraph::Options options;
    options.disable = disable;
    return CHECK_JUST(TracedGraph::FromTrace(build(inputs), options));
  }
  // Three runs of a graph of `build` against three calls, from the same state of `held`.
  static void ExpectAsEager(const TensorTuple& inputs, const TensorTuple& held, const Build& build,
                            const std::vector<std::string>& disable = {}) {
    std::vector<Floats> before;
    for (const TensorPtr& t : held) { before.push_back(Values(t)); }
    std::vector<Floats> eager;
    for (int run = 0; run < 3; ++run) {
      for (const TensorPtr& t : build(inputs)) { eager.push_back(Values(t)); }
      for (const TensorPtr& t : held) { eager.push_back(Values(t)); }
    }
    const ScopedGradMode no_grad(false);
    for (size_t i = 0; i < held.size(); ++i) {
      CHECK_JUST(f::copy_(held[i], Make(before[i], Dims(held[i]->shape()))));
    }
    std::unique_ptr<TracedGraph> graph;
    {
      const ScopedGradMode grad(true);
      graph = Trace(inputs, build, disable);
    }
    size_t next = 0;
    for (int run = 0; run < 3; ++run) {
      for (const TensorPtr& t : CHECK_JUST(graph->Run(inputs))) {
        EXPECT_EQ(Values(t), eager[next++]) << "run " << run;
      }
      for (const TensorPtr& t : held) { EXPECT_EQ(Values(t), eager[next++]) << "run " << run; }
    }
    CHECK_JUST(graph->Close());
  }
  static int64_t Fired(const TracedGraph& graph, const std::string& pass) {
    int64_t fired = -1;
    CHECK_JUST(graph.With([&](CompiledGraph* compiled) {
      for (const graph::PassCount& count : compiled->passes()) {
        if (count.name == pass) { fired = count.fired; }
      }
    }));
    return fired;
  }
  template <typename T>
  static std::string MessageOf(const Maybe<T>& result) {
    if (result.ok()) { return "no error"; }
    result.error()->MarkRead();
    return result.error()->message();
  }
};

TEST_F(GraphTraceTest, TrainsALinearLayer) {
  const TensorPtr weight = Leaf({4, 3}, 1);
  const TensorPtr bias = Leaf({4}, 2);
  ExpectAsEager({Random({8, 3}, 3), Random({8, 4}, 4)}, {weight, bias}, [&](const TensorTuple& in) {
    for (const TensorPtr& p : {weight, bias}) { p->autograd()->grad = nullptr; }
    const TensorPtr loss =
        CHECK_JUST(f::mse_loss(CHECK_JUST(f::linear(in[0], weight, bias)), in[1]));
    CHECK_JUST(Backward({loss}, {nullptr}, BackwardOptions()));
    const ScopedGradMode no_grad(false);
    CHECK_JUST(f::multi_tensor_sgd_update_(
        {weight, bias}, {weight->autograd()->grad, bias->autograd()->grad}, 0.1));
    return TensorTuple{loss};
  });
}

TEST_F(GraphTraceTest, GradientsAreTheGraphsOwn) {
  const TensorPtr w = Leaf({3}, 1);
  const TensorPtr before = Make({1, 2, 3}, {3});
  w->autograd()->grad = before;
  const auto graph = Trace({}, [&](const TensorTuple&) {
    const TensorPtr loss = CHECK_JUST(f::sum(CHECK_JUST(f::square(w))));
    EXPECT_EQ(w->autograd()->grad, nullptr);
    CHECK_JUST(Backward({loss}, {nullptr}, BackwardOptions()));
    return TensorTuple{w->autograd()->grad};
  });
  EXPECT_EQ(w->autograd()->grad, before);
  const Floats got = Values(CHECK_JUST(graph->Run({}))[0]);
  const Floats value = Values(w);
  for (size_t i = 0; i < 3; ++i) { EXPECT_EQ(got[i], 2 * value[i]); }
}

TEST_F(GraphTraceTest, InPlaceAndViewsMeanWhatTheyMeanEagerly) {
  const TensorPtr buffer = Random({4, 6}, 5);
  ExpectAsEager({Random({4, 6}, 6)}, {buffer}, [&](const TensorTuple& in) {
    const ScopedGradMode no_grad(false);
    const TensorPtr x = CHECK_JUST(f::tanh(in[0]));
    const TensorPtr column = CHECK_JUST(f::select(x, 1, 2));
    const TensorPtr flat = CHECK_JUST(f::view(x, {24}));
    const TensorPtr before = CHECK_JUST(f::square(column));
    CHECK_JUST(f::fill_(CHECK_JUST(f::narrow(flat, 0, 3, 10)), Scalar(0.5)));
    CHECK_JUST(f::add_(column, before));
    const TensorPtr part = CHECK_JUST(f::transpose(CHECK_JUST(f::narrow(buffer, 1, 0, 4)), 0, 1));
    CHECK_JUST(f::mul_(part, CHECK_JUST(f::narrow(x, 1, 2, 4))));
    CHECK_JUST(f::copy_(CHECK_JUST(f::select(buffer, 0, 0)), CHECK_JUST(f::select(x, 0, 1))));
    CHECK_JUST(f::add_(x, x));
    return TensorTuple{x, column, before, CHECK_JUST(f::square(buffer)), part};
  });
}

TEST_F(GraphTraceTest, OutputsMayBeArgumentsViewsAndCapturedTensors) {
  const TensorPtr held = Random({4}, 7);
  const TensorPtr input = Random({2, 3}, 8);
  const auto graph = Trace({input}, [&](const TensorTuple& in) {
    const TensorPtr y = CHECK_JUST(f::square(in[0]));
    return TensorTuple{in[0], held, y, CHECK_JUST(f::transpose(y, 0, 1)), y};
  });
  const TensorTuple out = CHECK_JUST(graph->Run({input}));
  EXPECT_EQ(out[0]->storage(), input->storage());
  EXPECT_EQ(out[1]->storage(), held->storage());
  EXPECT_EQ(out[2]->storage(), out[4]->storage());
  EXPECT_EQ(Values(out[0]), Values(input));
  EXPECT_EQ(Values(out[3]), Values(CHECK_JUST(f::transpose(out[2], 0, 1))));
  const TensorTuple again = CHECK_JUST(graph->Run({input}));
  EXPECT_NE(out[2]->storage(), again[2]->storage());
}

TEST_F(GraphTraceTest, AnArgumentMayBeStridedOrAView) {
  const TensorPtr whole = Random({6, 4}, 9);
  const TensorPtr part = CHECK_JUST(f::transpose(CHECK_JUST(f::narrow(whole, 0, 2, 3)), 0, 1));
  const TensorPtr dense = CHECK_JUST(f::narrow(whole, 0, 1, 4));
  const auto graph = Trace({part, dense}, [&](const TensorTuple& in) {
    return TensorTuple{CHECK_JUST(f::square(in[0])), CHECK_JUST(f::square(in[1])), in[1]};
  });
  const TensorTuple out = CHECK_JUST(graph->Run({part, dense}));
  EXPECT_EQ(Values(out[0]), Values(CHECK_JUST(f::square(part))));
  EXPECT_EQ(Values(out[1]), Values(CHECK_JUST(f::square(dense))));
  EXPECT_EQ(Values(out[2]), Values(dense));
}

TEST_F(GraphTraceTest, EachRunDrawsAnewAsEagerDoes) {
  const TensorPtr x = Random({1000}, 10);
  const auto draw = [](const TensorTuple& in) {
    const TensorPtr a = CHECK_JUST(f::dropout(in[0], 0.3));
    return TensorTuple{a, CHECK_JUST(f::rand({7})), CHECK_JUST(f::dropout(a, 0.5))};
  };
  DefaultGenerator()->ManualSeed(77);
  std::vector<Floats> eager;
  for (int run = 0; run < 3; ++run) {
    for (const TensorPtr& t : draw({x})) { eager.push_back(Values(t)); }
  }
  const uint64_t end = DefaultGenerator()->offset();
  DefaultGenerator()->ManualSeed(77);
  const auto graph = Trace({x}, draw);
  EXPECT_EQ(DefaultGenerator()->offset(), 0u);  // tracing draws nothing
  size_t next = 0;
  for (int run = 0; run < 3; ++run) {
    for (const TensorPtr& t : CHECK_JUST(graph->Run({x}))) { EXPECT_EQ(Values(t), eager[next++]); }
  }
  EXPECT_EQ(DefaultGenerator()->offset(), end);
  EXPECT_NE(eager[0], eager[3]);
}

TEST_F(GraphTraceTest, TensorsThatBuildMadeOfNumbersAreNew) {
  ExpectAsEager({Random({3}, 1)}, {}, [](const TensorTuple& in) {
    const ScopedGradMode no_grad(false);
    const TensorPtr made = Make({1, 2, 3}, {3});
    CHECK_JUST(f::add_(made, in[0]));
    return TensorTuple{made};
  });
}

TEST_F(GraphTraceTest, ReadingALazyTensorSaysSo) {
  CHECK_JUST(GraphTrace::Begin("Net_0"));
  const TensorPtr x =
      CHECK_JUST(GraphTrace::Current()->AddInput(Make({1, 2}, {2})->meta(), "x", false));
  const TensorPtr y = CHECK_JUST(f::square(x));
  const std::string expected = "expects a value, got a tensor of graph 'Net_0' that is being built";
  EXPECT_EQ(MessageOf(Vm::Get()->SyncRead(y->storage())), "[graph] " + expected);
  EXPECT_EQ(MessageOf(CheckHasValue("numpy", *y)), "[numpy] " + expected);
  EXPECT_NE(MessageOf(f::nonzero(y)).find("that is being built"), std::string::npos);
  EXPECT_NE(MessageOf(f::nonzero(y)).find("depends on data"), std::string::npos);
  GraphTrace::Abort();
  // Later too, by whoever kept it; and no eager op may write to it.
  EXPECT_EQ(MessageOf(f::square(y)), "[graph] " + expected);
  EXPECT_EQ(MessageOf(f::fill_(y, Scalar(1))), "[fill_] " + expected);
  CHECK_JUST(GraphTrace::Begin("Net_1"));
  EXPECT_NE(MessageOf(f::square(y)).find("got one of another graph"), std::string::npos);
}

TEST_F(GraphTraceTest, ErrorsOfOperandsAreRaisedAtTheirLine) {
  CHECK_JUST(GraphTrace::Begin("G"));
  const TensorPtr a = Make({1, 2}, {2});
  EXPECT_NE(MessageOf(f::add(a, Make({1, 2, 3}, {3}))).find("[add] expects shapes"),
            std::string::npos);
  EXPECT_NE(MessageOf(GraphTrace::Begin("H")).find("one graph to be built at a time"),
            std::string::npos);
}

TEST_F(GraphTraceTest, AFailingRunLeavesWhatItUpdatesAndTheNextRunIsWhole) {
  const TensorPtr count = Make({0}, {1});
  const TensorPtr x = Make({1, 2}, {2});
  const TensorPtr rows = Random({4, 2}, 3);
  const TensorPtr index = CHECK_JUST(f::arange(Scalar(0), Scalar(2), Scalar(1), DataType::kInt64));
  const auto graph = Trace({index}, [&](const TensorTuple& in) {
    const ScopedGradMode no_grad(false);
    CHECK_JUST(f::add_(count, Make({1}, {1})));
    return TensorTuple{CHECK_JUST(f::embedding(rows, in[0]))};
  });
  const TensorPtr outside =
      CHECK_JUST(f::arange(Scalar(3), Scalar(5), Scalar(1), DataType::kInt64));
  for (int round = 0; round < 2; ++round) {
    Maybe<TensorTuple> bad = graph->Run({outside});
    if (bad.ok()) {
      Maybe<void> read = Vm::Get()->SyncRead(bad.value()[0]->storage());
      ASSERT_FALSE(read.ok());
      EXPECT_EQ(read.error()->op(), "embedding") << read.error()->message();
      read.error()->MarkRead();
    } else {
      EXPECT_EQ(bad.error()->op(), "embedding");
      bad.error()->MarkRead();
    }
    EXPECT_EQ(Values(count), Floats{static_cast<float>(round)});
    const TensorTuple good = CHECK_JUST(graph->Run({index}));
    EXPECT_EQ(Values(good[0]), Values(CHECK_JUST(f::embedding(rows, index))));
    EXPECT_EQ(Values(count), Floats{static_cast<float>(round + 1)});
  }
}

TEST_F(GraphTraceTest, AGraphRunsWhileAnotherIsBuilt) {
  const TensorPtr x = Random({3, 4}, 1);
  const TensorPtr strided = CHECK_JUST(f::transpose(x, 0, 1));
  const Build square = [](const TensorTuple& in) {
    return TensorTuple{CHECK_JUST(f::square(in[0]))};
  };
  const auto inner = Trace({strided}, square);
  const Floats expected = Values(square({strided})[0]);
  CHECK_JUST(GraphTrace::Begin("H"));
  const TensorPtr lazy = CHECK_JUST(GraphTrace::Current()->AddInput(strided->meta(), "x", false));
  const TensorTuple out = CHECK_JUST(inner->Run({strided}));
  EXPECT_NE(MessageOf(inner->Run({lazy})).find("that is being built"), std::string::npos);
  GraphTrace::Abort();
  EXPECT_EQ(Values(out[0]), expected);
}

TEST_F(GraphTraceTest, ChecksArguments) {
  const TensorPtr x = Make({1, 2}, {2});
  const auto graph = Trace({x}, [](const TensorTuple& in) { return in; });
  EXPECT_EQ(MessageOf(graph->Run({})), "[graph] 'G' expects 1 arguments, got 0");
  EXPECT_EQ(
      MessageOf(graph->Run({Make({1, 2, 3}, {3})})),
      "[graph] 'G' expects argument 0 as float32 of shape (2,) on cpu:0, got float32 of shape "
      "(3,) on cpu:0");
}

TEST_F(GraphTraceTest, ClosedGraphsSaySo) {
  const TensorPtr x = Make({1, 2}, {2});
  const auto graph = Trace({x}, [](const TensorTuple& in) { return in; });
  CHECK_JUST(graph->Close());
  CHECK_JUST(graph->Close());
  EXPECT_TRUE(graph->closed());
  EXPECT_EQ(MessageOf(graph->Run({x})), "graph 'G' is closed");
}

TEST_F(GraphTraceTest, StaleOnceACapturedTensorHasOtherMemory) {
  const TensorPtr w = Random({3}, 1);
  const auto graph =
      Trace({}, [&](const TensorTuple&) { return TensorTuple{CHECK_JUST(f::square(w))}; });
  EXPECT_FALSE(graph->Stale());
  w->SetData(*Random({3}, 2));
  EXPECT_TRUE(graph->Stale());
}

TEST_F(GraphTraceTest, AnArgumentThatTheGraphUpdatesIsRead) {
  const TensorPtr w = Make({1, 2}, {2});
  const auto graph = Trace({w}, [&](const TensorTuple& in) {
    const ScopedGradMode no_grad(false);
    CHECK_JUST(f::add_(w, in[0]));
    return TensorTuple{CHECK_JUST(f::square(in[0]))};
  });
  EXPECT_EQ(Values(CHECK_JUST(graph->Run({w}))[0]), (Floats{1, 4}));
  EXPECT_EQ(Values(w), (Floats{2, 4}));
}

TEST_F(GraphTraceTest, ElementwiseChainsAreFusedAndPlanned) {
  const int64_t n = 100003;
  const Build build = [](const TensorTuple& in) {
    TensorPtr t = CHECK_JUST(f::square(in[0]));
    t = CHECK_JUST(f::add(t, in[1]));
    t = CHECK_JUST(f::mul(CHECK_JUST(f::tanh(t)), t));
    return TensorTuple{CHECK_JUST(f::relu(t))};
  };
  const TensorTuple inputs = {Random({n}, 1), Random({n}, 2)};
  ExpectAsEager(inputs, {}, build);
  ExpectAsEager(inputs, {}, build, {"fusion"});
  const auto graph = Trace(inputs, build);
  EXPECT_EQ(Fired(*graph, "fusion"), 4);
  CHECK_JUST(graph->With([](CompiledGraph* compiled) {
    EXPECT_EQ(compiled->plan().num_steps(), 1);
    EXPECT_EQ(compiled->plan().num_kernels(), 5);
    EXPECT_EQ(compiled->plan().peak_bytes(), 0);  // tiles hold what is between
  }));
  const auto unfused = Trace(inputs, build, {"fusion"});
  EXPECT_EQ(Fired(*unfused, "in_place"), 2);
  CHECK_JUST(unfused->With([&](CompiledGraph* compiled) {
    EXPECT_EQ(compiled->plan().num_steps(), 5);
    EXPECT_EQ(compiled->plan().peak_bytes(), compiled->plan().lower_bound_bytes());
  }));
}

TEST_F(GraphTraceTest, AGraphFollowsTheNumberOfThreads) {
  const int before = cpu::NumThreads();
  const TensorPtr w = Random({300, 300}, 3);
  const TensorTuple inputs = {Random({300, 300}, 1), Random({300, 300}, 2)};
  const Build build = [&](const TensorTuple& in) {
    const TensorPtr t = CHECK_JUST(f::mul(CHECK_JUST(f::tanh(in[0])), in[1]));
    return TensorTuple{CHECK_JUST(f::linear(t, w)), CHECK_JUST(f::relu(t))};
  };
  cpu::SetNumThreads(3);
  const auto graph = Trace(inputs, build);
  for (int threads : {1, 4, 2}) {
    cpu::SetNumThreads(threads);
    const TensorTuple expected = build(inputs);
    const TensorTuple got = CHECK_JUST(graph->Run(inputs));
    EXPECT_EQ(Values(got[1]), Values(expected[1]));
    const Floats a = Values(got[0]);
    const Floats b = Values(expected[0]);
    for (size_t i = 0; i < a.size(); ++i) { ASSERT_NEAR(a[i], b[i], 1e-3) << i; }
  }
  cpu::SetNumThreads(before);
}

TEST_F(GraphTraceTest, ConstantsAreComputedOnce) {
  const Build build = [](const TensorTuple& in) {
    const TensorPtr c =
        CHECK_JUST(f::tanh(CHECK_JUST(f::full({4}, Scalar(0.5), DataType::kFloat))));
    return TensorTuple{CHECK_JUST(f::mul(in[0], c))};
  };
  const TensorPtr x = Random({4}, 1);
  ExpectAsEager({x}, {}, build);
  ExpectAsEager({x}, {}, build, {"constant_folding"});
  EXPECT_EQ(Fired(*Trace({x}, build), "constant_folding"), 2);
}

// Collects what a profiler would.
class Events : public TraceSink {
 public:
  void Record(const char* category, const char* name, int64_t, int64_t,
              const TraceDetails*) override {
    const std::lock_guard<std::mutex> lock(mutex);
    seen.push_back(std::string(category) + " " + name);
    threads.push_back(std::this_thread::get_id());
  }
  std::mutex mutex;
  std::vector<std::string> seen;
  std::vector<std::thread::id> threads;
};

TEST_F(GraphTraceTest, AProfilerSeesActorsAndTheirKernels) {
  static auto* events = new Events;  // sinks stay valid for ever
  const TensorPtr x = Random({8}, 1);
  const auto graph = Trace({x}, [](const TensorTuple& in) {
    return TensorTuple{CHECK_JUST(f::tanh(CHECK_JUST(f::square(in[0]))))};
  });
  TraceSink::Set(events);
  Values(CHECK_JUST(graph->Run({x}))[0]);
  TraceSink::Set(nullptr);
  // A scope is told when it closes: kernels, then their actor, then the instruction.
  const std::vector<std::string> expected = {"graph square", "graph tanh", "actor G", "vm graph"};
  const std::lock_guard<std::mutex> lock(events->mutex);
  std::vector<std::string> seen;
  for (const std::string& event : events->seen) {
    if (std::find(expected.begin(), expected.end(), event) != expected.end()) {
      seen.push_back(event);
    }
  }
  EXPECT_EQ(seen, expected);
}

TEST_F(GraphTraceTest, OnlyShortGraphsRunOnTheThreadThatCallsThem) {
  static auto* events = new Events;
  for (const int64_t n : {int64_t{100}, int64_t{1} << 20}) {
    const TensorPtr x = Random({n}, 1);
    Values(x);  // the stream is idle then
    const auto graph =
        Trace({x}, [](const TensorTuple& in) { return TensorTuple{CHECK_JUST(f::tanh(in[0]))}; });
    TraceSink::Set(events);
    const TensorTuple out = CHECK_JUST(graph->Run({x}));
    CHECK_JUST(Vm::Get()->SyncRead(out[0]->storage()));
    TraceSink::Set(nullptr);
  }
  const std::lock_guard<std::mutex> lock(events->mutex);
  std::vector<bool> here;
  for (size_t i = 0; i < events->seen.size(); ++i) {
    if (events->seen[i] != "actor G") { continue; }
    here.push_back(events->threads[i] == std::this_thread::get_id());
  }
  EXPECT_EQ(here, (std::vector<bool>{true, false}));
}

TEST_F(GraphTraceTest, OtherThreadsRunEagerly) {
  CHECK_JUST(GraphTrace::Begin("G"));
  Floats got;
  std::thread other([&] { got = Values(CHECK_JUST(f::square(Make({2, 3}, {2})))); });
  other.join();
  EXPECT_EQ(got, (Floats{4, 9}));
}

// ExpectAsEager must see a difference: here build itself changes from call to call.
TEST_F(GraphTraceTest, ThePlantedDifferenceIsSeen) {
  float next = 1;
  const TensorPtr x = Make({1}, {1});
  const auto build = [&](const TensorTuple& in) {
    return TensorTuple{CHECK_JUST(f::mul(in[0], Make({next++}, {1})))};
  };
  const Floats first = Values(build({x})[0]);
  const auto graph = Trace({x}, build);
  EXPECT_NE(Values(CHECK_JUST(graph->Run({x}))[0]), first);
}

}  // namespace
}  // namespace oneflow
