#include "oneflow/profiler/profiler.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "oneflow/common/trace.h"

namespace oneflow {
namespace profiler {
namespace {

TEST(ProfilerTest, CollectsNestedScopesOfEachThread) {
  { TraceScope before("vm", "before the trace"); }
  CHECK_JUST(Start());
  EXPECT_TRUE(Running());
  {
    TraceScope outer("graph", "run");
    { TraceScope inner("vm", "add"); }
  }
  std::thread worker([] {
    pthread_setname_np(pthread_self(), "worker");
    TraceScope scope("vm", "relu");
  });
  worker.join();
  const Trace trace = CHECK_JUST(Stop());
  EXPECT_FALSE(Running());
  ASSERT_EQ(trace.threads.size(), 2u);
  const std::vector<Event>& mine = trace.threads[0].events;
  ASSERT_EQ(mine.size(), 2u);
  EXPECT_STREQ(mine[0].name, "add");
  EXPECT_STREQ(mine[1].name, "run");
  EXPECT_STREQ(mine[1].category, "graph");
  EXPECT_LE(trace.begin_ns, mine[1].begin_ns);
  EXPECT_LE(mine[1].begin_ns, mine[0].begin_ns);
  EXPECT_LE(mine[0].end_ns, mine[1].end_ns);
  EXPECT_LE(mine[1].end_ns, trace.end_ns);
  EXPECT_EQ(trace.threads[1].thread_name, "worker");
  EXPECT_STREQ(trace.threads[1].events[0].name, "relu");
}

TEST(ProfilerTest, SecondTraceStartsEmpty) {
  CHECK_JUST(Start());
  { TraceScope scope("vm", "first"); }
  CHECK_JUST(Stop());
  { TraceScope scope("vm", "between"); }
  CHECK_JUST(Start());
  { TraceScope scope("vm", "second"); }
  const Trace trace = CHECK_JUST(Stop());
  ASSERT_EQ(trace.threads.size(), 1u);
  ASSERT_EQ(trace.threads[0].events.size(), 1u);
  EXPECT_STREQ(trace.threads[0].events[0].name, "second");
}

TEST(ProfilerTest, MisuseIsAnError) {
  EXPECT_EQ(Stop().error()->message(), "[profiler] is not running");
  CHECK_JUST(Start());
  EXPECT_EQ(Start().error()->message(), "[profiler] is running already");
  CHECK_JUST(Stop());
}

TEST(ProfilerTest, BuffersAreBoundedAndCountWhatTheyDrop) {
  Options options;
  options.max_events_per_thread = 3;
  CHECK_JUST(Start(options));
  for (int i = 0; i < 10; ++i) { TraceScope scope("vm", i < 3 ? "early" : "late"); }
  const Trace trace = CHECK_JUST(Stop());
  ASSERT_EQ(trace.threads[0].events.size(), 3u);
  EXPECT_STREQ(trace.threads[0].events[2].name, "early");
  EXPECT_EQ(trace.threads[0].dropped, 7);
}

// Stacks are kept until Stop() has named their lines.
class Source : public StackSource {
 public:
  StackId Capture() override { return kNoStack; }
  void Pin(StackId) override { ++pins; }
  void Unpin(StackId) override { --pins; }
  std::vector<StackFrame> Resolve(StackId id) const override {
    EXPECT_GT(pins, 0);
    StackFrame outer, inner;
    outer.line = 1;
    inner.line = static_cast<int>(id) * 10;
    return {outer, inner};
  }
  bool Evicted(StackId) const override { return false; }
  int pins = 0;
};

TEST(ProfilerTest, NamesLinesAndShapes) {
  Source source;
  StackSource::Set(&source);
  Options options;
  options.shapes = true;
  CHECK_JUST(Start(options));
  for (StackId stack : {3u, 4u, 3u, kNoStack}) {
    TraceScope scope("vm", "add");
    ASSERT_NE(scope.sink(), nullptr);
    EXPECT_TRUE(scope.sink()->WantsShapes());
    scope.Tell({stack, "(2,)"});
  }
  const int64_t begin = TraceClock();
  RecordScope("epoch", begin);
  EXPECT_EQ(source.pins, 3);
  const Trace trace = CHECK_JUST(Stop());
  RecordScope("too late", begin);
  EXPECT_EQ(source.pins, 0);
  const std::vector<Event>& events = trace.threads[0].events;
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events[0].shapes, "(2,)");
  EXPECT_EQ(trace.lines.size(), 2u);
  EXPECT_EQ(trace.lines.at(events[1].stack).line, 40);
  EXPECT_STREQ(events[4].category, "python");
  EXPECT_EQ(events[4].begin_ns, begin);
  CHECK_JUST(Start());
  {
    TraceScope scope("vm", "add");
    EXPECT_FALSE(scope.sink()->WantsShapes());
  }
  CHECK_JUST(Stop());
  StackSource::Set(nullptr);
}

TEST(ProfilerTest, LongNamesAreCut) {
  const std::string name(100, 'x');
  CHECK_JUST(Start());
  { TraceScope scope("vm", name.c_str()); }
  const Trace trace = CHECK_JUST(Stop());
  EXPECT_EQ(std::string(trace.threads[0].events[0].name), name.substr(0, Event::kMaxName));
}

TEST(ProfilerTest, AScopeThatOutlivesTheTraceIsHarmless) {
  CHECK_JUST(Start());
  { TraceScope warm("vm", "warm"); }
  {
    TraceScope scope("vm", "late");
    const Trace trace = CHECK_JUST(Stop());
    EXPECT_EQ(trace.threads[0].events.size(), 1u);
  }
  CHECK_JUST(Start());
  EXPECT_TRUE(CHECK_JUST(Stop()).threads.empty());
}

TEST(ProfilerTest, ThreadsRecordWhileTracesStartAndStop) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      while (!stop) { TraceScope scope("vm", "op"); }
    });
  }
  size_t events = 0;
  for (int i = 0; i < 200 || events == 0; ++i) {
    CHECK_JUST(Start());
    std::this_thread::yield();
    for (const ThreadTrace& thread : CHECK_JUST(Stop()).threads) { events += thread.events.size(); }
  }
  stop = true;
  for (std::thread& thread : threads) { thread.join(); }
  EXPECT_GT(events, 0u);
}

TEST(ProfilerTest, AForkChildRecordsNothing) {
  CHECK_JUST(Start());
  const pid_t child = ::fork();
  if (child == 0) {
    { TraceScope scope("vm", "in the child"); }
    const bool good = !Running() && Start().ok() && Stop().ok();
    ::_exit(good ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(CHECK_JUST(Stop()).threads.empty());
}

}  // namespace
}  // namespace profiler
}  // namespace oneflow
