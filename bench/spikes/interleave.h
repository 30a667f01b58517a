#ifndef BENCH_SPIKES_INTERLEAVE_H_
#define BENCH_SPIKES_INTERLEAVE_H_

// Interleaved measurement for the design spikes.
//
// Each round runs every variant once, in an order drawn anew, so that slow drift of the host falls
// on all of them alike. The first variant is registered twice, as a control; `ControlAgrees` says
// when a column is to be believed.
//
// Not thread-safe; `Run` blocks until all rounds are done.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace oneflow::spikes {

// Linear interpolation between order statistics; `fraction` in [0, 1], `samples` not empty.
inline double Quantile(std::vector<double> samples, double fraction) {
  std::sort(samples.begin(), samples.end());
  const double position = fraction * static_cast<double>(samples.size() - 1);
  const size_t below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, samples.size() - 1);
  return samples[below] +
         (position - static_cast<double>(below)) * (samples[above] - samples[below]);
}

inline double Median(const std::vector<double>& samples) { return Quantile(samples, 0.5); }

inline double Iqr(const std::vector<double>& samples) {
  return Quantile(samples, 0.75) - Quantile(samples, 0.25);
}

// Whether two measurements of the same thing agree: their medians differ by no more than the larger
// of their interquartile ranges, and that range is within a tenth of the median. Without the second
// part a host so noisy that it excuses any difference would pass.
inline bool ControlAgrees(double median_a, double iqr_a, double median_b, double iqr_b) {
  const double spread = std::max(iqr_a, iqr_b);
  return std::fabs(median_a - median_b) <= spread && spread <= 0.1 * std::min(median_a, median_b);
}

class Interleave {
 public:
  // A variant gives one number for each column.
  using Variant = std::function<std::vector<double>()>;

  explicit Interleave(std::vector<std::string> columns) : columns_(std::move(columns)) {}

  void Add(std::string name, Variant variant) {
    names_.push_back(std::move(name));
    variants_.push_back(std::move(variant));
  }

  // REQUIRES: at least one variant. Adds the control, warms every variant up, runs the rounds.
  void Run(int rounds, unsigned seed) {
    Add(names_[0] + " (again)", variants_[0]);
    const size_t count = variants_.size();
    samples_.assign(count, std::vector<std::vector<double>>(columns_.size()));
    for (const Variant& variant : variants_) variant();
    std::mt19937 random(seed);
    std::vector<size_t> order(count);
    for (size_t i = 0; i < count; ++i) order[i] = i;
    for (int round = 0; round < rounds; ++round) {
      std::shuffle(order.begin(), order.end(), random);
      for (size_t i : order) {
        const std::vector<double> values = variants_[i]();
        for (size_t c = 0; c < columns_.size(); ++c) samples_[i][c].push_back(values[c]);
      }
    }
  }

  double MedianOf(size_t variant, size_t column) const { return Median(samples_[variant][column]); }
  double IqrOf(size_t variant, size_t column) const { return Iqr(samples_[variant][column]); }

  // Whether the first variant agrees with its repetition.
  bool Valid(size_t column) const {
    const size_t again = variants_.size() - 1;
    return ControlAgrees(MedianOf(0, column), IqrOf(0, column), MedianOf(again, column),
                         IqrOf(again, column));
  }

  void Print() const {
    std::printf("%-34s", "median (IQR)");
    for (const std::string& column : columns_) std::printf("%22s", column.c_str());
    std::printf("\n");
    for (size_t i = 0; i < variants_.size(); ++i) {
      std::printf("%-34s", names_[i].c_str());
      for (size_t c = 0; c < columns_.size(); ++c) {
        std::printf("%12.2f (%7.2f)", MedianOf(i, c), IqrOf(i, c));
      }
      std::printf("\n");
    }
    std::printf("%-34s", "control");
    for (size_t c = 0; c < columns_.size(); ++c) {
      std::printf("%22s", Valid(c) ? "valid" : "host invalid");
    }
    std::printf("\n");
    std::fflush(stdout);
  }

 private:
  std::vector<std::string> columns_;
  std::vector<std::string> names_;
  std::vector<Variant> variants_;
  std::vector<std::vector<std::vector<double>>> samples_;  // [variant][column][round]
};

}  // namespace oneflow::spikes

#endif  // BENCH_SPIKES_INTERLEAVE_H_
