#include "oneflow/common/host_hooks.h"

#include <gtest/gtest.h>

namespace oneflow {
namespace {

// A host with a lock, held or not by this thread.
bool held = false;
int polls = 0;
bool raise = false;

class HostHooksTest : public ::testing::Test {
 protected:
  HostHooksTest() {
    held = true;
    polls = 0;
    raise = false;
    HostHooks hooks;
    hooks.leave = []() -> void* { return held ? (held = false, &held) : nullptr; };
    hooks.enter = [](void* state) { *static_cast<bool*>(state) = true; };
    hooks.poll_signals = []() -> Maybe<void> {
      EXPECT_TRUE(held);
      ++polls;
      if (raise) { return MakeIntrusive<Error>(ErrorKind::kInterrupted, ""); }
      return Ok();
    };
    SetHostHooks(hooks);
  }
  ~HostHooksTest() override { SetHostHooks(HostHooks()); }
};

TEST_F(HostHooksTest, TheLockIsFreeInside) {
  {
    HostUnlocked unlocked;
    EXPECT_FALSE(held);
    EXPECT_TRUE(unlocked.PollSignals().ok());
    EXPECT_EQ(polls, 1);
    EXPECT_FALSE(held);
    raise = true;
    EXPECT_EQ(unlocked.PollSignals().error()->kind(), ErrorKind::kInterrupted);
    EXPECT_FALSE(held);
  }
  EXPECT_TRUE(held);
}

TEST_F(HostHooksTest, AThreadWithoutTheLockNeverTakesIt) {
  held = false;
  {
    HostUnlocked unlocked;
    raise = true;
    EXPECT_TRUE(unlocked.PollSignals().ok());
  }
  EXPECT_EQ(polls, 0);
  EXPECT_FALSE(held);
}

TEST_F(HostHooksTest, NestedScopesGiveItBackOnce) {
  {
    HostUnlocked outer;
    { HostUnlocked inner; }
    EXPECT_FALSE(held);
  }
  EXPECT_TRUE(held);
}

TEST(NoHostHooksTest, EverythingIsANoOp) {
  HostUnlocked unlocked;
  EXPECT_TRUE(unlocked.PollSignals().ok());
}

}  // namespace
}  // namespace oneflow
