// The reduction loses nothing: random programs end in the same ways with it and without it.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "oneflow/common/atomic.h"
#include "oneflow/common/interleave/explore.h"
#include "oneflow/common/mutex.h"
#include "oneflow/common/thread.h"

namespace oneflow {
namespace interleave {
namespace {

#ifndef ONEFLOW_INTERLEAVE_PROGRAMS
#define ONEFLOW_INTERLEAVE_PROGRAMS 150  // the nightly target has more
#endif
constexpr int kPrograms = ONEFLOW_INTERLEAVE_PROGRAMS;
constexpr uint64_t kMaxSchedules =
    kPrograms > 1000 ? 200'000 : 10'000;  // of one, without reduction

enum class Action : int {
  kLoad,
  kStore,
  kAdd,
  kSwap,
  kSection,  // a critical section that loads and stores
  kNested,   // two locks, always in the same order
  kTryLock,
  kWaitTimed,  // under the lock, until notified or late
  kWait,       // the same, or until woken for no reason
  kPoll,       // until the value is not 0
  kNotify,
  kLast = kNotify,
};

struct Command {
  Action action;
  size_t place;
  int value;
};
using Program = std::vector<std::vector<Command>>;

Program Draw(uint32_t seed) {
  std::mt19937 random(seed);
  const auto draw = [&](int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); };
  const int threads = 2 + draw(2);
  Program program(static_cast<size_t>(threads));
  for (auto& commands : program) {
    const int length = threads == 2 ? 2 + draw(2) : 1 + draw(2);
    for (int i = 0; i < length; ++i) {
      commands.push_back({static_cast<Action>(draw(static_cast<int>(Action::kLast) + 1)),
                          static_cast<size_t>(draw(2)), 1 + draw(5)});
    }
  }
  return program;
}

// Threads by ";", commands as action/place/value.
std::string Text(const Program& program) {
  std::string text;
  for (const auto& commands : program) {
    for (const Command& command : commands) {
      text += std::to_string(static_cast<int>(command.action)) + "/" +
              std::to_string(command.place) + "/" + std::to_string(command.value) + " ";
    }
    text += "; ";
  }
  return text;
}

// What the threads of one schedule share.
struct World {
  Atomic<int> values[2];
  Mutex mutexes[2];
  CondVar conditions[2];
  int guarded = 0;

  // What the command saw.
  int Do(const Command& command) {
    Atomic<int>& value = values[command.place];
    Mutex& mutex = mutexes[command.place];
    switch (command.action) {
      case Action::kLoad: return value.load();
      case Action::kStore: value.store(command.value); return 0;
      case Action::kAdd: return value.fetch_add(command.value);
      case Action::kSwap: {
        int expected = 0;
        return value.compare_exchange_strong(expected, command.value) ? 1 : 0;
      }
      case Action::kSection: {
        MutexLock lock(&mutex);
        const int seen = value.load();
        value.store(seen * 3 + command.value);
        return seen;
      }
      case Action::kNested: {
        MutexLock outer(&mutexes[0]);
        MutexLock inner(&mutexes[1]);
        return guarded = guarded * 2 + command.value;
      }
      case Action::kTryLock:
        if (!mutex.TryLock()) { return 7; }
        value.fetch_add(command.value);
        mutex.Unlock();
        return 8;
      case Action::kWaitTimed: {
        MutexLock lock(&mutex);
        return conditions[command.place].WaitFor(&mutex, std::chrono::seconds(command.value)) ? 1
                                                                                              : 2;
      }
      case Action::kWait: {
        MutexLock lock(&mutex);
        conditions[command.place].Wait(&mutex);
        return 3;
      }
      case Action::kPoll:
        while (value.load() == 0) { PausePolling(std::chrono::seconds(1)); }
        return value.load();
      case Action::kNotify: conditions[command.place].NotifyOne(); return 0;
    }
    return 0;
  }
};

struct Ends {
  Report report;
  std::set<std::string> ends;
};

// In this process, so that the scenario can leave its ends here.
Ends EndsOf(const Program& program, Reduction reduction) {
  Ends out;
  Options options;
  options.reduction = reduction;
  options.timeouts = options.spurious = 3;  // as many as a thread can wait
  options.max_schedules = kMaxSchedules;
  options.in_this_process = true;
  out.report = Explore(options, [&] {
    World world;
    std::vector<std::string> seen(program.size());
    std::vector<std::function<void()>> bodies;
    for (size_t t = 0; t < program.size(); ++t) {
      bodies.push_back([&, t] {
        for (const Command& command : program[t]) {
          seen[t] += std::to_string(world.Do(command)) + ",";
        }
      });
    }
    Parallel(bodies);
    std::string end;
    for (const std::string& text : seen) { end += text + ";"; }
    out.ends.insert(end + std::to_string(world.values[0]) + "," + std::to_string(world.values[1]) +
                    "," + std::to_string(world.guarded));
  });
  return out;
}

TEST(Reduction, RandomProgramsEndInTheSameWays) {
  uint64_t all = 0;
  uint64_t classes = 0;
  int compared = 0;
  for (uint32_t seed = 1; seed <= static_cast<uint32_t>(kPrograms); ++seed) {
    const Program program = Draw(seed);
    const Ends every = EndsOf(program, Reduction::kNone);
    if (every.report.failure == Failure::kTooMany) { continue; }
    const Ends reduced = EndsOf(program, Reduction::kClasses);
    // A few poll for what nobody changes.
    ASSERT_EQ(every.report.passed(), reduced.report.passed()) << seed << ": " << Text(program);
    if (!every.report.passed()) { continue; }
    ASSERT_EQ(every.ends, reduced.ends) << "seed " << seed << ": " << Text(program);
    ASSERT_LE(reduced.report.schedules, every.report.schedules);
    all += every.report.schedules;
    classes += reduced.report.schedules;
    ++compared;
  }
  EXPECT_GE(compared, kPrograms * 3 / 5);
  std::printf("%d programs: %llu schedules in all, %llu with reduction\n", compared,
              static_cast<unsigned long long>(all), static_cast<unsigned long long>(classes));
}

}  // namespace
}  // namespace interleave
}  // namespace oneflow
