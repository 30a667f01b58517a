#include "oneflow/common/maybe.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace oneflow {
namespace {

Maybe<int> Half(int x) {
  if (x % 2 != 0) { return ValueError("[half] expects an even number, got {}", x); }
  return x / 2;
}

Maybe<int> Quarter(int x) { return JUST(Half(JUST(Half(x)))); }

Maybe<void> CheckQuarter(int x, bool* reached) {
  JUST_MSG(Quarter(x), "while quartering {}", x);
  *reached = true;
  return Ok();
}

TEST(MaybeTest, ValueOrError) {
  Maybe<int> good = Half(8);
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(good.value(), 4);
  EXPECT_EQ(good.error(), nullptr);
  Maybe<int> bad = Half(7);
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error()->message(), "[half] expects an even number, got 7");
}

TEST(MaybeTest, JustReturnsTheFirstError) {
  EXPECT_EQ(Quarter(8).value(), 2);
  EXPECT_EQ(Quarter(6).error()->message(), "[half] expects an even number, got 3");
}

TEST(MaybeTest, JustMsgPutsWordsBefore) {
  bool reached = false;
  Maybe<void> bad = CheckQuarter(6, &reached);
  EXPECT_EQ(bad.error()->message(), "while quartering 6: [half] expects an even number, got 3");
  EXPECT_FALSE(reached);
  EXPECT_TRUE(CheckQuarter(4, &reached).ok());
  EXPECT_TRUE(reached);
}

TEST(MaybeTest, CheckJustThrowsTheError) {
  EXPECT_EQ(CHECK_JUST(Half(2)), 1);
  try {
    CHECK_JUST_MSG(Half(1), "in a test");
    FAIL() << "nothing was thrown";
  } catch (const ErrorException& e) {
    EXPECT_EQ(e.error()->message(), "in a test: [half] expects an even number, got 1");
  }
}

Maybe<int> Guarded(int x) {
  CHECK_OR_RETURN(x > 0, "x is {}", x);
  return x;
}
Maybe<int> CallsGuarded(int x) { return JUST(Guarded(x)); }

TEST(MaybeTest, AnAssertionIsABugWithFrames) {
  EXPECT_EQ(Guarded(3).value(), 3);
  const Maybe<int> bad = CallsGuarded(-1);
  EXPECT_EQ(bad.error()->kind(), ErrorKind::kInternal);
  EXPECT_EQ(bad.error()->message(), "x is -1");
  ASSERT_EQ(bad.error()->frames().size(), 2u);
  EXPECT_STREQ(bad.error()->frames()[0].expression, "x > 0");
  EXPECT_STREQ(bad.error()->frames()[1].expression, "Guarded(x)");
}

TEST(MaybeTest, APublishedErrorIsNotWrittenTo) {
  ErrorPtr shared = InternalError("poison");
  shared->MarkPublished();
  const auto read = [&]() -> Maybe<int> { return shared; };
  const auto use = [&]() -> Maybe<int> { return JUST(read()); };
  EXPECT_EQ(use().error(), shared);
  EXPECT_TRUE(shared->frames().empty());
}

TEST(MaybeTest, CarriesValuesThatOnlyMove) {
  const auto make = [](bool good) -> Maybe<std::unique_ptr<int>> {
    if (!good) { return RuntimeError("no"); }
    return std::make_unique<int>(5);
  };
  std::unique_ptr<int> taken = CHECK_JUST(make(true));
  EXPECT_EQ(*taken, 5);
  EXPECT_FALSE(make(false).ok());
}

struct Counted {
  explicit Counted(int* alive) : alive(alive) { ++*alive; }
  Counted(const Counted& other) : alive(other.alive) { ++*alive; }
  ~Counted() { --*alive; }
  int* alive;
};

TEST(MaybeTest, DestroysItsValueOnce) {
  int alive = 0;
  {
    Maybe<Counted> a = Counted(&alive);
    Maybe<Counted> b = a;             // NOLINT: the copy is what is tested
    Maybe<Counted> c = std::move(a);  // NOLINT
    EXPECT_GE(alive, 2);
  }
  EXPECT_EQ(alive, 0);
}

TEST(MaybeTest, AnErrorThatMovesOnLeavesNoValueBehind) {
  int destroyed = 0;
  struct Watched {
    int* destroyed = nullptr;
    ~Watched() {
      if (destroyed != nullptr) { ++*destroyed; }
    }
  };
  {
    // Where a value would stand are bytes that would count, were they taken for one.
    alignas(Maybe<Watched>) unsigned char memory[sizeof(Maybe<Watched>)];
    auto* bad = new (memory) Maybe<Watched>(RuntimeError("no"));
    bad->value().destroyed = &destroyed;
    const Maybe<Watched> moved = std::move(*bad);
    bad->~Maybe<Watched>();
    EXPECT_EQ(moved.error()->message(), "no");
  }
  EXPECT_EQ(destroyed, 0);
}

TEST(MaybeTest, WordsAreNotPutBeforeAPublishedError) {
  ErrorPtr shared = RuntimeError("poison");
  shared->MarkPublished();
  const auto read = [&]() -> Maybe<int> { return shared; };
  const auto use = [&]() -> Maybe<int> { return JUST_MSG(read(), "while reading"); };
  EXPECT_FALSE(use().ok());
  EXPECT_EQ(shared->message(), "poison");
}

TEST(MaybeTest, TakesWhatConverts) {
  const Maybe<std::string> text = "literal";
  EXPECT_EQ(text.value(), "literal");
  const Maybe<int64_t> wide = 3;
  EXPECT_EQ(wide.value(), 3);
}

}  // namespace
}  // namespace oneflow
