#include "oneflow/common/stack_context.h"

#include <map>

#include "gtest/gtest.h"

namespace oneflow {
namespace {

// Stack n is one frame at line n; counts pins.
class CountingSource : public StackSource {
 public:
  StackId Capture() override { return 5; }
  void Pin(StackId id) override { ++pins[id]; }
  void Unpin(StackId id) override { --pins[id]; }
  std::vector<StackFrame> Resolve(StackId id) const override {
    if (id == kNoStack) { return {}; }
    StackFrame frame;
    frame.file = "a.py";
    frame.function = "f";
    frame.line = static_cast<int>(id);
    return {frame};
  }
  bool Evicted(StackId) const override { return false; }

  std::map<StackId, int> pins;
};

class StackContextTest : public ::testing::Test {
 protected:
  void SetUp() override { StackSource::Set(&source_); }
  void TearDown() override { StackSource::Set(nullptr); }
  CountingSource source_;
};

std::string At(int line) { return "  File \"a.py\", line " + std::to_string(line) + ", in f\n"; }
const char* const kOwn = "Related Python stack trace:\n";
const char* const kCalled = "During backward, called at:\n";
const char* const kFor = "In the backward of the op at:\n";

TEST_F(StackContextTest, ABackwardOpHasTheForwardLineThenTheCall) {
  const StackContextPtr first = StackContext::InBackward(nullptr, 20);
  EXPECT_EQ(FormatStacks(10, first.get()), kOwn + At(10) + kCalled + At(20));
  const StackContextPtr second = StackContext::InBackward(first.get(), 30);
  EXPECT_EQ(FormatStacks(10, second.get()), kOwn + At(10) + kCalled + At(20) + kCalled + At(30));
}

TEST_F(StackContextTest, ACallbackHasItsOwnLineLast) {
  const StackContextPtr first = StackContext::InBackward(nullptr, 20);
  EXPECT_EQ(FormatStacks(40, StackContext::InCallback(first.get(), 10).get()),
            kFor + At(10) + kOwn + At(40));
  const StackContextPtr second = StackContext::InBackward(first.get(), 30);
  const StackContextPtr callback = StackContext::InCallback(second.get(), 10);
  EXPECT_EQ(FormatStacks(40, callback.get()), kFor + At(10) + kCalled + At(20) + kOwn + At(40));
  const StackContextPtr later = StackContext::InBackward(callback.get(), 50);
  EXPECT_EQ(FormatStacks(40, later.get()),
            kFor + At(10) + kCalled + At(20) + kOwn + At(40) + kCalled + At(50));
}

TEST_F(StackContextTest, WithoutContextThereIsTheLineAlone) {
  EXPECT_EQ(FormatStacks(10, nullptr), kOwn + At(10));
  EXPECT_EQ(FormatStacks(kNoStack, nullptr), "");
  EXPECT_EQ(FormatStacks(kNoStack, StackContext::InBackward(nullptr, kNoStack).get()), "");
}

TEST_F(StackContextTest, PinsAsLongAsItLives) {
  StackContextPtr first = StackContext::InBackward(nullptr, 20);
  StackContextPtr second = StackContext::InBackward(first.get(), 30);
  StackContextPtr callback = StackContext::InCallback(second.get(), 10);
  EXPECT_EQ(source_.pins[20], 1);
  EXPECT_EQ(source_.pins[30], 1);
  EXPECT_EQ(source_.pins[10], 1);
  first.Reset();
  second.Reset();
  callback.Reset();
  EXPECT_EQ(source_.pins[20], 0);
  EXPECT_EQ(source_.pins[30], 0);
  EXPECT_EQ(source_.pins[10], 0);
}

TEST_F(StackContextTest, ScopesNest) {
  const StackContextPtr context = StackContext::InBackward(nullptr, 20);
  EXPECT_EQ(CurrentStackContext(), nullptr);
  {
    const ScopedStack backward(10, context.get());
    EXPECT_EQ(CurrentStack(), 10u);
    EXPECT_EQ(CurrentStackContext(), context.get());
    {
      const ScopedHostStack host(nullptr);
      EXPECT_EQ(CurrentStack(), 5u);
      EXPECT_EQ(CurrentStackContext(), nullptr);
    }
    EXPECT_EQ(CurrentStack(), 10u);
  }
  EXPECT_EQ(CurrentStackContext(), nullptr);
}

}  // namespace
}  // namespace oneflow
