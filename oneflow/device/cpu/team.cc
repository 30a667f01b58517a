#include "oneflow/device/cpu/team.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace oneflow {
namespace cpu {

namespace {

using Clock = std::chrono::steady_clock;

// A worker that polls answers in less than this; one that was asleep on an idle core in 20 to 60 us.
constexpr std::chrono::microseconds kPrompt(5);
constexpr std::chrono::microseconds kPatience(80);

[[maybe_unused]] pid_t ThreadId() {  // without OpenMP
  thread_local const pid_t id = static_cast<pid_t>(syscall(SYS_gettid));
  return id;
}

// Written by one worker, read by the thread that opened the region; a cache line of its own.
struct alignas(64) Member {
  std::atomic<uint64_t> round{0};  // the last one it showed up in
  std::atomic<pid_t> thread{0};
};

struct Team {
  std::unique_ptr<Member[]> members;
  int capacity = 0;
  uint64_t round = 0;
};

#if defined(_OPENMP)

bool AllHere(const Team& team, int threads) {
  for (int i = 1; i < threads; ++i) {
    if (team.members[i].round.load(std::memory_order_acquire) != team.round) { return false; }
  }
  return true;
}

void PushMissing(const Team& team, int threads) {
  const int core = sched_getcpu();
  if (core < 0) { return; }
  for (int i = 1; i < threads; ++i) {
    const Member& member = team.members[i];
    if (member.round.load(std::memory_order_acquire) == team.round) { continue; }
    const pid_t thread = member.thread.load(std::memory_order_relaxed);
    if (thread != 0) { PushFromCore(thread, core); }
  }
}

void AwaitTeam(const Team& team, int threads) {
  const auto start = Clock::now();
  bool pushed = false;
  while (!AllHere(team, threads)) {
    const auto waited = Clock::now() - start;
    if (waited > kPatience) { return; }
    if (!pushed && waited > kPrompt) {
      PushMissing(team, threads);
      pushed = true;
    }
  }
}

#endif

}  // namespace

void AssembleTeam(int threads) {
#if defined(_OPENMP)
  thread_local Team own;
  Team* const team = &own;  // the workers' own `own` is another one
  if (team->capacity < threads) {
    team->members = std::make_unique<Member[]>(static_cast<size_t>(threads));
    team->capacity = threads;
  }
  ++team->round;
#pragma omp parallel num_threads(threads)
  {
    const int index = omp_get_thread_num();
    if (index == 0) {
      AwaitTeam(*team, omp_get_num_threads());
    } else {
      team->members[index].thread.store(ThreadId(), std::memory_order_relaxed);
      team->members[index].round.store(team->round, std::memory_order_release);
    }
  }
#else
  static_cast<void>(threads);
#endif
}

bool PushFromCore(pid_t thread, int core) {
  // libgomp ends threads that a smaller team does not need; the number may be another process's now.
  if (syscall(SYS_tgkill, getpid(), thread, 0) != 0) { return false; }
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(thread, sizeof(allowed), &allowed) != 0) { return false; }
  cpu_set_t others = allowed;
  CPU_CLR(core, &others);
  if (CPU_COUNT(&others) == 0 || !CPU_ISSET(core, &allowed)) { return false; }
  if (sched_setaffinity(thread, sizeof(others), &others) != 0) { return false; }
  sched_setaffinity(thread, sizeof(allowed), &allowed);
  return true;
}

}  // namespace cpu
}  // namespace oneflow
