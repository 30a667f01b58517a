#include "oneflow/lifetime/session.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "oneflow/lifetime/fakes_testlib.h"
#include "oneflow/lifetime/runtime_thread.h"

namespace oneflow {
namespace lifetime {
namespace {

using Lines = std::vector<std::string>;

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() : session_(&admission_, &closer_) { admission_.set_state(EnvState::kRunning); }
  ~SessionTest() override {
    EXPECT_TRUE(session_.Close().ok());
    closer_.Stop();
  }

  GraphHandle Add(const std::string& name, Hold* hold = nullptr) {
    return CHECK_JUST(session_.AddGraph(std::make_unique<FakeGraph>(name, hold)));
  }
  std::string ErrorOf(const GraphHandle& handle) {
    Maybe<GraphLease> lease = session_.Acquire(handle);
    return lease.ok() ? "" : lease.error()->message();
  }
  // Waits until everything that was posted is done.
  void Settle() {
    EXPECT_TRUE(closer_.RunAndWait([](Deadline) {}, 0).ok());
  }

  LifetimeRecorder recorder_;
  Admission admission_;
  Closer closer_;
  Session session_;
};

TEST_F(SessionTest, UseOfAClosedGraphNamesIt) {
  const GraphHandle handle = Add("LinearGraph_0");
  EXPECT_EQ(ErrorOf(handle), "");
  EXPECT_TRUE(session_.CloseGraph(handle).ok());
  EXPECT_EQ(ErrorOf(handle), "graph 'LinearGraph_0' is closed");
  EXPECT_EQ(session_.Acquire(handle).error()->kind(), ErrorKind::kRuntime);
  EXPECT_EQ(session_.num_graphs(), 0u);
}

// A thread that the host parks for ever in the middle of a call.
TEST_F(SessionTest, AParkedThreadGivesItsLeasesBack) {
  const GraphHandle handle = Add("G");
  std::atomic<bool> holds{false};
  std::atomic<bool> parks{false};
  std::atomic<bool> ends{false};
  std::thread parked([&] {
    ParkableLease outer(CHECK_JUST(session_.Acquire(handle)));
    ParkableLease inner(CHECK_JUST(session_.Acquire(handle)));
    EXPECT_EQ(inner.get()->name(), "G");
    holds = true;
    while (!parks) { std::this_thread::yield(); }
    ParkableLease::ReturnAll();
    while (!ends) { std::this_thread::yield(); }
  });
  while (!holds) { std::this_thread::yield(); }
  session_.PostCloseGraph(handle);
  EXPECT_EQ(session_.num_graphs(), 1u);
  parks = true;
  Settle();
  EXPECT_EQ(session_.num_graphs(), 0u);
  ends = true;
  parked.join();
}

TEST_F(SessionTest, CloseIsIdempotent) {
  const GraphHandle handle = Add("G");
  for (int i = 0; i < 3; ++i) { EXPECT_TRUE(session_.CloseGraph(handle).ok()); }
  session_.PostCloseGraph(handle);
  for (int i = 0; i < 3; ++i) { EXPECT_TRUE(session_.Close().ok()); }
  EXPECT_EQ(recorder_.lines(), (Lines{"create session '1'", "create graph 'G'", "close graph 'G'",
                                      "destructor fake graph 'G'", "destruct graph 'G'",
                                      "close session '1'", "destruct session '1'"}));
}

TEST_F(SessionTest, SessionClosesItsGraphsNewestFirst) {
  Add("A");
  Add("B");
  Add("C");
  EXPECT_TRUE(session_.Close().ok());
  EXPECT_EQ(recorder_.lines(),
            (Lines{"create session '1'", "create graph 'A'", "create graph 'B'", "create graph 'C'",
                   "close session '1'", "close graph 'C'", "destructor fake graph 'C'",
                   "destruct graph 'C'", "close graph 'B'", "destructor fake graph 'B'",
                   "destruct graph 'B'", "close graph 'A'", "destructor fake graph 'A'",
                   "destruct graph 'A'", "destruct session '1'"}));
}

TEST_F(SessionTest, ClosingAGraphLeavesTheSession) {
  EXPECT_TRUE(session_.CloseGraph(Add("A")).ok());
  EXPECT_EQ(session_.generation(), 1u);
  Add("B");
  EXPECT_EQ(session_.generation(), 1u);
}

TEST_F(SessionTest, NextUseAfterCloseIsANewGeneration) {
  const GraphHandle old = Add("A");
  EXPECT_TRUE(session_.Close().ok());
  EXPECT_EQ(session_.generation(), 1u);
  const GraphHandle fresh = Add("A");
  EXPECT_EQ(session_.generation(), 2u);
  EXPECT_EQ(fresh.generation, 2u);
  EXPECT_EQ(ErrorOf(old), "graph 'A' is closed");
  EXPECT_EQ(ErrorOf(fresh), "");
}

TEST_F(SessionTest, AHandleOfAnotherGenerationIsClosed) {
  GraphHandle handle = Add("A");
  ++handle.generation;
  EXPECT_EQ(ErrorOf(handle), "graph 'A' is closed");
}

TEST_F(SessionTest, PostedCloseReturnsAtOnce) {
  Hold hold;
  hold.held = true;
  const GraphHandle handle = Add("A", &hold);
  session_.PostCloseGraph(handle);
  EXPECT_EQ(ErrorOf(handle), "graph 'A' is closed");
  EXPECT_EQ(session_.num_graphs(), 1u);  // still waiting for its run
  hold.held = false;
  Settle();
  EXPECT_EQ(session_.num_graphs(), 0u);
}

TEST_F(SessionTest, CloseOnARuntimeThreadPosts) {
  Hold hold;
  hold.held = true;
  const GraphHandle handle = Add("A", &hold);
  std::thread worker([&] {
    ScopedRuntimeThread runtime_thread("worker");
    EXPECT_TRUE(session_.CloseGraph(handle).ok());
    EXPECT_TRUE(session_.Close().ok());
  });
  worker.join();  // would hang if the worker had waited
  hold.held = false;
  Settle();
  EXPECT_EQ(session_.num_graphs(), 0u);
}

TEST_F(SessionTest, CloseWaitsForLeases) {
  const GraphHandle handle = Add("A");
  std::atomic<bool> closed{false};
  std::thread closing;
  {
    GraphLease lease = CHECK_JUST(session_.Acquire(handle));
    closing = std::thread([&] {
      EXPECT_TRUE(session_.CloseGraph(handle).ok());
      closed = true;
    });
    while (ErrorOf(handle).empty()) { SleepMs(1); }
    SleepMs(30);
    EXPECT_FALSE(closed);
    EXPECT_EQ(lease->name(), "A");
  }
  closing.join();
  EXPECT_TRUE(closed);
}

TEST_F(SessionTest, ShuttingDownRefusesGraphs) {
  const GraphHandle handle = Add("A");
  admission_.set_state(EnvState::kClosing);
  Maybe<GraphHandle> refused = session_.AddGraph(std::make_unique<FakeGraph>("B"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error()->message(), "graph 'B' cannot be used: the runtime is shutting down");
  EXPECT_EQ(ErrorOf(handle), "graph 'A' cannot be used: the runtime is shutting down");
}

TEST_F(SessionTest, ManyThreadsMakeUseAndCloseGraphs) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 100; ++i) {
        const GraphHandle handle = Add(Format("G{}_{}", t, i));
        { Maybe<GraphLease> lease = session_.Acquire(handle); }
        if (i % 3 == 0) { session_.PostCloseGraph(handle); }
        if (i % 3 == 1) { EXPECT_TRUE(session_.CloseGraph(handle).ok()); }
        if (i == 50) { EXPECT_TRUE(session_.Close().ok()); }
      }
    });
  }
  for (std::thread& thread : threads) { thread.join(); }
  EXPECT_TRUE(session_.Close().ok());
  EXPECT_EQ(session_.num_graphs(), 0u);
}

}  // namespace
}  // namespace lifetime
}  // namespace oneflow
