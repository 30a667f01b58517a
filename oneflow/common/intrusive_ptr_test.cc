#include "oneflow/common/intrusive_ptr.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace oneflow {
namespace {

class Base : public RefCounted<Base> {
 public:
  explicit Base(int* alive) : alive_(alive) { ++*alive_; }
  virtual ~Base() { --*alive_; }

 private:
  int* alive_;
};
class Derived final : public Base {
 public:
  using Base::Base;
};

TEST(IntrusivePtrTest, CountsCopiesAndMoves) {
  int alive = 0;
  {
    IntrusivePtr<Base> a = MakeIntrusive<Base>(&alive);
    EXPECT_EQ(a->ref_count(), 1);
    IntrusivePtr<Base> b = a;
    EXPECT_EQ(a->ref_count(), 2);
    IntrusivePtr<Base> c = std::move(b);
    EXPECT_EQ(b, nullptr);  // NOLINT: a moved-from pointer is null
    EXPECT_EQ(c->ref_count(), 2);
    c = c;  // NOLINT: on purpose
    EXPECT_EQ(c->ref_count(), 2);
    c = nullptr;
    EXPECT_EQ(a->ref_count(), 1);
    a.Reset();
    EXPECT_EQ(alive, 0);
  }
  EXPECT_EQ(alive, 0);
}

TEST(IntrusivePtrTest, ConvertsToTheBase) {
  int alive = 0;
  IntrusivePtr<Derived> derived = MakeIntrusive<Derived>(&alive);
  IntrusivePtr<Base> base = derived;
  EXPECT_EQ(base, derived);
  EXPECT_EQ(base->ref_count(), 2);
  base = std::move(derived);
  EXPECT_EQ(base->ref_count(), 1);
  base.Reset();
  EXPECT_EQ(alive, 0);
}

TEST(IntrusivePtrTest, RawPointersShareAdoptAndDetach) {
  int alive = 0;
  IntrusivePtr<Base> a = MakeIntrusive<Base>(&alive);
  Base* raw = a.get();
  const IntrusivePtr<Base> shared(raw);
  EXPECT_EQ(raw->ref_count(), 2);
  EXPECT_EQ(a.Detach(), raw);
  EXPECT_EQ(a, nullptr);
  EXPECT_EQ(raw->ref_count(), 2);
  const IntrusivePtr<Base> adopted = IntrusivePtr<Base>::Adopt(raw);
  EXPECT_EQ(raw->ref_count(), 2);
}

TEST(IntrusivePtrTest, ThreadsDropTheLastOneOnce) {
  for (int i = 0; i < 200; ++i) {
    int alive = 0;
    IntrusivePtr<Base> shared = MakeIntrusive<Base>(&alive);
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([copy = shared]() mutable { copy.Reset(); });
    }
    shared.Reset();
    for (std::thread& thread : threads) { thread.join(); }
    threads.clear();
    ASSERT_EQ(alive, 0);
  }
}

}  // namespace
}  // namespace oneflow
