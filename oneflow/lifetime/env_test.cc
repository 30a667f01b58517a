#include "oneflow/lifetime/env.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "oneflow/common/host_hooks.h"
#include "oneflow/common/log.h"
#include "oneflow/lifetime/fakes_testlib.h"
#include "oneflow/lifetime/late_exit.h"
#include "oneflow/lifetime/runtime_thread.h"

namespace oneflow {
namespace lifetime {
namespace {

using Lines = std::vector<std::string>;

class EnvTest : public ::testing::Test {
 protected:
  EnvTest() {
    ::testing::FLAGS_gtest_death_test_style = "threadsafe";
    ::unsetenv("ONEFLOW_SHUTDOWN_TIMEOUT_SECONDS");
  }
};
using EnvDeathTest = EnvTest;

TEST_F(EnvTest, StartsInOrderAndStopsInReverse) {
  LifetimeRecorder recorder;
  Env env;
  EXPECT_EQ(env.state(), EnvState::kNotStarted);
  CHECK_JUST(env.Register(std::make_unique<FakeSubsystem>("vm")));
  CHECK_JUST(env.Register(std::make_unique<FakeSubsystem>("comm")));
  CHECK_JUST(env.Start());
  EXPECT_EQ(env.state(), EnvState::kRunning);
  CHECK_JUST(env.session()->AddGraph(std::make_unique<FakeGraph>("A")));
  CHECK_JUST(env.session()->AddGraph(std::make_unique<FakeGraph>("B")));
  for (int i = 0; i < 2; ++i) { env.Shutdown(); }
  EXPECT_EQ(env.state(), EnvState::kClosed);
  EXPECT_TRUE(RuntimeThreadNames().empty());
  EXPECT_EQ(recorder.lines(),
            (Lines{"create env 'env'", "create session '1'", "start subsystem 'vm'",
                   "start subsystem 'comm'", "create graph 'A'", "create graph 'B'",
                   "close env 'env'", "close session '1'", "close graph 'B'",
                   "destructor fake graph 'B'", "destruct graph 'B'", "close graph 'A'",
                   "destructor fake graph 'A'", "destruct graph 'A'", "destruct session '1'",
                   "stop subsystem 'comm'", "stop subsystem 'vm'", "closed env 'env'"}));
}

TEST_F(EnvTest, AfterShutdownGraphsRaise) {
  Env env;
  CHECK_JUST(env.Start());
  const GraphHandle handle =
      CHECK_JUST(env.session()->AddGraph(std::make_unique<FakeGraph>("LinearGraph_0")));
  env.Shutdown();
  EXPECT_EQ(env.session()->Acquire(handle).error()->message(), "graph 'LinearGraph_0' is closed");
  EXPECT_EQ(env.CheckOpen("[all_reduce]").error()->message(),
            "[all_reduce] cannot be used: the runtime is shutting down");
  // What a late __del__ does.
  env.session()->PostCloseGraph(handle);
  EXPECT_TRUE(env.session()->CloseGraph(handle).ok());
  EXPECT_TRUE(env.session()->Close().ok());
  EXPECT_TRUE(RuntimeThreadNames().empty());
}

TEST_F(EnvTest, ShutdownWithoutStartIsSilent) {
  LifetimeRecorder recorder;
  Env env;
  env.Shutdown();
  EXPECT_EQ(env.state(), EnvState::kNotStarted);
  EXPECT_EQ(recorder.lines().size(), 2u);  // only the two that were created
}

TEST_F(EnvTest, AFailedStartStopsWhatWasStarted) {
  LifetimeRecorder recorder;
  Env env;
  CHECK_JUST(env.Register(std::make_unique<FakeSubsystem>("vm")));
  auto bad = std::make_unique<FakeSubsystem>("cuda");
  bad->fails = true;
  CHECK_JUST(env.Register(std::move(bad)));
  CHECK_JUST(env.Register(std::make_unique<FakeSubsystem>("comm")));
  Maybe<void> started = env.Start();
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error()->message(), "subsystem 'cuda' does not start: no such device");
  const Lines lines = recorder.lines();
  EXPECT_EQ(Lines(lines.begin() + 2, lines.end()),
            (Lines{"start subsystem 'vm'", "start subsystem 'cuda'", "stop subsystem 'vm'"}));
  env.Shutdown();
}

TEST_F(EnvTest, RegistrationIsChecked) {
  Env env;
  CHECK_JUST(env.Register(std::make_unique<FakeSubsystem>("vm")));
  EXPECT_FALSE(env.Register(std::make_unique<FakeSubsystem>("vm")).ok());
  CHECK_JUST(env.Start());
  EXPECT_FALSE(env.Start().ok());
  EXPECT_FALSE(env.Register(std::make_unique<FakeSubsystem>("late")).ok());
  env.Shutdown();
}

TEST_F(EnvTest, TwoShutdownsAtOnceBothWait) {
  Hold hold;
  hold.held = true;
  Env env;
  CHECK_JUST(env.Register(std::make_unique<FakeSubsystem>("vm", &hold)));
  CHECK_JUST(env.Start());
  std::thread other([&] { env.Shutdown(); });
  std::thread release([&] {
    while (!hold.reached) { SleepMs(1); }
    SleepMs(20);
    hold.held = false;
  });
  while (!hold.reached) { SleepMs(1); }
  env.Shutdown();
  EXPECT_EQ(env.state(), EnvState::kClosed);
  other.join();
  release.join();
}

TEST_F(EnvTest, ShutdownOnARuntimeThreadPosts) {
  Env env;
  CHECK_JUST(env.Start());
  std::thread worker([&] {
    ScopedRuntimeThread runtime_thread("worker");
    env.Shutdown();
  });
  worker.join();
  for (int i = 0; i < 5000 && env.state() != EnvState::kClosed; ++i) { SleepMs(1); }
  EXPECT_EQ(env.state(), EnvState::kClosed);
}

// A Python of one thread: whether its lock is held, and whether a signal handler will raise.
std::atomic<bool> lock_held{true};
std::atomic<bool> lock_was_free{false};
int interrupts = 0;

void InstallHost() {
  HostHooks hooks;
  hooks.leave = []() -> void* {
    lock_held = false;
    return &lock_held;
  };
  hooks.enter = [](void*) { lock_held = true; };
  hooks.poll_signals = []() -> Maybe<void> {
    if (interrupts == 0) { return Ok(); }
    --interrupts;
    return MakeIntrusive<Error>(ErrorKind::kInterrupted, "KeyboardInterrupt");
  };
  SetHostHooks(hooks);
}

class NeedsTheLockFree : public Subsystem {
 public:
  const char* name() const override { return "needs-the-lock"; }
  void Stop(Deadline deadline) override {
    while (!lock_was_free && !deadline.Expired()) { lock_was_free = !lock_held.load(); }
  }
};

TEST_F(EnvDeathTest, TheHostsLockIsFreeWhileWaitingAndHeldAfterwards) {
  const auto run = [] {
    InstallHost();
    auto* env = new Env;
    CHECK_JUST(env->Register(std::make_unique<NeedsTheLockFree>()));
    CHECK_JUST(env->Start());
    env->Shutdown();
    ::_exit(lock_was_free && lock_held ? 7 : 1);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(7), "");
}

void HangIn(const char* what, int status) {
  ::setenv("ONEFLOW_SHUTDOWN_TIMEOUT_SECONDS", "0.2", 1);
  auto* hold = new Hold;
  hold->held = true;
  auto* env = new Env;
  const bool in_vm = std::string(what) == "vm";
  CHECK_JUST(env->Register(std::make_unique<FakeSubsystem>("vm", in_vm ? hold : nullptr)));
  CHECK_JUST(env->Start());
  Hold* graph_hold = in_vm ? nullptr : hold;
  const GraphHandle handle = CHECK_JUST(
      env->session()->AddGraph(std::make_unique<FakeGraph>("LinearGraph_0", graph_hold)));
  std::thread([] {
    ScopedRuntimeThread thread("vm-cpu-0");
    SleepMs(60000);
  }).detach();
  while (RuntimeThreadNames().empty()) { SleepMs(1); }
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  ::setvbuf(stdout, nullptr, _IOFBF, 4096);
  std::printf("last words\n");
  if (std::string(what) == "graph close") { static_cast<void>(env->session()->CloseGraph(handle)); }
  env->Shutdown(status);
  ::_exit(99);
}

TEST_F(EnvDeathTest, AHangingSubsystemIsNamed) {
  EXPECT_EXIT(HangIn("vm", 0), ::testing::ExitedWithCode(1),
              "closing did not finish in time .ONEFLOW_SHUTDOWN_TIMEOUT_SECONDS is 0.2.; the "
              "process ends now\noneflow: not finished: subsystem 'vm': 3 instructions queued\n"
              "oneflow: thread still alive: vm-cpu-0\nlast words");
}

TEST_F(EnvDeathTest, TheHostsOutputIsFlushedUnderItsLock) {
  const auto run = [] {
    InstallHost();
    SetFlushHook([] { WriteStderr(lock_held ? "flushed with the lock" : "flushed without"); });
    HangIn("vm", 0);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(1), "vm-cpu-0\nflushed with the lock");
}

TEST_F(EnvDeathTest, AHangingGraphIsNamedAndTheStatusKept) {
  EXPECT_EXIT(HangIn("graph", 3), ::testing::ExitedWithCode(3),
              "not finished: graph 'LinearGraph_0': 1 run in flight\n");
}

class BlocksItsReport : public FakeSubsystem {
 public:
  using FakeSubsystem::FakeSubsystem;
  std::string Unfinished() const override {
    SleepMs(60000);
    return "";
  }
};

TEST_F(EnvDeathTest, AReportThatBlocksDoesNotHangTheEnd) {
  const auto run = [] {
    ::setenv("ONEFLOW_SHUTDOWN_TIMEOUT_SECONDS", "0.1", 1);
    auto* hold = new Hold;
    hold->held = true;
    auto* env = new Env;
    CHECK_JUST(env->Register(std::make_unique<BlocksItsReport>("vm", hold)));
    CHECK_JUST(env->Start());
    env->Shutdown();
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(1), "not finished: subsystem 'vm'$");
}

TEST_F(EnvDeathTest, AGraphsOwnCloseHasTheDeadlineToo) {
  EXPECT_EXIT(HangIn("graph close", 3), ::testing::ExitedWithCode(1),
              "not finished: graph 'LinearGraph_0': 1 run in flight\n");
}

TEST_F(EnvDeathTest, ALeaseThatIsNeverReturnedIsNamed) {
  const auto run = [] {
    ::setenv("ONEFLOW_SHUTDOWN_TIMEOUT_SECONDS", "0.2", 1);
    auto* env = new Env;
    CHECK_JUST(env->Start());
    const GraphHandle handle =
        CHECK_JUST(env->session()->AddGraph(std::make_unique<FakeGraph>("Busy")));
    Maybe<GraphLease> lease = env->session()->Acquire(handle);
    env->Shutdown();
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(1), "not finished: graph 'Busy'");
}

// Once it has let go of the host's lock, this thread never gets it back: another one sleeps with it.
void ShutdownWithoutTheHostsLock(int stop_ms) {
  ::setenv("ONEFLOW_SHUTDOWN_TIMEOUT_SECONDS", "0.2", 1);
  InstallHost();
  HostHooks hooks = GetHostHooks();
  hooks.enter = [](void*) { SleepMs(60000); };
  SetHostHooks(hooks);
  auto* hold = new Hold;
  hold->held = true;
  auto* env = new Env;
  CHECK_JUST(env->Register(std::make_unique<FakeSubsystem>("vm", hold)));
  CHECK_JUST(env->Start());
  std::thread([=] {
    SleepMs(stop_ms);
    hold->held = false;
  }).detach();
  env->Shutdown();
  ::_exit(8);
}

TEST_F(EnvDeathTest, AHostThatNeverGivesItsLockBackDoesNotHangTheEnd) {
  EXPECT_EXIT(ShutdownWithoutTheHostsLock(60000), ::testing::ExitedWithCode(1),
              "not finished: subsystem 'vm'");
  EXPECT_EXIT(ShutdownWithoutTheHostsLock(50), ::testing::ExitedWithCode(1),
              "a thread does not let go of the host's lock");
}

// The thread sanitizer's own end of a process flushes stdout, and waits for its lock for ever.
#if !defined(__SANITIZE_THREAD__)
TEST_F(EnvDeathTest, AStdoutThatIsLockedDoesNotHangTheEnd) {
  const auto run = [] {
    std::thread([] {
      ::flockfile(stdout);
      SleepMs(60000);
    }).detach();
    SleepMs(50);
    ExitLate(5, "report\n");
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(5), "report");
}
#endif

void ShutdownUnderInterrupts(int count, int hold_ms, bool gives_up = false) {
  ::setenv("ONEFLOW_SHUTDOWN_TIMEOUT_SECONDS", "30", 1);
  InstallHost();
  interrupts = count;
  auto* hold = new Hold;
  hold->held = true;
  auto* env = new Env;
  auto subsystem = std::make_unique<FakeSubsystem>("vm", hold);
  subsystem->gives_up = gives_up;
  CHECK_JUST(env->Register(std::move(subsystem)));
  CHECK_JUST(env->Start());
  std::thread([=] {
    SleepMs(hold_ms);
    hold->held = false;
  }).detach();
  env->Shutdown();
  ::_exit(lock_held && interrupts == count - 1 ? 7 : 8);
}

TEST_F(EnvDeathTest, OneInterruptLeavesAMoment) {
  EXPECT_EXIT(ShutdownUnderInterrupts(1, 200), ::testing::ExitedWithCode(7), "");
  EXPECT_EXIT(ShutdownUnderInterrupts(1, 20000), ::testing::ExitedWithCode(1),
              "closing was interrupted.*not finished: subsystem 'vm': 3 instructions queued");
}

TEST_F(EnvDeathTest, AnInterruptMakesSubsystemsGiveUpWhatTheyHaveNotBegun) {
  EXPECT_EXIT(ShutdownUnderInterrupts(1, 20000, true), ::testing::ExitedWithCode(7), "");
}

TEST_F(EnvDeathTest, SignalHandlersDoNotRunOnTopOfAPendingInterrupt) {
  EXPECT_EXIT(ShutdownUnderInterrupts(2, 200), ::testing::ExitedWithCode(7), "");
}

// The Env of the process, as only that one knows of fork().
void UseInForkChild() {
  Env* env = Env::Get();
  CHECK_JUST(env->Start());
  const GraphHandle handle = CHECK_JUST(env->session()->AddGraph(std::make_unique<FakeGraph>("A")));
  // The closer's thread exists in the parent, and is busy.
  auto* hold = new Hold;
  hold->held = true;
  env->session()->PostCloseGraph(
      CHECK_JUST(env->session()->AddGraph(std::make_unique<FakeGraph>("Busy", hold))));
  while (!hold->reached) { SleepMs(1); }
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string said = env->session()->Acquire(handle).error()->message();
    env->session()->PostCloseGraph(handle);
    bool good = env->session()->CloseGraph(handle).ok() && env->session()->Close().ok();
    good = good && env->state() == EnvState::kClosed && said.find("fork()") != std::string::npos;
    env->Shutdown();
    std::exit(good ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  const bool alive = env->session()->Acquire(handle).ok();
  hold->held = false;
  env->Shutdown();
  std::exit(status == 0 && alive && env->state() == EnvState::kClosed ? 7 : 1);
}

TEST_F(EnvDeathTest, AForkChildRunsInlineOnlyAndEnds) {
  EXPECT_EXIT(UseInForkChild(), ::testing::ExitedWithCode(7), "^$");
}

}  // namespace
}  // namespace lifetime
}  // namespace oneflow
