// The explorer itself: it counts right, finds classic mistakes, and passes what is correct.
#include "oneflow/common/interleave/explore.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "oneflow/common/atomic.h"
#include "oneflow/common/mutex.h"
#include "oneflow/common/thread.h"

namespace oneflow {
namespace interleave {
namespace {

Options With(Reduction reduction) {
  Options options;
  options.reduction = reduction;
  return options;
}

Report Classes(const std::function<void()>& scenario) {
  return Explore(With(Reduction::kClasses), scenario);
}

// ---- counts

// Each of `threads` threads stores `steps` times to `share ? one : its own` atomic.
std::function<void()> Stores(int threads, int steps, bool share) {
  return [=] {
    std::vector<Atomic<int>*> places;
    for (int t = 0; t < threads; ++t) { places.push_back(new Atomic<int>(0)); }
    std::vector<std::function<void()>> bodies;
    for (int t = 0; t < threads; ++t) {
      bodies.push_back([&places, t, steps, share] {
        for (int i = 0; i < steps; ++i) { places[share ? 0 : static_cast<size_t>(t)]->store(t); }
      });
    }
    Parallel(bodies);
    for (Atomic<int>* place : places) { delete place; }
  };
}

TEST(Count, AllOrdersOfTwoThreadsOfTwoSteps) {
  EXPECT_EQ(Explore(With(Reduction::kNone), Stores(2, 2, false)).schedules, 6u);  // 4! / (2! 2!)
  EXPECT_EQ(Explore(With(Reduction::kNone), Stores(2, 2, true)).schedules, 6u);
}

TEST(Count, AllOrdersOfThreeThreads) {
  EXPECT_EQ(Explore(With(Reduction::kNone), Stores(3, 2, false)).schedules, 90u);  // 6! / 2!^3
  EXPECT_EQ(Explore(With(Reduction::kNone), Stores(2, 5, false)).schedules, 252u);
}

TEST(Count, IndependentStepsAreOneClass) {
  EXPECT_EQ(Classes(Stores(2, 2, false)).schedules, 1u);
  EXPECT_EQ(Classes(Stores(4, 5, false)).schedules, 1u);
}

TEST(Count, DependentStepsAreAClassEach) {
  const Report report = Classes(Stores(2, 2, true));
  EXPECT_EQ(report.schedules, 6u);
  EXPECT_EQ(Classes(Stores(3, 2, true)).schedules, 90u);
}

TEST(Count, ReadersCommute) {
  const auto readers = [] {
    Atomic<int> x{0};
    Parallel({[&] { x.load(); }, [&] { x.load(); }, [&] { x.load(); }});
  };
  EXPECT_EQ(Classes(readers).schedules, 1u);
  EXPECT_EQ(Explore(With(Reduction::kNone), readers).schedules, 6u);
}

TEST(Count, CriticalSectionsInBothOrders) {
  EXPECT_EQ(Classes([] {
              Mutex mutex;
              const auto body = [&] { MutexLock lock(&mutex); };
              Parallel({body, body, body});
            }).schedules,
            6u);
}

TEST(Count, NoPreemptionAtAll) {
  Options options = With(Reduction::kPreemptions);
  options.preemptions = 0;
  EXPECT_EQ(Explore(options, Stores(2, 2, true)).schedules, 2u);
  options.preemptions = 1;
  EXPECT_EQ(Explore(options, Stores(2, 2, true)).schedules, 4u);
  options.preemptions = 2;
  EXPECT_EQ(Explore(options, Stores(2, 2, true)).schedules, 6u);
}

TEST(Count, Choices) {
  EXPECT_EQ(Classes([] { Require(Choose(3) + 3 * Choose(4) < 12, "in range"); }).schedules, 12u);
}

// ---- what has to be found

TEST(Finds, UnlockedCounter) {
  const auto count = [](bool atomically) {
    return [atomically] {
      Atomic<int> n{0};
      const auto body = [&] {
        if (atomically) {
          n.fetch_add(1);
        } else {
          n.store(n.load() + 1);
        }
      };
      Parallel({body, body});
      Require(n.load() == 2, "an increment is lost");
    };
  };
  const Report report = Classes(count(false));
  EXPECT_EQ(report.failure, Failure::kRequirement);
  EXPECT_EQ(report.message, "an increment is lost");
  EXPECT_NE(report.trace.find("explore_test.cc"), std::string::npos) << report.Text();
  EXPECT_TRUE(Classes(count(true)).passed());
}

TEST(Finds, DataRace) {
  const auto write = [](bool locked) {
    return [locked] {
      Mutex mutex;
      Plain<int> x;
      const auto body = [&] {
        if (locked) { mutex.Lock(); }
        x.Write(1);
        if (locked) { mutex.Unlock(); }
      };
      Parallel({body, body});
    };
  };
  EXPECT_EQ(Classes(write(false)).failure, Failure::kDataRace);
  EXPECT_TRUE(Classes(write(true)).passed());
}

TEST(Finds, CrossedLocks) {
  const auto cross = [](bool crossed) {
    return [crossed] {
      Mutex a;
      Mutex b;
      Parallel({[&] {
                  MutexLock first(&a);
                  MutexLock second(&b);
                },
                [&] {
                  MutexLock first(crossed ? &b : &a);
                  MutexLock second(crossed ? &a : &b);
                }});
    };
  };
  const Report report = Classes(cross(true));
  EXPECT_EQ(report.failure, Failure::kDeadlock);
  EXPECT_NE(report.trace.find("is about to lock"), std::string::npos) << report.Text();
  EXPECT_TRUE(Classes(cross(false)).passed());
}

// The waiter looks, and waits; whoever changes what it looks at notifies. With `checked` the look and
// the wait are one critical section.
std::function<void()> Flag(bool checked, bool all, int waiters) {
  return [=] {
    Mutex mutex;
    CondVar changed;
    Atomic<bool> flag{false};
    std::vector<std::function<void()>> bodies;
    for (int i = 0; i < waiters; ++i) {
      bodies.push_back([&] {
        if (!checked && flag.load()) { return; }
        MutexLock lock(&mutex);
        while (checked ? !flag.load() : true) {
          changed.Wait(&mutex);
          if (!checked) { return; }
        }
      });
    }
    bodies.push_back([&] {
      {
        MutexLock lock(&mutex);
        flag.store(true);
      }
      if (all) {
        changed.NotifyAll();
      } else {
        changed.NotifyOne();
      }
    });
    Parallel(bodies);
  };
}

TEST(Finds, LostWakeUp) {
  EXPECT_EQ(Classes(Flag(false, true, 1)).failure, Failure::kDeadlock);
  EXPECT_TRUE(Classes(Flag(true, true, 1)).passed());
  EXPECT_TRUE(Classes(Flag(true, false, 1)).passed());
}

TEST(Finds, NotifyOneForTwoWaiters) {
  EXPECT_EQ(Classes(Flag(true, false, 2)).failure, Failure::kDeadlock);
  EXPECT_TRUE(Classes(Flag(true, true, 2)).passed());
}

TEST(Finds, IfInsteadOfWhile) {
  const auto wait = [](bool loop) {
    return [loop] {
      Mutex mutex;
      CondVar changed;
      bool flag = false;
      Parallel({[&] {
                  MutexLock lock(&mutex);
                  if (!flag) { changed.Wait(&mutex); }
                  while (loop && !flag) { changed.Wait(&mutex); }
                  Require(flag, "woken for nothing");
                },
                [&] {
                  MutexLock lock(&mutex);
                  flag = true;
                  changed.NotifyOne();
                }});
    };
  };
  Options options;
  EXPECT_TRUE(Explore(options, wait(false)).passed());
  options.spurious = 1;
  EXPECT_EQ(Explore(options, wait(false)).failure, Failure::kRequirement);
  EXPECT_TRUE(Explore(options, wait(true)).passed());
}

TEST(Finds, DoubleCheckedInitialisation) {
  const auto initialise = [](bool early) {
    return [early] {
      Mutex mutex;
      Atomic<bool> made{false};
      Plain<int> value;
      const auto body = [&] {
        if (!made.load()) {
          MutexLock lock(&mutex);
          if (!made.load()) {
            if (early) { made.store(true); }
            value.Write(42);
            if (!early) { made.store(true); }
          }
        }
        Require(value.Read() == 42, "not made yet");
      };
      Parallel({body, body});
    };
  };
  const Failure failure = Classes(initialise(true)).failure;
  EXPECT_TRUE(failure == Failure::kDataRace || failure == Failure::kRequirement);
  EXPECT_TRUE(Classes(initialise(false)).passed());
}

TEST(Finds, UseAfterEnd) {
  const auto use = [](bool joined) {
    return [joined] {
      auto* mutex = new Mutex;
      Thread user([=] { MutexLock lock(mutex); });
      if (joined) { user.join(); }
      delete mutex;
      if (!joined) { user.join(); }
    };
  };
  const Failure failure = Classes(use(false)).failure;
  EXPECT_TRUE(failure == Failure::kUseAfterEnd || failure == Failure::kMisuse);
  EXPECT_TRUE(Classes(use(true)).passed());
}

TEST(Finds, ThreadsThatAreLeft) {
  EXPECT_EQ(Classes([] {
              static auto* mutex = new Mutex;
              static auto* condition = new CondVar;
              Thread* thread = new Thread([] {
                MutexLock lock(mutex);
                condition->Wait(mutex);
              });
              static_cast<void>(thread);
            }).failure,
            Failure::kThreadLeft);
  EXPECT_TRUE(Classes([] { static_cast<void>(new Thread([] { Park(); })); }).passed());
  EXPECT_EQ(Classes([] { Thread thread([] { Atomic<int>(1).load(); }); }).failure,
            Failure::kMisuse);
}

TEST(Finds, Misuse) {
  EXPECT_EQ(Classes([] {
              Mutex mutex;
              mutex.Unlock();
            }).failure,
            Failure::kMisuse);
}

TEST(Finds, Crash) {
  const Report report = Classes([] {
    Atomic<int> x{1};
    volatile int* volatile nowhere = nullptr;
    if (x.load() == 1) { *nowhere = 1; }
  });
  EXPECT_EQ(report.failure, Failure::kCrash);
  EXPECT_NE(report.trace.find("load"), std::string::npos) << report.Text();
}

TEST(Finds, ScenarioWithAMemory) {
  EXPECT_EQ(Classes([] {
              static int runs = 0;
              Atomic<int> x{0};
              ++runs;
              const auto body = [&] {
                if (runs == 1) {
                  x.store(1);
                } else {
                  x.load();
                }
              };
              Parallel({body, body});
            }).failure,
            Failure::kNotDeterministic);
}

TEST(Finds, TooManySchedules) {
  Options options;
  options.max_schedules = 50;
  EXPECT_EQ(Explore(options, Stores(3, 2, true)).failure, Failure::kTooMany);
}

TEST(Finds, PollingForEver) {
  const auto poll = [](bool stored) {
    return [stored] {
      Atomic<bool> flag{false};
      Parallel({[&] {
                  while (!flag.load()) { PausePolling(std::chrono::milliseconds(1)); }
                },
                [&] {
                  if (stored) { flag.store(true); }
                }});
    };
  };
  EXPECT_EQ(Classes(poll(false)).failure, Failure::kLivelock);
  EXPECT_TRUE(Classes(poll(true)).passed());
}

TEST(Finds, WhatATimeOutLeavesBehind) {
  const auto wait = [] {
    Mutex mutex;
    CondVar changed;
    bool flag = false;
    Parallel({[&] {
                MutexLock lock(&mutex);
                if (!flag) { changed.WaitFor(&mutex, std::chrono::seconds(1)); }
                Require(flag, "too late");
              },
              [&] {
                MutexLock lock(&mutex);
                flag = true;
                changed.NotifyAll();
              }});
  };
  Options options;
  EXPECT_TRUE(Explore(options, wait).passed());
  options.timeouts = 1;
  EXPECT_EQ(Explore(options, wait).failure, Failure::kRequirement) << Explore(options, wait).Text();
  options.reduction = Reduction::kNone;
  EXPECT_EQ(Explore(options, wait).failure, Failure::kRequirement) << Explore(options, wait).Text();
}

// ---- what is correct

TEST(Passes, Peterson) {
  const auto peterson = [](bool correct) {
    return [correct] {
      Atomic<int> wants[2];
      Atomic<int> turn{0};
      Plain<int> section;
      const auto body = [&](int me) {
        if (correct) { wants[me].store(1); }
        turn.store(1 - me);
        if (!correct) { wants[me].store(1); }
        while (wants[1 - me].load() == 1 && turn.load() == 1 - me) { PauseSpinning(); }
        section.Write(me);
        wants[me].store(0);
      };
      Parallel({[&] { body(0); }, [&] { body(1); }});
    };
  };
  EXPECT_TRUE(Classes(peterson(true)).passed()) << Classes(peterson(true)).Text();
  EXPECT_EQ(Classes(peterson(false)).failure, Failure::kDataRace);
}

TEST(Passes, BoundedQueue) {
  const Report report = Classes([] {
    constexpr size_t kRoom = 1;
    Mutex mutex;
    CondVar not_full;
    CondVar not_empty;
    std::vector<int> queue;
    int sum = 0;
    const auto produce = [&](int value) {
      MutexLock lock(&mutex);
      while (queue.size() == kRoom) { not_full.Wait(&mutex); }
      queue.push_back(value);
      not_empty.NotifyOne();
    };
    Parallel({[&] { produce(1); }, [&] { produce(2); },
              [&] {
                for (int i = 0; i < 2; ++i) {
                  MutexLock lock(&mutex);
                  while (queue.empty()) { not_empty.Wait(&mutex); }
                  sum += queue.back();
                  queue.pop_back();
                  not_full.NotifyOne();
                }
              }});
    Require(sum == 3, "a value is lost");
  });
  EXPECT_TRUE(report.passed()) << report.Text();
  EXPECT_GT(report.schedules, 6u);
}

// ---- replay

TEST(Replay, FailsInTheSameWay) {
  const auto lose = [] {
    Atomic<int> n{0};
    const auto body = [&] { n.store(n.load() + 1); };
    Parallel({body, body, body});
    Require(n.load() == 3, "an increment is lost");
  };
  const Report first = Classes(lose);
  ASSERT_EQ(first.failure, Failure::kRequirement);
  Options options;
  options.replay = first.schedule;
  const Report again = Explore(options, lose);
  EXPECT_EQ(again.failure, Failure::kRequirement);
  EXPECT_EQ(again.trace, first.trace);
  EXPECT_EQ(again.schedule, first.schedule);
}

}  // namespace
}  // namespace interleave
}  // namespace oneflow
