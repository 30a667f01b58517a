// ctc_loss and its gradient against the sum over all alignments, one by one.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "oneflow/kernels/attrs_norm.h"
#include "oneflow/kernels/cpu/kernel_testing.h"

namespace oneflow {
namespace cpu {
namespace testing {
namespace {

// A batch: probabilities (T, N, C), and labels of each sample.
struct Batch {
  int64_t time, samples, classes, blank;
  std::vector<std::vector<double>> probabilities;  // of each sample, time by classes
  std::vector<std::vector<int64_t>> labels;
  std::vector<int64_t> lengths;
  bool joined;

  int64_t most() const {
    size_t most = 0;
    for (const auto& row : labels) { most = std::max(most, row.size()); }
    return static_cast<int64_t>(most);
  }
};

// The labels that a path stands for: repetitions merged, then blanks dropped.
std::vector<int64_t> Collapsed(const std::vector<int64_t>& path, int64_t blank) {
  std::vector<int64_t> out;
  for (size_t t = 0; t < path.size(); ++t) {
    const bool again = t > 0 && path[t - 1] == path[t];
    if (!again && path[t] != blank) { out.push_back(path[t]); }
  }
  return out;
}

// The probability of one sample's labels, and of them together with each label at each time.
double SumOfPaths(const Batch& b, int64_t n, std::vector<double>* with) {
  const auto classes = static_cast<size_t>(b.classes);
  const std::vector<double>& p = b.probabilities[static_cast<size_t>(n)];
  std::vector<int64_t> path(static_cast<size_t>(b.lengths[static_cast<size_t>(n)]), 0);
  with->assign(p.size(), 0.0);
  double total = 0;
  for (bool more = true; more;) {
    if (Collapsed(path, b.blank) == b.labels[static_cast<size_t>(n)]) {
      double product = 1;
      for (size_t t = 0; t < path.size(); ++t) {
        product *= p[t * classes + static_cast<size_t>(path[t])];
      }
      for (size_t t = 0; t < path.size(); ++t) {
        (*with)[t * classes + static_cast<size_t>(path[t])] += product;
      }
      total += product;
    }
    more = false;
    for (int64_t& label : path) {  // counts up, the first time the fastest
      if (++label < b.classes) {
        more = true;
        break;
      }
      label = 0;
    }
  }
  return total;
}

Batch RandomBatch(Rng* rng) {
  Batch b;
  b.time = Pick(rng, 1, 6), b.samples = Pick(rng, 1, 3), b.classes = Pick(rng, 1, 4);
  b.blank = Pick(rng, 0, b.classes - 1), b.joined = OneIn(rng, 2);
  for (int64_t n = 0; n < b.samples; ++n) {
    std::vector<double> p(static_cast<size_t>(b.time * b.classes));
    for (double& x : p) { x = OneIn(rng, 9) ? 0.0 : static_cast<double>(Pick(rng, 1, 100)); }
    for (size_t t = 0; t < static_cast<size_t>(b.time); ++t) {
      double sum = 1e-3;  // a row of zeros stays one
      const auto row = p.begin() + static_cast<std::ptrdiff_t>(t) * b.classes;
      for (auto x = row; x != row + b.classes; ++x) { sum += *x; }
      for (auto x = row; x != row + b.classes; ++x) { *x /= sum; }
    }
    b.probabilities.push_back(p);
    b.lengths.push_back(Pick(rng, OneIn(rng, 10) ? 0 : 1, b.time));
    b.labels.emplace_back();
    for (int64_t s = b.classes == 1 ? 0 : Pick(rng, 0, 3); s > 0; --s) {
      const int64_t label = Pick(rng, 0, b.classes - 2);
      b.labels.back().push_back(label >= b.blank ? label + 1 : label);
    }
  }
  return b;
}

// The operands of the kernels.
struct Operands {
  HostArray log_probs, targets, lengths, counts;
  CtcLossAttrs attrs;

  Operands(const Batch& b, DataType dtype)
      : log_probs(dtype, {b.time, b.samples, b.classes}),
        targets(DataType::kInt64, TargetShape(b)),
        lengths(DataType::kInt64, {b.samples}),
        counts(DataType::kInt64, {b.samples}) {
    attrs.max_target_length = b.most();
    attrs.blank = b.blank;
    for (int64_t i = 0; i < targets.count(); ++i) { targets.Set(i, 0); }
    int64_t at = 0;
    for (int64_t n = 0; n < b.samples; ++n) {
      const auto& row = b.labels[static_cast<size_t>(n)];
      if (!b.joined) { at = n * b.most(); }
      for (int64_t label : row) { targets.Set(at++, static_cast<double>(label)); }
      lengths.Set(n, static_cast<double>(b.lengths[static_cast<size_t>(n)]));
      counts.Set(n, static_cast<double>(row.size()));
      for (int64_t i = 0; i < b.time * b.classes; ++i) {
        const double p = b.probabilities[static_cast<size_t>(n)][static_cast<size_t>(i)];
        const int64_t t = i / b.classes, c = i % b.classes;
        log_probs.Set((t * b.samples + n) * b.classes + c, std::log(p));
      }
    }
  }

  static Dims TargetShape(const Batch& b) {
    if (!b.joined) { return {b.samples, b.most()}; }
    int64_t sum = 0;
    for (const auto& row : b.labels) { sum += static_cast<int64_t>(row.size()); }
    return {sum};
  }
  Arrays Inputs() const { return {&log_probs, &targets, &lengths, &counts}; }
};

// Loss and gradient as the kernels give them.
struct Outcome {
  HostArray loss, alpha, inverse, dx;
};

Outcome RunKernels(const Operands& given, const HostArray& dy, int threads) {
  const DataType dtype = given.log_probs.dtype();
  const Dims& shape = given.log_probs.shape();
  Outcome out{HostArray(dtype, {shape[1]}),
              HostArray(dtype, {shape[1], shape[0], 2 * given.attrs.max_target_length + 1}),
              HostArray(dtype, {shape[1]}), HostArray(dtype, shape)};
  CHECK_JUST(Call("ctc_loss.cpu.vector", given.Inputs(), {&out.loss, &out.alpha, &out.inverse},
                  &given.attrs, threads));
  CHECK_JUST(Call(
      "ctc_loss_backward.cpu.vector",
      {&dy, &given.log_probs, &given.targets, &given.lengths, &given.counts, &out.loss, &out.alpha},
      {&out.dx}, &given.attrs, threads));
  return out;
}

// Compares one sample; "" or what is wrong.
std::string CheckSample(const Batch& b, int64_t n, const Outcome& got, double dy,
                        bool zero_infinity, double tolerance) {
  std::vector<double> with;
  const double total = SumOfPaths(b, n, &with);
  const double want = zero_infinity && total == 0 ? 0.0 : -std::log(total);
  if (!(std::fabs(got.loss.At(n) - want) <= tolerance * std::max(1.0, want)) &&
      got.loss.At(n) != want) {
    return "loss " + std::to_string(got.loss.At(n)) + ", want " + std::to_string(want);
  }
  for (int64_t i = 0; i < b.time * b.classes; ++i) {
    const int64_t t = i / b.classes, c = i % b.classes;
    const double p = b.probabilities[static_cast<size_t>(n)][static_cast<size_t>(i)];
    const double g = got.dx.At((t * b.samples + n) * b.classes + c);
    if (t >= b.lengths[static_cast<size_t>(n)] || (zero_infinity && total == 0)) {
      if (g != 0) { return "gradient outside of the sample: " + std::to_string(g); }
    } else if (total == 0) {
      if (!std::isnan(g)) { return "gradient of an infinite loss: " + std::to_string(g); }
    } else if (std::fabs(g - dy * (p - with[static_cast<size_t>(i)] / total)) > tolerance) {
      return "gradient at " + std::to_string(i) + ": " + std::to_string(g);
    }
  }
  return "";
}

TEST(CtcLoss, IsTheSumOverAllAlignments) {
  Rng rng(1);
  for (int trial = 0; trial < 400; ++trial) {
    const Batch b = RandomBatch(&rng);
    const DataType dtype = trial % 2 == 0 ? DataType::kDouble : DataType::kFloat;
    Operands given(b, dtype);
    given.attrs.zero_infinity = OneIn(&rng, 2);
    HostArray dy(dtype, {b.samples});
    dy.Fill(&rng, false);
    for (int threads : {1, 2}) {
      const Outcome got = RunKernels(given, dy, threads);
      for (int64_t n = 0; n < b.samples; ++n) {
        const bool exact = dtype == DataType::kDouble;
        ASSERT_EQ(CheckSample(b, n, got, dy.At(n), given.attrs.zero_infinity, exact ? 1e-11 : 2e-5),
                  "")
            << "trial " << trial << " sample " << n;
        const auto labels = static_cast<double>(b.labels[static_cast<size_t>(n)].size());
        ASSERT_NEAR(got.inverse.At(n), 1 / std::max(1.0, labels), 1e-7);
      }
      ASSERT_TRUE(got.dx.GuardsIntact() && got.alpha.GuardsIntact() && got.loss.GuardsIntact());
    }
  }
}

TEST(CtcLoss, AnotherLabelIsNoticed) {
  Rng rng(2);
  Batch b = RandomBatch(&rng);
  while (b.labels[0].empty() || b.classes < 3 || b.lengths[0] < 4) { b = RandomBatch(&rng); }
  const Operands given(b, DataType::kDouble);
  HostArray dy(DataType::kDouble, {b.samples});
  dy.Fill(&rng, false);
  const Outcome got = RunKernels(given, dy, 1);
  EXPECT_EQ(CheckSample(b, 0, got, dy.At(0), false, 1e-11), "");
  b.labels[0].pop_back();
  EXPECT_NE(CheckSample(b, 0, got, dy.At(0), false, 1e-11), "");
}

// NaN in one label's probability: the loss must not look as if that path were likely.
TEST(CtcLoss, KeepsNaN) {
  for (int64_t t = 0; t < 3; ++t) {
    HostArray log_probs(DataType::kDouble, {3, 1, 2}), target(DataType::kInt64, {1, 1});
    HostArray length(DataType::kInt64, {1}), count(DataType::kInt64, {1});
    HostArray loss(DataType::kDouble, {1}), alpha(DataType::kDouble, {1, 3, 3}), inverse(loss);
    for (int64_t i = 0; i < 6; ++i) { log_probs.Set(i, -0.5); }
    log_probs.Set(2 * t + 1, NAN);
    target.Set(0, 1), length.Set(0, 3), count.Set(0, 1);
    CtcLossAttrs attrs;
    attrs.max_target_length = 1;
    CHECK_JUST(Call("ctc_loss.cpu.vector", {&log_probs, &target, &length, &count},
                    {&loss, &alpha, &inverse}, &attrs));
    EXPECT_TRUE(std::isnan(loss.At(0))) << "at " << t << ": " << loss.At(0);
  }
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
