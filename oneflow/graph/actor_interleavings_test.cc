// Actors, registers and messages, in every order of their steps.
#include <memory>
#include <utility>
#include <vector>

#include "oneflow/common/interleave/explore.h"
#include "oneflow/common/interleave/model_atomic.h"
#include "oneflow/common/interleave/ordering_fault.h"
#include "oneflow/common/interleave/scenario_testlib.h"
#include "oneflow/graph/actor_system.h"

namespace oneflow {
namespace graph {
namespace {

using interleave::Failure;
using interleave::OrderingFault;
using interleave::Parallel;
using interleave::Plain;
using interleave::Require;
using ActorInterleavings = interleave::ScenarioTest;

// A register's memory: a slot for each piece under way, used without any lock.
class Slots {
 public:
  explicit Slots(int count) {
    for (int i = 0; i < count; ++i) { slots_.push_back(std::make_unique<Plain<int64_t>>()); }
  }
  void Write(int64_t piece, int64_t value) { At(piece).Write(value); }
  int64_t Read(int64_t piece) { return At(piece).Read(); }

 private:
  Plain<int64_t>& At(int64_t piece) { return *slots_[static_cast<size_t>(piece) % slots_.size()]; }
  std::vector<std::unique_ptr<Plain<int64_t>>> slots_;
};

// Reader on thread 0, writer on thread 1: piece p is 10 * p + 1.
struct Chain {
  explicit Chain(int slots) : values(slots) {
    std::vector<ActorSpec> actors(2);
    actors[0] = {"write", 1, [this](int64_t piece) -> Maybe<void> {
                   values.Write(piece, 10 * piece + 1);
                   return Ok();
                 }};
    actors[1] = {"read", 0, [this](int64_t piece) -> Maybe<void> {
                   Require(values.Read(piece) == 10 * piece + 1, "the piece's own value");
                   ++read;
                   return Ok();
                 }};
    system = std::make_unique<ActorSystem>("G", std::move(actors),
                                           std::vector<RegisterSpec>{{0, {1}, slots}});
  }
  Slots values;
  int read = 0;
  std::unique_ptr<ActorSystem> system;
};

// The register has one slot: the writer waits for the reader.
void TwoPiecesThroughOneSlot() {
  Chain chain(1);
  CHECK_JUST(chain.system->Run(2));
  Require(chain.read == 2, "every piece was read once");
}

TEST_F(ActorInterleavings, TwoPiecesThroughOneSlot) {
  Passes("two pieces through one slot", TwoPiecesThroughOneSlot);
}

TEST_F(ActorInterleavings, FindsAnActorThatDoesNotWaitForItsReader) {
  Finds(OrderingFault::kActsOnAFullRegister, Failure::kRequirement, "", TwoPiecesThroughOneSlot);
}

TEST_F(ActorInterleavings, FindsARegisterThatIsGivenBackUnread) {
  Finds(OrderingFault::kAcknowledgesTooEarly, Failure::kDataRace, "", TwoPiecesThroughOneSlot);
}

TEST_F(ActorInterleavings, FindsADoubledMessage) {
  Finds(OrderingFault::kTellsTwice, Failure::kRequirement, "", TwoPiecesThroughOneSlot);
}

TEST_F(ActorInterleavings, FindsALostMessage) {
  Finds(OrderingFault::kMailboxKeepsTheLast, Failure::kDeadlock, "waits on condition",
        TwoPiecesThroughOneSlot);
}

TEST_F(ActorInterleavings, FindsAThreadThatSleepsTooEarly) {
  Finds(OrderingFault::kMailboxSleepsTooEarly, Failure::kDeadlock, "waits on condition",
        TwoPiecesThroughOneSlot);
}

// Two slots: the writer may be one piece ahead.
TEST_F(ActorInterleavings, ThreePiecesThroughTwoSlots) {
  Passes("three pieces through two slots", [] {
    Chain chain(2);
    CHECK_JUST(chain.system->Run(3));
    Require(chain.read == 3, "every piece was read once");
  });
}

// A second run meets messages that the first one left behind it.
TEST_F(ActorInterleavings, TwoRuns) {
  Passes("two runs", [] {
    Chain chain(1);
    CHECK_JUST(chain.system->Run());
    CHECK_JUST(chain.system->Run());
    Require(chain.read == 2, "every piece was read once");
  });
}

// The last actor is on another thread: a run is over only when it has acted.
void LastActorElsewhere() {
  Plain<int> result;
  std::vector<ActorSpec> actors(2);
  actors[0] = {"first", 0, [](int64_t) -> Maybe<void> { return Ok(); }};
  actors[1] = {"last", 1, [&result](int64_t) -> Maybe<void> {
                 result.Write(7);
                 return Ok();
               }};
  ActorSystem system("G", std::move(actors), {{0, {1}, 1}});
  CHECK_JUST(system.Run());
  Require(result.Read() == 7, "the run's result");
}

TEST_F(ActorInterleavings, LastActorElsewhere) {
  Passes("the last actor is elsewhere", LastActorElsewhere);
}

TEST_F(ActorInterleavings, FindsARunThatIsOverTooEarly) {
  Finds(OrderingFault::kDoneBeforeActing, Failure::kDataRace, "", LastActorElsewhere);
}

// One value for two readers, whose results a fourth actor joins.
void Diamond(int right_thread) {
  Plain<int> source, left, right;
  int joined = 0;
  std::vector<ActorSpec> actors(4);
  actors[0] = {"source", 0, [&](int64_t) -> Maybe<void> {
                 source.Write(3);
                 return Ok();
               }};
  actors[1] = {"left", 1, [&](int64_t) -> Maybe<void> {
                 left.Write(source.Read() + 1);
                 return Ok();
               }};
  actors[2] = {"right", right_thread, [&](int64_t) -> Maybe<void> {
                 right.Write(source.Read() * 2);
                 return Ok();
               }};
  actors[3] = {"join", 0, [&](int64_t) -> Maybe<void> {
                 joined = left.Read() + right.Read();
                 return Ok();
               }};
  ActorSystem system("G", std::move(actors), {{0, {1, 2}, 1}, {1, {3}, 1}, {2, {3}, 1}});
  CHECK_JUST(system.Run());
  Require(joined == 10, "the sum of both sides");
}

TEST_F(ActorInterleavings, Diamond) {
  Passes("diamond on two threads", [] { Diamond(0); });
}

// In full these are too many schedules; with two preemptions there are few.
TEST_F(ActorInterleavings, DiamondOnThreeThreads) {
  options_.reduction = interleave::Reduction::kPreemptions;
  options_.preemptions = 2;
  Passes("diamond on three threads, two preemptions", [] { Diamond(2); });
}

// An actor that fails: nothing hangs, what follows it does not act, and the next run is whole.
TEST_F(ActorInterleavings, AFailureDrainsTheRun) {
  Passes("a failure drains the run", [] {
    int acted = 0;
    std::vector<ActorSpec> actors(2);
    actors[0] = {"fails once", 1, [](int64_t piece) -> Maybe<void> {
                   if (piece == 0) { return RuntimeError("[op] on purpose"); }
                   return Ok();
                 }};
    actors[1] = {"after it", 0, [&acted](int64_t) -> Maybe<void> {
                   ++acted;
                   return Ok();
                 }};
    ActorSystem system("G", std::move(actors), {{0, {1}, 1}});
    const Maybe<void> first = system.Run();
    Require(!first.ok() && first.error()->message() == "[op] on purpose", "the first error");
    Require(acted == 0, "nothing acts on what was not made");
    CHECK_JUST(system.Run());
    Require(acted == 1, "the next run is whole");
  });
}

// A run, and a close by another thread: the run is whole, or refused.
void RunWhileClosing() {
  Plain<int> memory;  // ends with the close
  std::vector<ActorSpec> actors(1);
  actors[0] = {"act", 0, [&memory](int64_t) -> Maybe<void> {
                 memory.Write(memory.Read() + 1);
                 return Ok();
               }};
  ActorSystem system("G", std::move(actors), {});
  Parallel({[&] {
              const Maybe<void> ran = system.Run();
              Require(ran.ok() || ran.error()->message() == "graph 'G' is closed",
                      "a run, or that the graph is closed");
            },
            [&] {
              system.Stop();
              memory.Write(-1);
            }});
}

TEST_F(ActorInterleavings, RunWhileClosing) { Passes("run while closing", RunWhileClosing); }

TEST_F(ActorInterleavings, FindsARunOfAClosedGraph) {
  Finds(OrderingFault::kRunsPastTheClose, Failure::kDataRace, "", RunWhileClosing);
}

TEST_F(ActorInterleavings, StopEndsThreadsThatWait) {
  Passes("stop ends threads that wait", [] {
    Chain chain(1);
    CHECK_JUST(chain.system->Run());
    chain.system->Stop();
    const Maybe<void> late = chain.system->Run();
    Require(!late.ok(), "a closed graph does not run");
  });
}

}  // namespace
}  // namespace graph
}  // namespace oneflow
