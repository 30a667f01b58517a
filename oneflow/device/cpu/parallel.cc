#include "oneflow/device/cpu/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#if defined(_OPENMP)
#include <omp.h>
#endif

#include "oneflow/common/env_var.h"
#include "oneflow/common/mutex.h"
#include "oneflow/device/cpu/team.h"

namespace oneflow {
namespace cpu {

namespace {

// Splitting costs a few microseconds of waking and joining: each thread needs this much to do.
constexpr double kCostPerThreadNs = 10e3;
// OpenMP ends the process when it cannot start as many threads as it is asked for.
constexpr int kMaxThreads = 1024;

int DefaultThreads() {
#if defined(_OPENMP)
  const int64_t asked = EnvInt64("ONEFLOW_CPU_THREADS", EnvInt64("OMP_NUM_THREADS", 0));
  if (asked > 0) { return static_cast<int>(std::min<int64_t>(asked, kMaxThreads)); }
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) { return std::max(1, CPU_COUNT(&set)); }
#endif
  return 1;
}

std::atomic<int> num_threads{0};  // 0: not asked for yet
Mutex compute_token;
thread_local int region_depth = 0;

using Clock = std::chrono::steady_clock;

// For so long after a region its workers poll for the next one (GOMP_SPINCOUNT), each on its core.
constexpr std::chrono::microseconds kAwake(10);
// When the calling thread's team was last seen to be together; the start of the clock: it is not known.
thread_local Clock::time_point seen_together;
[[maybe_unused]] thread_local int team_size = 0;  // without OpenMP

}  // namespace

int NumThreads() {
  int n = num_threads.load(std::memory_order_relaxed);
  if (n == 0) {
    n = DefaultThreads();
    num_threads.store(n, std::memory_order_relaxed);
  }
  return n;
}

void SetNumThreads(int threads) {
#if !defined(_OPENMP)
  threads = 1;
#endif
  num_threads.store(std::min(std::max(threads, 1), kMaxThreads), std::memory_order_relaxed);
}

int ThreadsForCost(double cost_ns) {
  if (cost_ns < 2 * kCostPerThreadNs) { return 1; }
  const double wanted = std::min(cost_ns / kCostPerThreadNs, 1e6);
  return std::min(NumThreads(), static_cast<int>(wanted));
}

ParallelRegion::ParallelRegion(int threads, Ends ends) : threads_(threads), ends_(ends) {
  // Nested regions of one kernel (our loop around a library call) hold the token once.
  const bool outermost = threads_ > 1 && region_depth++ == 0;
  if (outermost) { compute_token.Lock(); }
#if defined(_OPENMP)
  omp_threads_before_ = omp_get_max_threads();
  if (omp_threads_before_ != threads_) { omp_set_num_threads(threads_); }
  if (outermost) {
    const bool together = team_size == threads_ && Clock::now() - seen_together < kAwake;
    if (!together) { AssembleTeam(threads_); }
    team_size = threads_;
    seen_together = ends_ == kWatched ? Clock::time_point::max() : Clock::time_point();
  }
#endif
}

ParallelRegion::~ParallelRegion() {
#if defined(_OPENMP)
  if (omp_threads_before_ != threads_) { omp_set_num_threads(omp_threads_before_); }
#endif
  if (threads_ > 1 && --region_depth == 0) {
    if (seen_together == Clock::time_point::max()) { seen_together = Clock::now(); }
    compute_token.Unlock();
  }
}

void AwaitThreads(const std::atomic<int>& done, int threads) {
  constexpr std::chrono::microseconds kPatience(80);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (done.load(std::memory_order_acquire) < threads) {
    if (std::chrono::steady_clock::now() < end) { continue; }
    seen_together = Clock::time_point();
    return;
  }
}

void LockForFork() ONEFLOW_TSA_(no_thread_safety_analysis) { compute_token.Lock(); }

void UnlockInParent() ONEFLOW_TSA_(no_thread_safety_analysis) { compute_token.Unlock(); }

void ResetInChild() ONEFLOW_TSA_(no_thread_safety_analysis) {
  compute_token.Unlock();
  // The parent's OpenMP team does not exist here, and libgomp would wait for it for ever.
  SetNumThreads(1);
}

}  // namespace cpu
}  // namespace oneflow
