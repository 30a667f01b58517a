// How long a parallel region of two threads takes, by how libgomp's threads wait for each other.
//
// libgomp reads its policy once, when it is loaded, so that each sample is a process of its own: this
// program starts itself anew with GOMP_SPINCOUNT set. Run it on a quiet host and on a busy one; the
// default (about 300,000 polls before a thread sleeps) differs between the two by far more than any
// kernel could win. docs/decisions/0002-inline-or-queued.md quotes the figures.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "bench/spikes/interleave.h"

namespace oneflow::spikes {
namespace {

constexpr int kRegions = 100;

void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "omp_wait: %s\n", what);
  std::exit(1);
}

// Sums `count` integers in two threads, `kRegions` times; microseconds for each region.
std::vector<double> TimeRegions(long count, int gap_us) {
  std::vector<double> samples;
  for (int region = 0; region < kRegions; ++region) {
    if (gap_us > 0) usleep(gap_us);
    const auto start = std::chrono::steady_clock::now();
    unsigned long sum = 0;
#pragma omp parallel for num_threads(2) reduction(+ : sum) schedule(static)
    for (long i = 0; i < count; ++i) {
      unsigned long value = static_cast<unsigned long>(i);
      asm volatile("" : "+r"(value));  // keeps the loop from being replaced by its formula
      sum += value;
    }
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    Require(sum == static_cast<unsigned long>(count) * (count - 1) / 2, "the sum is wrong");
    samples.push_back(took.count());
  }
  return samples;
}

int Child(long count, int gap_us) {
  TimeRegions(count, gap_us);  // starts the team
  const std::vector<double> samples = TimeRegions(count, gap_us);
  const double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / samples.size();
  std::printf("%.3f %.3f\n", Median(samples), mean);
  return 0;
}

// Median and mean of a child's regions.
std::vector<double> RunChild(const std::string& program, const std::string& spins, long count,
                             int gap_us) {
  const std::string setting = spins.empty() ? "" : "GOMP_SPINCOUNT=" + spins + " ";
  const std::string command =
      setting + "'" + program + "' --child " + std::to_string(count) + " " + std::to_string(gap_us);
  FILE* pipe = popen(command.c_str(), "r");
  Require(pipe != nullptr, "cannot start itself");
  double median = 0, mean = 0;
  const int fields = std::fscanf(pipe, "%lf %lf", &median, &mean);
  Require(pclose(pipe) == 0 && fields == 2, "a child failed");
  return {median, mean};
}

int Main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "--child") == 0) {
    return Child(std::atol(argv[2]), std::atoi(argv[3]));
  }
  const int rounds = argc == 3 && std::strcmp(argv[1], "--rounds") == 0 ? std::atoi(argv[2]) : 9;
  unsetenv("OMP_WAIT_POLICY");
  unsetenv("GOMP_SPINCOUNT");
  const std::string program = argv[0];
  for (long count : {40000L, 1000000L}) {
    for (int gap_us : {0, 200}) {
      std::printf("\n%ld additions in 2 threads, %d us of sleep before; us per region\n", count,
                  gap_us);
      Interleave table({"median", "mean"});
      for (const char* spins : {"", "100000", "10000", "1000", "100", "0"}) {
        const std::string name =
            *spins == '\0' ? "default" : std::string("GOMP_SPINCOUNT=") + spins;
        table.Add(name, [=] { return RunChild(program, spins, count, gap_us); });
      }
      table.Run(rounds, 1);
      table.Print();
    }
  }
  return 0;
}

}  // namespace
}  // namespace oneflow::spikes

int main(int argc, char** argv) { return oneflow::spikes::Main(argc, argv); }
