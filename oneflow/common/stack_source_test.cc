#include "oneflow/common/stack_source.h"

#include <thread>

#include "gtest/gtest.h"

namespace oneflow {
namespace {

StackFrame Frame(const std::string& source, int column, int end_column) {
  StackFrame frame;
  frame.file = "train.py";
  frame.function = "step";
  frame.line = 7;
  frame.end_line = 7;
  frame.column = column;
  frame.end_column = end_column;
  frame.source = source;
  return frame;
}

class FixedSource : public StackSource {
 public:
  StackId Capture() override { return next; }
  void Pin(StackId) override {}
  void Unpin(StackId) override {}
  std::vector<StackFrame> Resolve(StackId id) const override {
    return id == kNoStack || Evicted(id) ? std::vector<StackFrame>() : frames;
  }
  bool Evicted(StackId id) const override { return id == 99; }

  StackId next = 5;
  std::vector<StackFrame> frames = {Frame("    y = flow.relu(x)", 8, 20)};
};

class StackSourceTest : public ::testing::Test {
 protected:
  void SetUp() override { StackSource::Set(&source_); }
  void TearDown() override { StackSource::Set(nullptr); }
  FixedSource source_;
};

TEST_F(StackSourceTest, CurrentStackAsksTheSource) { EXPECT_EQ(CurrentStack(), 5u); }

TEST_F(StackSourceTest, WithoutASourceThereIsNoStack) {
  StackSource::Set(nullptr);
  EXPECT_EQ(CurrentStack(), kNoStack);
  EXPECT_EQ(FormatStack(5), "");
}

TEST_F(StackSourceTest, OverridesNestAndBelongToTheirThread) {
  ScopedStack outer(11);
  EXPECT_EQ(CurrentStack(), 11u);
  {
    ScopedStack inner(kNoStack);
    EXPECT_EQ(CurrentStack(), kNoStack);
  }
  EXPECT_EQ(CurrentStack(), 11u);
  StackId seen = kNoStack;
  std::thread([&] { seen = CurrentStack(); }).join();
  EXPECT_EQ(seen, 5u);
}

TEST_F(StackSourceTest, PrintsAsPythonDoes) {
  EXPECT_EQ(FormatStack(5), "  File \"train.py\", line 7, in step\n"
                            "    y = flow.relu(x)\n"
                            "        ^^^^^^^^^^^^\n");
}

TEST_F(StackSourceTest, SaysThatAStackWasEvicted) {
  EXPECT_EQ(FormatStack(99), "  (stack evicted)\n");
  EXPECT_EQ(FormatStack(kNoStack), "");
}

std::string Lines(const StackFrame& frame) {
  const std::string text = FormatFrames({frame});
  return text.substr(text.find('\n') + 1);
}

TEST(FormatFramesTest, NoCaretsWhereTheyWouldMarkAllOfTheLine) {
  EXPECT_EQ(Lines(Frame("    flow.relu(x)  ", 4, 16)), "    flow.relu(x)\n");
}

TEST(FormatFramesTest, NoCaretsWithoutColumns) {
  EXPECT_EQ(Lines(Frame("  y = f(x)", -1, -1)), "    y = f(x)\n");
  EXPECT_EQ(Lines(Frame("", 3, 5)), "");
}

TEST(FormatFramesTest, NoCaretsForColumnsThatTheLineDoesNotHave) {
  EXPECT_EQ(Lines(Frame("y = f(x)", 40, 50)), "    y = f(x)\n");
  EXPECT_EQ(Lines(Frame("    y = f(x)", 2, 6)), "    y = f(x)\n");
}

TEST(FormatFramesTest, ACallOverSeveralLinesIsMarkedToTheEndOfItsFirst) {
  StackFrame frame = Frame("  y = f(a,", 6, 4);
  frame.end_line = 9;
  EXPECT_EQ(Lines(frame), "    y = f(a,\n        ^^^^\n");
}

TEST(FormatFramesTest, CaretsStandUnderWhatIsSeenNotUnderBytes) {
  // "ü" has two bytes and one column, "表" three bytes and two columns.
  EXPECT_EQ(Lines(Frame("ü = f(x)", 5, 9)), "    ü = f(x)\n        ^^^^\n");
  EXPECT_EQ(Lines(Frame("t['表'] = f(x)", 11, 15)), "    t['表'] = f(x)\n              ^^^^\n");
  EXPECT_EQ(Lines(Frame("y = f('表')", 4, 12)), "    y = f('表')\n        ^^^^^^^\n");
}

TEST(FormatFramesTest, ATabBeforeTheCaretsStaysATab) {
  EXPECT_EQ(Lines(Frame("\ty =\tf(x)", 5, 9)), "    y =\tf(x)\n       \t^^^^\n");
}

TEST(FormatFramesTest, BrokenUtf8DoesNoHarm) {
  EXPECT_EQ(Lines(Frame("\xe8 = f(\xff)", 4, 8)), "    \xe8 = f(\xff)\n        ^^^^\n");
}

TEST(FormatFramesTest, CountsFramesThatRepeat) {
  std::vector<StackFrame> frames(1, Frame("main()", -1, -1));
  frames[0].line = 1;
  for (int i = 0; i < 10; ++i) { frames.push_back(Frame("return f(n - 1)", -1, -1)); }
  const std::string one = "  File \"train.py\", line 7, in step\n    return f(n - 1)\n";
  EXPECT_EQ(FormatFrames(frames), "  File \"train.py\", line 1, in step\n    main()\n" + one + one +
                                      one + "  [Previous line repeated 7 more times]\n");
  frames.resize(5);
  EXPECT_EQ(FormatFrames(frames), "  File \"train.py\", line 1, in step\n    main()\n" + one + one +
                                      one + "  [Previous line repeated 1 more time]\n");
  frames.resize(4);
  EXPECT_EQ(FormatFrames(frames),
            "  File \"train.py\", line 1, in step\n    main()\n" + one + one + one);
}

}  // namespace
}  // namespace oneflow
