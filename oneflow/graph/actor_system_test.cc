// Actors on real threads; actor_interleavings_test.cc has them in every order.
#include "oneflow/graph/actor_system.h"

#include <gtest/gtest.h>

#include <atomic>

namespace oneflow {
namespace graph {
namespace {

// A pipeline: each stage adds one to what the stage before it wrote, in one of `slots` cells.
struct Pipeline {
  Pipeline(int stages, int slots) : cells(static_cast<size_t>(stages)), slots(slots) {
    std::vector<ActorSpec> actors;
    std::vector<RegisterSpec> registers;
    for (int s = 0; s < stages; ++s) {
      cells[static_cast<size_t>(s)].resize(static_cast<size_t>(slots));
      actors.push_back({"stage", s, [this, s](int64_t piece) { return Act(s, piece); }});
      if (s > 0) { registers.push_back({s - 1, {s}, slots}); }
    }
    system = std::make_unique<ActorSystem>("G", std::move(actors), registers);
  }
  int64_t& Cell(int stage, int64_t piece) {
    return cells[static_cast<size_t>(stage)][static_cast<size_t>(piece % slots)];
  }
  Maybe<void> Act(int stage, int64_t piece) {
    if (piece == fails_at && stage == 1) { return RuntimeError("[op] on purpose"); }
    Cell(stage, piece) = stage == 0 ? 10 * piece : Cell(stage - 1, piece) + 1;
    if (stage + 1 == static_cast<int>(cells.size())) { seen.push_back(Cell(stage, piece)); }
    return Ok();
  }
  std::vector<std::vector<int64_t>> cells;
  const int slots;
  std::atomic<int64_t> fails_at{-1};
  std::vector<int64_t> seen;
  std::unique_ptr<ActorSystem> system;
};

TEST(ActorSystemTest, PiecesGoThroughInOrderForAnyNumberOfSlots) {
  for (int slots : {1, 2, 5}) {
    Pipeline pipeline(4, slots);
    CHECK_JUST(pipeline.system->Run(300));
    CHECK_JUST(pipeline.system->Run(200));
    ASSERT_EQ(pipeline.seen.size(), 500u);
    for (int64_t p = 0; p < 500; ++p) {
      ASSERT_EQ(pipeline.seen[static_cast<size_t>(p)], 10 * p + 3);
    }
  }
}

TEST(ActorSystemTest, OneActorNeedsNoThread) {
  int acted = 0;
  std::vector<ActorSpec> actors(1);
  const Thread::id caller = ThisThread();
  actors[0] = {"only", 0, [&](int64_t) -> Maybe<void> {
                 ++acted;
                 EXPECT_EQ(ThisThread(), caller);
                 return Ok();
               }};
  ActorSystem system("G", std::move(actors), {});
  for (int i = 0; i < 10; ++i) { CHECK_JUST(system.Run()); }
  EXPECT_EQ(acted, 10);
}

TEST(ActorSystemTest, AFailureEndsTheRunAndTheNextIsWhole) {
  Pipeline pipeline(3, 2);
  pipeline.fails_at = 4;
  const Maybe<void> ran = pipeline.system->Run(10);
  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error()->message(), "[op] on purpose");
  pipeline.fails_at = -1;
  pipeline.seen.clear();
  CHECK_JUST(pipeline.system->Run(5));
  EXPECT_EQ(pipeline.seen, (std::vector<int64_t>{102, 112, 122, 132, 142}));
}

TEST(ActorSystemTest, ClosedSystemsRefuse) {
  Pipeline pipeline(2, 1);
  CHECK_JUST(pipeline.system->Run());
  pipeline.system->Stop();
  pipeline.system->Stop();
  EXPECT_EQ(pipeline.system->Run().error()->message(), "graph 'G' is closed");
}

TEST(ActorSystemTest, StopWaitsForTheRunThatIsUnderWay) {
  for (int round = 0; round < 50; ++round) {
    Pipeline pipeline(3, 1);
    std::thread runner([&] {
      while (pipeline.system->Run(3).ok()) {}
    });
    PausePolling(std::chrono::microseconds(200));
    pipeline.system->Stop();
    const size_t seen = pipeline.seen.size();
    runner.join();
    EXPECT_EQ(pipeline.seen.size(), seen);
    EXPECT_EQ(seen % 3, 0u);
  }
}

}  // namespace
}  // namespace graph
}  // namespace oneflow
