// multi_tensor_*_update against the formulas of the papers, element by element in double.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "oneflow/kernels/attrs_optim.h"
#include "oneflow/kernels/cpu/kernel_testing.h"

namespace oneflow {
namespace cpu {
namespace testing {
namespace {

enum class Rule { kSgd, kMomentum, kAdam, kAdagrad, kAdadelta, kRmsprop, kLamb };
constexpr const char* kNames[] = {"sgd",      "momentum", "adam", "adagrad",
                                  "adadelta", "rmsprop",  "lamb"};

// One element of a parameter, its state and its gradient.
struct Element {
  double p, s[3], d;
};

// Sutskever et al. 2013, with Nesterov's look ahead; buffers begin at zero.
void Momentum(const ListUpdateAttrs& a, double g, Element* e) {
  e->s[0] = a.beta1 * e->s[0] + (1 - a.beta2) * g;
  const double step = a.nesterov ? g + a.beta1 * e->s[0] : e->s[0];
  e->p += (a.maximize ? 1 : -1) * a.lr * step;
}

// Kingma and Ba 2015, algorithm 1; with a third state the AMSGrad of Reddi et al. 2018.
double AdamStep(const ListUpdateAttrs& a, double g, Element* e) {
  e->s[0] = a.beta1 * e->s[0] + (1 - a.beta1) * g;
  e->s[1] = a.beta2 * e->s[1] + (1 - a.beta2) * g * g;
  if (a.states == 3) { e->s[2] = std::max(e->s[2], e->s[1]); }
  const double v = a.states == 3 ? e->s[2] : e->s[1];
  return e->s[0] / a.bias_correction1 / (std::sqrt(v / a.bias_correction2) + a.epsilon);
}

// Duchi et al. 2011.
void Adagrad(const ListUpdateAttrs& a, double g, Element* e) {
  e->s[0] += g * g;
  e->p -= a.lr * g / (std::sqrt(e->s[0]) + a.epsilon);
}

// Zeiler 2012, algorithm 1.
void Adadelta(const ListUpdateAttrs& a, double g, Element* e) {
  e->s[0] = a.beta1 * e->s[0] + (1 - a.beta1) * g * g;
  const double step = std::sqrt(e->s[1] + a.epsilon) / std::sqrt(e->s[0] + a.epsilon) * g;
  e->s[1] = a.beta1 * e->s[1] + (1 - a.beta1) * step * step;
  e->p -= a.lr * step;
}

// Tieleman and Hinton 2012; centered as in Graves 2013, equations 38 to 41.
void Rmsprop(const ListUpdateAttrs& a, double g, Element* e) {
  e->s[0] = a.beta1 * e->s[0] + (1 - a.beta1) * g * g;
  double spread = e->s[0];
  if (a.centered) {
    e->s[1] = a.beta1 * e->s[1] + (1 - a.beta1) * g;
    spread = std::max(0.0, spread - e->s[1] * e->s[1]);
  }
  double step = a.lr * g / std::sqrt(spread + a.epsilon);
  if (a.beta2 != 0) {
    double& buffer = e->s[a.centered ? 2 : 1];
    buffer = a.beta2 * buffer + step;
    step = buffer;
  }
  e->p -= step;
}

// All elements of one parameter.
void Step(Rule rule, const ListUpdateAttrs& a, std::vector<Element>* elements) {
  std::vector<double> steps;  // of LAMB: You et al. 2020, algorithm 2
  double weights = 0, lengths = 0;
  for (Element& e : *elements) {
    const double before = e.p;
    double g = a.scale * e.d + a.l2 * e.p;
    if (rule == Rule::kAdadelta && a.maximize) { g = -a.scale * e.d + a.l2 * e.p; }
    switch (rule) {
      case Rule::kSgd: e.p -= a.lr * g; break;
      case Rule::kMomentum: Momentum(a, g, &e); break;
      case Rule::kAdam: e.p -= a.lr * AdamStep(a, g, &e); break;
      case Rule::kAdagrad: Adagrad(a, g, &e); break;
      case Rule::kAdadelta: Adadelta(a, g, &e); break;
      case Rule::kRmsprop: Rmsprop(a, g, &e); break;
      case Rule::kLamb: {
        steps.push_back(AdamStep(a, g, &e));
        weights += before * before;
        lengths += steps.back() * steps.back();
      }
    }
    if (rule != Rule::kLamb) { e.p -= a.lr * a.weight_decay * before; }
  }
  const double ratio = weights > 0 && lengths > 0 ? std::sqrt(weights / lengths) : 1.0;
  for (size_t i = 0; i < steps.size(); ++i) {
    Element& e = (*elements)[i];
    e.p -= a.lr * ratio * (steps[i] + a.weight_decay * e.p);
  }
}

// ---- random problems ----------------------------------------------------------------------------

double Uniform(Rng* rng, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(*rng);
}

ListUpdateAttrs RandomAttrs(Rng* rng, Rule rule) {
  ListUpdateAttrs a;
  a.lr = Uniform(rng, 0.01, 0.2);
  a.scale = OneIn(rng, 2) ? 1.0 : 0.5;
  a.l2 = OneIn(rng, 2) ? 0.0 : 0.1;
  a.weight_decay = OneIn(rng, 2) ? 0.0 : 0.25;
  a.beta1 = Uniform(rng, 0.5, 0.95);
  a.epsilon = 1e-3;
  a.maximize = OneIn(rng, 2);
  a.nesterov = OneIn(rng, 2);
  if (rule == Rule::kAdam || rule == Rule::kLamb) {
    a.states = rule == Rule::kAdam && OneIn(rng, 2) ? 3 : 2;
    a.beta2 = Uniform(rng, 0.5, 0.999);
    a.bias_correction1 = OneIn(rng, 2) ? 1.0 : 0.5;
    a.bias_correction2 = OneIn(rng, 2) ? 1.0 : 0.75;
  } else if (rule == Rule::kRmsprop) {
    a.centered = OneIn(rng, 2);
    a.beta2 = OneIn(rng, 2) ? 0.0 : 0.9;
    a.states = 1 + (a.centered ? 1 : 0) + (a.beta2 != 0 ? 1 : 0);
  } else {
    a.states = rule == Rule::kSgd ? 0 : rule == Rule::kAdadelta ? 2 : 1;
    a.beta2 = rule == Rule::kMomentum ? 0.25 : 0.0;
  }
  return a;
}

// Which states are averages of squares, and so not negative.
bool IsSquares(Rule rule, int state) {
  switch (rule) {
    case Rule::kAdam:
    case Rule::kLamb: return state > 0;
    case Rule::kAdagrad:
    case Rule::kAdadelta: return true;
    case Rule::kRmsprop: return state == 0;
    default: return false;
  }
}

// Parameters, then each kind of state, then gradients: as the op takes them.
struct Problem {
  std::vector<HostArray> arrays;
  int members = 0;

  Arrays Inputs(const HostArray* told) const {
    Arrays in;
    for (const HostArray& array : arrays) { in.push_back(&array); }
    if (told != nullptr) { in.push_back(told); }
    return in;
  }
  Arrays Outputs() const {
    Arrays in = Inputs(nullptr);
    in.resize(in.size() - static_cast<size_t>(members));
    return in;
  }
};

Problem RandomProblem(Rng* rng, Rule rule, int states, DataType dtype) {
  Problem problem;
  problem.members = static_cast<int>(Pick(rng, 1, 4));
  std::vector<Dims> shapes;
  for (int i = 0; i < problem.members; ++i) { shapes.push_back(RandomShape(rng, 0, 3)); }
  const bool alike = OneIn(rng, 2);
  for (int kind = 0; kind < states + 2; ++kind) {
    for (int i = 0; i < problem.members; ++i) {
      const Dims& shape = shapes[static_cast<size_t>(i)];
      const bool gradient = kind == states + 1;
      if (alike && kind > 0) {  // the layout of its parameter
        const ArrayView view = problem.arrays[static_cast<size_t>(i)].view();
        problem.arrays.emplace_back(dtype, shape, Dims(view.strides, view.ndim));
      } else {
        problem.arrays.push_back(RandomArray(rng, dtype, shape, PickLayout(rng, gradient)));
      }
      HostArray& added = problem.arrays.back();
      added.Fill(rng, false);
      if (kind == 0 || gradient) { continue; }
      const bool squares = IsSquares(rule, kind - 1);
      for (int64_t e = 0; e < added.count(); ++e) {
        // The mean must stay below the root of the mean of squares.
        added.Set(e, squares ? 0.5 + std::fabs(added.At(e)) : Uniform(rng, -0.1, 0.1));
      }
    }
  }
  return problem;
}

// What the arrays hold after a step.
std::vector<HostArray> Expected(Rule rule, const ListUpdateAttrs& a, const Problem& problem) {
  std::vector<HostArray> after = problem.arrays;
  const auto members = static_cast<size_t>(problem.members);
  const auto states = static_cast<size_t>(a.states);
  for (size_t i = 0; i < members; ++i) {
    std::vector<Element> elements(static_cast<size_t>(after[i].count()));
    const auto at = [&](size_t kind) -> HostArray& { return after[kind * members + i]; };
    for (size_t e = 0; e < elements.size(); ++e) {
      elements[e].p = at(0).At(static_cast<int64_t>(e));
      elements[e].d = at(states + 1).At(static_cast<int64_t>(e));
      for (size_t s = 0; s < states; ++s) {
        elements[e].s[s] = at(s + 1).At(static_cast<int64_t>(e));
      }
    }
    Step(rule, a, &elements);
    for (size_t e = 0; e < elements.size(); ++e) {
      at(0).Set(static_cast<int64_t>(e), elements[e].p);
      for (size_t s = 0; s < states; ++s) {
        at(s + 1).Set(static_cast<int64_t>(e), elements[e].s[s]);
      }
    }
  }
  return after;
}

// "" if the kernel steps as the formula of `rule` does; else what differs.
std::string Check(Rule kernel, Rule rule, const ListUpdateAttrs& attrs, const Problem& problem) {
  const std::string name =
      "multi_tensor_" + std::string(kNames[static_cast<int>(kernel)]) + "_update.cpu.vector";
  const std::vector<HostArray> want = Expected(rule, attrs, problem);
  std::vector<std::vector<HostArray>> all;
  for (const Config& config : AllConfigs()) {
    const ScopedIsa isa(config.isa);
    const Problem got = problem;
    ListUpdateAttrs told = attrs;
    HostArray numbers(DataType::kDouble, {3}, {2});
    if (attrs.numbers) {
      numbers.Set(0, attrs.lr);
      numbers.Set(1, attrs.bias_correction1);
      numbers.Set(2, attrs.bias_correction2);
      told.lr = told.bias_correction1 = told.bias_correction2 = NAN;
    }
    CHECK_JUST(Call(name.c_str(), got.Inputs(attrs.numbers ? &numbers : nullptr), got.Outputs(),
                    &told, config.threads));
    all.push_back(got.arrays);
    for (size_t i = 0; i < got.arrays.size(); ++i) {
      const DataType dtype = got.arrays[i].dtype();
      std::string wrong = Difference(got.arrays[i], want[i], 3 * ToleranceFor(dtype));
      if (wrong.empty()) { wrong = Difference(got.arrays[i], all[0][i], 0.0); }
      if (wrong.empty() && !got.arrays[i].GuardsIntact()) { wrong = "wrote outside"; }
      if (!wrong.empty()) {
        return name + " " + IsaName(config.isa) + " array " + std::to_string(i) + ": " + wrong;
      }
    }
  }
  return "";
}

TEST(ListUpdate, StepsByTheFormulas) {
  const std::vector<DataType> dtypes = {DataType::kFloat, DataType::kFloat, DataType::kDouble,
                                        DataType::kFloat16, DataType::kBFloat16};
  Rng rng(1);
  for (int trial = 0; trial < 420; ++trial) {
    const auto rule = static_cast<Rule>(trial % 7);
    ListUpdateAttrs attrs = RandomAttrs(&rng, rule);
    attrs.numbers = OneIn(&rng, 3);
    const Problem problem = RandomProblem(&rng, rule, attrs.states, PickDtype(&rng, dtypes));
    ASSERT_EQ(Check(rule, rule, attrs, problem), "") << "trial " << trial;
  }
}

TEST(ListUpdate, AnotherRuleIsNoticed) {
  Rng rng(2);
  ListUpdateAttrs attrs = RandomAttrs(&rng, Rule::kAdagrad);
  attrs.l2 = attrs.weight_decay = 0;
  Problem problem;
  problem.members = 1;
  for (int i = 0; i < 3; ++i) {
    problem.arrays.emplace_back(DataType::kFloat, Dims{5});
    problem.arrays.back().Fill(&rng, false);
  }
  EXPECT_NE(Check(Rule::kAdagrad, Rule::kMomentum, attrs, problem), "");
}

// Equal gradients have no spread; rounding must not make it negative, whose root is NaN.
TEST(ListUpdate, CenteredRmspropOfEqualGradients) {
  ListUpdateAttrs attrs;
  attrs.states = 2;
  attrs.lr = 0.01;
  attrs.beta1 = 0.99;
  attrs.epsilon = 1e-8;
  attrs.centered = true;
  Rng rng(3);
  HostArray p(DataType::kFloat, {64}), s(p), mean(p), g(p);
  for (int64_t i = 0; i < 64; ++i) {
    p.Set(i, 0.0), s.Set(i, 0.0), mean.Set(i, 0.0);
    g.Set(i, Uniform(&rng, 10, 1000));
  }
  for (int step = 0; step < 3000; ++step) {
    CHECK_JUST(Call("multi_tensor_rmsprop_update.cpu.vector", {&p, &s, &mean, &g}, {&p, &s, &mean},
                    &attrs));
  }
  for (int64_t i = 0; i < 64; ++i) { ASSERT_TRUE(std::isfinite(p.At(i))) << g.At(i); }
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
