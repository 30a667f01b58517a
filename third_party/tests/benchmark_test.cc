#include "benchmark/benchmark.h"
#include "gtest/gtest.h"

namespace {

class CountingReporter : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override { count_ += runs.size(); }
  size_t count() const { return count_; }

 private:
  size_t count_ = 0;
};

void AddOne(benchmark::State& state) {
  int value = 0;
  for (auto _ : state) { benchmark::DoNotOptimize(value += 1); }
}
BENCHMARK(AddOne)->Iterations(10);

TEST(Benchmark, RunsWhatIsRegistered) {
  CountingReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  EXPECT_EQ(reporter.count(), 1u);
}

}  // namespace
