// Threads inside one kernel, and the token that keeps kernels from fighting over cores.
//
// One compute token exists for each process: only its holder opens a parallel region with more than
// one thread. A kernel that finds the token taken waits for it (kernels are the only holders, so
// the wait is bounded by one kernel).
//
// The split of work never depends on how many threads there are: ParallelFor cuts [0, n) into fixed
// chunks of `grain`, so a reduction that keeps one partial result for each chunk gives the same
// bits on any machine.
//
// Threads come from OpenMP. In builds without it (tsan) everything runs on the calling thread.
#ifndef ONEFLOW_DEVICE_CPU_PARALLEL_H_
#define ONEFLOW_DEVICE_CPU_PARALLEL_H_

#include <atomic>
#include <cstdint>

namespace oneflow {
namespace cpu {

// Default: the cores of the process's cpuset, at least 1; ONEFLOW_CPU_THREADS or OMP_NUM_THREADS
// set another number; SetNumThreads changes it. After fork the child has 1.
int NumThreads();
void SetNumThreads(int threads);

// How many threads a kernel of this estimated serial cost (in nanoseconds) should use: as many as
// have 10 us to do each, at most NumThreads(). A pure function of cost and NumThreads().
int ThreadsForCost(double cost_ns);

// Held around anything that opens a parallel region with `threads` > 1; free for threads == 1.
// Sets OpenMP's thread count of the calling thread for its life; another library in the process
// sees its own again afterwards. Assembles the team first (team.h), unless it is known to be together.
class ParallelRegion {
 public:
  // Does AwaitThreads say at the region's end whether a worker was late? If none was, a region that
  // follows within some microseconds finds all of them polling.
  enum Ends { kUnknown, kWatched };

  explicit ParallelRegion(int threads, Ends ends = kUnknown);
  ~ParallelRegion();
  ParallelRegion(const ParallelRegion&) = delete;
  ParallelRegion& operator=(const ParallelRegion&) = delete;

 private:
  int threads_;
  Ends ends_;
  int omp_threads_before_ = 0;
};

// Around fork().
void LockForFork();
void UnlockInParent();
void ResetInChild();

// For a region that is kWatched: polls until `done` is `threads`, for at most 80 us: longer than waking a thread takes. libgomp's
// barrier polls for less, and threads that all sleep there are still being woken when the next
// region begins.
void AwaitThreads(const std::atomic<int>& done, int threads);

// Calls body(begin, end) for chunks [k * grain, min(n, (k + 1) * grain)), on `threads` threads.
// `body` must not throw.
template <typename Body>
void ParallelFor(int threads, int64_t n, int64_t grain, const Body& body) {
  if (n <= 0) { return; }
  const int64_t chunks = (n + grain - 1) / grain;
  if (threads <= 1 || chunks == 1) {
    for (int64_t c = 0; c < chunks; ++c) {
      const int64_t begin = c * grain;
      body(begin, begin + grain < n ? begin + grain : n);
    }
    return;
  }
  const ParallelRegion region(threads, ParallelRegion::kWatched);
#if defined(_OPENMP)
  std::atomic<int> done{0};
#pragma omp parallel num_threads(threads)
  {
#pragma omp for schedule(static) nowait
    for (int64_t c = 0; c < chunks; ++c) {
      const int64_t begin = c * grain;
      body(begin, begin + grain < n ? begin + grain : n);
    }
    done.fetch_add(1, std::memory_order_release);
#pragma omp master
    AwaitThreads(done, threads);
  }
#else
  for (int64_t c = 0; c < chunks; ++c) {
    const int64_t begin = c * grain;
    body(begin, begin + grain < n ? begin + grain : n);
  }
#endif
}

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_DEVICE_CPU_PARALLEL_H_
