// The tape with nodes of the test's own, whose gradients can be worked out by hand: y = c * x.
#include "oneflow/autograd/engine.h"

#include <gtest/gtest.h>

#include <cmath>

#include "oneflow/autograd/anomaly_mode.h"
#include "oneflow/autograd/grad_mode.h"
#include "oneflow/device/cpu/cpu_allocator.h"

namespace oneflow {
namespace {

TensorPtr Number(float value) {
  TensorPtr t = CHECK_JUST(AllocateHostTensor("number", Shape(), DataType::kFloat));
  *reinterpret_cast<float*>(t->data()) = value;
  return t;
}
float ValueOf(const TensorPtr& t) { return *reinterpret_cast<float*>(t->data()); }

TensorPtr Leaf(float value) {
  TensorPtr t = Number(value);
  t->MutableAutograd()->requires_grad = true;
  return t;
}

// out = sum of coefficients[i] * inputs[i].
class LinearNode : public Node {
 public:
  explicit LinearNode(std::vector<float> coefficients)
      : Node(1), coefficients_(std::move(coefficients)) {}
  const char* name() const override { return "linear"; }
  Maybe<void> Apply(const TensorTuple& dys, TensorTuple* dxs) override {
    ++applied;
    if (fail) { return RuntimeError("[linear] on purpose"); }
    for (size_t i = 0; i < coefficients_.size(); ++i) {
      (*dxs)[i] = Number(ValueOf(dys[0]) * coefficients_[i]);
    }
    return Ok();
  }
  void ReleaseSaved() override { released = true; }

  int applied = 0;
  bool released = false;
  bool fail = false;

 private:
  std::vector<float> coefficients_;
};

struct Made {
  TensorPtr out;
  IntrusivePtr<LinearNode> node;
};

Made Combine(const std::vector<TensorPtr>& inputs, const std::vector<float>& coefficients) {
  auto node = MakeIntrusive<LinearNode>(coefficients);
  float value = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    node->AddEdge(GradientEdge(inputs[i]));
    value += ValueOf(inputs[i]) * coefficients[i];
  }
  TensorPtr out = Number(value);
  SetHistory(out, node, 0);
  return {out, node};
}

class EngineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    static const bool registered = [] {
      CHECK_JUST(RegisterCpuAllocator());
      GradientOps ops;
      ops.add = [](const TensorPtr& a, const TensorPtr& b) -> Maybe<TensorPtr> {
        return Number(ValueOf(a) + ValueOf(b));
      };
      ops.add_into = [](const TensorPtr& sum, const TensorPtr& b) -> Maybe<void> {
        ++added_into;
        *reinterpret_cast<float*>(sum->data()) += ValueOf(b);
        return Ok();
      };
      ops.add_in_place = [](const TensorPtr& t, const TensorPtr& b) -> Maybe<void> {
        *reinterpret_cast<float*>(t->data()) += ValueOf(b);
        return Ok();
      };
      ops.clone = [](const TensorPtr& t) -> Maybe<TensorPtr> { return Number(ValueOf(t)); };
      ops.has_nan = [](const TensorPtr& t) -> Maybe<bool> { return std::isnan(ValueOf(t)); };
      ops.ones_like = [](const TensorPtr&) -> Maybe<TensorPtr> { return Number(1); };
      SetGradientOps(ops);
      return true;
    }();
    ASSERT_TRUE(registered);
    added_into = 0;
  }
  static int added_into;  // sums of gradients that took over the memory of one
};
int EngineTest::added_into = 0;

TEST_F(EngineTest, ChainRule) {
  const TensorPtr x = Leaf(2);
  const Made y = Combine({x}, {3});
  const Made z = Combine({y.out}, {5});
  CHECK_JUST(Backward({z.out}, {}, {}));
  EXPECT_EQ(ValueOf(x->autograd()->grad), 15);
  EXPECT_TRUE(z.node->released);
}

TEST_F(EngineTest, ADiamondRunsEachNodeOnce) {
  const TensorPtr x = Leaf(1);
  const Made a = Combine({x}, {2});
  const Made left = Combine({a.out}, {3});
  const Made right = Combine({a.out}, {4});
  const Made top = Combine({left.out, right.out}, {1, 10});
  CHECK_JUST(Backward({top.out}, {}, {}));
  EXPECT_EQ(ValueOf(x->autograd()->grad), 2 * 3 + 2 * 4 * 10);
  EXPECT_EQ(a.node->applied, 1);
}

TEST_F(EngineTest, SumsGradientsInPlaceWhereNobodySees) {
  const TensorPtr x = Leaf(1);
  const auto run = [&](const BackwardOptions& options, std::vector<TensorPtr>* seen) {
    added_into = 0;
    x->MutableAutograd()->grad.Reset();
    const Made a = Combine({x}, {2});
    const Made left = Combine({a.out}, {3});
    const Made right = Combine({a.out}, {4});
    if (seen != nullptr) {
      // A hook that keeps the gradient which its node hands on.
      class Hand : public Node {
       public:
        explicit Hand(std::vector<TensorPtr>* seen) : Node(1), seen_(seen) {}
        const char* name() const override { return "hand"; }
        Maybe<void> Apply(const TensorTuple& dys, TensorTuple* dxs) override {
          (*dxs)[0] = dys[0];
          seen_->push_back(dys[0]->Alias());
          return Ok();
        }
        std::vector<TensorPtr>* seen_;
      };
      auto node = MakeIntrusive<Hand>(seen);
      node->AddEdge(GradientEdge(a.out));
      const TensorPtr handed = Number(ValueOf(a.out));
      SetHistory(handed, node, 0);
      const Made top = Combine({left.out, handed}, {1, 10});
      return CHECK_JUST(Backward({top.out}, {}, options));
    }
    const Made top = Combine({left.out, right.out}, {1, 10});
    return CHECK_JUST(Backward({top.out}, {}, options));
  };
  run({}, nullptr);
  EXPECT_EQ(ValueOf(x->autograd()->grad), 86);
  EXPECT_EQ(added_into, 1);
  run({true, true}, nullptr);
  EXPECT_EQ(ValueOf(x->autograd()->grad), 86);
  EXPECT_EQ(added_into, 0);
  std::vector<TensorPtr> seen;  // the planted reader: it must not see the sum
  run({}, &seen);
  EXPECT_EQ(ValueOf(x->autograd()->grad), 26);
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(ValueOf(seen[0]), 10);
  EXPECT_EQ(added_into, 0);
}

TEST_F(EngineTest, GradientsAccumulateOverRuns) {
  const TensorPtr x = Leaf(1);
  const Made y = Combine({x}, {3});
  CHECK_JUST(Backward({y.out}, {}, {true, false}));
  CHECK_JUST(Backward({y.out}, {Number(10)}, {true, false}));
  EXPECT_EQ(ValueOf(x->autograd()->grad), 33);
  EXPECT_FALSE(y.node->released);
}

TEST_F(EngineTest, TwoLeavesNeverShareOneGradient) {
  const TensorPtr a = Leaf(1);
  const TensorPtr b = Leaf(1);
  // A node that hands the same tensor to both.
  class Both : public Node {
   public:
    Both() : Node(1) {}
    const char* name() const override { return "both"; }
    Maybe<void> Apply(const TensorTuple& dys, TensorTuple* dxs) override {
      (*dxs)[0] = dys[0];
      (*dxs)[1] = dys[0];
      return Ok();
    }
  };
  auto node = MakeIntrusive<Both>();
  node->AddEdge(GradientEdge(a));
  node->AddEdge(GradientEdge(b));
  const TensorPtr out = Number(2);
  SetHistory(out, node, 0);
  CHECK_JUST(Backward({out}, {}, {}));
  ASSERT_NE(a->autograd()->grad->storage(), b->autograd()->grad->storage());
  EXPECT_EQ(ValueOf(b->autograd()->grad), 1);
}

TEST_F(EngineTest, GradientsOfInputsTouchNoLeafAndSkipWhatIsNotNeeded) {
  const TensorPtr x = Leaf(1);
  const TensorPtr w = Leaf(1);
  const Made y = Combine({x}, {3});
  const Made other = Combine({w}, {7});
  const Made z = Combine({y.out, other.out}, {5, 1});
  const TensorTuple grads = CHECK_JUST(Gradients({z.out}, {y.out, x}, {}, {}, false));
  EXPECT_EQ(ValueOf(grads[0]), 5);
  EXPECT_EQ(ValueOf(grads[1]), 15);
  EXPECT_EQ(x->autograd()->grad, nullptr);
  EXPECT_EQ(other.node->applied, 0);
}

TEST_F(EngineTest, AnUnusedInputIsAnErrorUnlessAllowed) {
  const TensorPtr x = Leaf(1);
  const TensorPtr w = Leaf(1);
  const Made y = Combine({x}, {3});
  EXPECT_FALSE(Gradients({y.out}, {w}, {}, {true, false}, false).ok());
  const TensorTuple grads = CHECK_JUST(Gradients({y.out}, {w}, {}, {true, false}, true));
  EXPECT_EQ(grads[0], nullptr);
}

TEST_F(EngineTest, HooksSeeAndReplaceGradients) {
  const TensorPtr x = Leaf(1);
  const Made y = Combine({x}, {3});
  const Made z = Combine({y.out}, {2});
  float seen = 0;
  y.node->AddHook(0, {1, [&](const TensorPtr& g) -> Maybe<TensorPtr> {
                        seen = ValueOf(g);
                        return Number(100);
                      }});
  CHECK_JUST(Backward({z.out}, {}, {}));
  EXPECT_EQ(seen, 2);
  EXPECT_EQ(ValueOf(x->autograd()->grad), 300);
}

TEST_F(EngineTest, AHookMayRunBackwardOverTheSameNodes) {
  const TensorPtr x = Leaf(1);
  const Made y = Combine({x}, {3});
  const Made z = Combine({y.out}, {2});
  y.node->AddHook(0, {1, [&](const TensorPtr&) -> Maybe<TensorPtr> {
                        JUST(Backward({Combine({x}, {1000}).out}, {}, {true, false}));
                        return TensorPtr();
                      }});
  CHECK_JUST(Backward({z.out}, {}, {}));
  EXPECT_EQ(ValueOf(x->autograd()->grad), 1006);
}

TEST_F(EngineTest, AFailureEndsTheRunAndLeavesTheTapeUsable) {
  const TensorPtr x = Leaf(1);
  const Made y = Combine({x}, {3});
  y.node->fail = true;
  const Maybe<void> failed = Backward({y.out}, {}, {true, false});
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error()->message(), "[linear] on purpose");
  y.node->fail = false;
  CHECK_JUST(Backward({y.out}, {}, {}));
  EXPECT_EQ(ValueOf(x->autograd()->grad), 3);
}

TEST_F(EngineTest, ALeafThatDiedNeedsNoGradient) {
  TensorPtr x = Leaf(1);
  const Made y = Combine({x}, {3});
  x.Reset();
  CHECK_JUST(Backward({y.out}, {}, {}));
  EXPECT_EQ(y.node->applied, 1);
}

TEST_F(EngineTest, AMillionNodesAreRunAndDestroyedWithoutRecursion) {
  const TensorPtr x = Leaf(1);
  TensorPtr y = x;
  for (int i = 0; i < 1000000; ++i) { y = Combine({y}, {1}).out; }
  CHECK_JUST(Backward({y}, {}, {}));
  EXPECT_EQ(ValueOf(x->autograd()->grad), 1);
  y.Reset();
}

TEST_F(EngineTest, BadRoots) {
  EXPECT_FALSE(Backward({Number(1)}, {}, {}).ok());
  const TensorPtr x = Leaf(1);
  const TensorPtr wide = CHECK_JUST(AllocateHostTensor("t", Shape{2}, DataType::kFloat));
  const Maybe<void> shape = Backward({Combine({x}, {1}).out}, {wide}, {});
  ASSERT_FALSE(shape.ok());
  EXPECT_NE(shape.error()->message().find("expects a gradient of shape () and dtype float32"),
            std::string::npos);
}

// Positive control: the checks above notice a node whose derivative is wrong.
TEST_F(EngineTest, AWrongDerivativeShows) {
  const TensorPtr x = Leaf(2);
  auto node = MakeIntrusive<LinearNode>(std::vector<float>{4});
  node->AddEdge(GradientEdge(x));
  const TensorPtr out = Number(3 * 2);  // the value says coefficient 3
  SetHistory(out, node, 0);
  CHECK_JUST(Backward({out}, {}, {}));
  EXPECT_NE(ValueOf(x->autograd()->grad), 3);
}

// The line of whoever asks, set by hand.
class LineSource : public StackSource {
 public:
  LineSource() { Set(this); }
  ~LineSource() override { Set(nullptr); }
  StackId Capture() override { return line; }
  void Pin(StackId) override {}
  void Unpin(StackId) override {}
  std::vector<StackFrame> Resolve(StackId) const override { return {}; }
  bool Evicted(StackId) const override { return false; }

  StackId line = 1;
};

std::vector<StackId> CallsOf(const ErrorPtr& error) {
  std::vector<StackId> calls;
  if (error->stack_context() == nullptr) { return calls; }
  for (const StackContext::Line& line : error->stack_context()->after()) {
    calls.push_back(line.stack);
  }
  return calls;
}

TEST_F(EngineTest, AnErrorHasTheLinesOfTheNodeAndOfTheCall) {
  LineSource source;
  const TensorPtr x = Leaf(1);
  source.line = 10;
  const Made y = Combine({x}, {2});
  y.node->fail = true;
  source.line = 20;
  const Maybe<void> failed = Backward({y.out}, {}, {});
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error()->op(), "linear");
  EXPECT_EQ(failed.error()->stack(), 10u);
  EXPECT_EQ(CallsOf(failed.error()), std::vector<StackId>{20});
  EXPECT_EQ(CurrentStackContext(), nullptr);
}

// A node that makes another one while it runs, as create_graph does.
class MakingNode : public LinearNode {
 public:
  using LinearNode::LinearNode;
  Maybe<void> Apply(const TensorTuple&, TensorTuple* dxs) override {
    made = Combine({Leaf(1)}, {2});
    (*dxs)[0] = made.out;
    return Ok();
  }
  Made made;
};

TEST_F(EngineTest, ANodeMadeInBackwardKeepsItsCall) {
  LineSource source;
  const TensorPtr x = Leaf(1);
  source.line = 10;
  const auto node = MakeIntrusive<MakingNode>(std::vector<float>{2});
  node->AddEdge(GradientEdge(x));
  const TensorPtr out = Number(2);
  SetHistory(out, node, 0);
  source.line = 20;
  const BackwardOptions twice{true, true};
  CHECK_JUST(Backward({out}, {}, twice));
  node->made.node->fail = true;
  source.line = 30;
  const Maybe<void> failed = Backward({node->made.out}, {}, {});
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error()->stack(), 10u);
  EXPECT_EQ(CallsOf(failed.error()), (std::vector<StackId>{20, 30}));
}

TEST_F(EngineTest, WhatNobodyWantsDoesNotRun) {
  const TensorPtr x = Leaf(1);
  const Made y = Combine({x}, {2});
  const Made z = Combine({y.out}, {3});
  const TensorTuple grads = CHECK_JUST(Gradients({z.out}, {y.out}, {}, {}, false));
  EXPECT_EQ(ValueOf(grads[0]), 3);
  EXPECT_EQ(z.node->applied, 1);
  EXPECT_EQ(y.node->applied, 0);
}

TEST_F(EngineTest, AnomalyModeNamesTheFirstNan) {
  LineSource source;
  const TensorPtr x = Leaf(1);
  source.line = 10;
  const Made y = Combine({x}, {NAN});
  source.line = 11;
  const Made z = Combine({y.out}, {NAN});
  source.line = 20;
  EXPECT_TRUE(Backward({z.out}, {}, {true, false}).ok());
  SetAnomalyMode(true, false);
  const Maybe<void> found = Backward({z.out}, {}, {true, false});
  SetAnomalyMode(false, false);
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error()->stack(), 11u);
  EXPECT_EQ(CallsOf(found.error()), std::vector<StackId>{20});
}

TEST_F(EngineTest, AWeakNodeKnowsWhenItsNodeDied) {
  IntrusivePtr<WeakNode> weak;
  {
    const Made y = Combine({Leaf(1)}, {2});
    weak = y.node->Weak();
    EXPECT_EQ(weak->node, y.node.get());
  }
  EXPECT_EQ(weak->node, nullptr);
}

}  // namespace
}  // namespace oneflow
