#include "oneflow/core/dims.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace oneflow {
namespace {

TEST(DimsTest, PrintsAsAPythonTuple) {
  EXPECT_EQ(Dims().ToString(), "()");
  EXPECT_EQ((Dims{5}).ToString(), "(5,)");
  EXPECT_EQ((Dims{2, -3}).ToString(), "(2, -3)");
}

TEST(DimsTest, Constructors) {
  const int64_t values[] = {1, 2, 3};
  EXPECT_EQ(Dims(values, 3), (Dims{1, 2, 3}));
  EXPECT_EQ(Dims(2, int64_t{7}), (Dims{7, 7}));
  EXPECT_TRUE(Dims().empty());
  EXPECT_NE((Dims{1}), (Dims{1, 1}));
  EXPECT_NE((Dims{1}), (Dims{2}));
}

TEST(DimsTest, InsertEraseAndPush) {
  Dims d{1, 3};
  d.Insert(1, 2);
  d.Insert(0, 0);
  d.Insert(4, 4);
  EXPECT_EQ(d, (Dims{0, 1, 2, 3, 4}));
  d.Erase(0);
  d.Erase(3);
  EXPECT_EQ(d, (Dims{1, 2, 3}));
  d.PushBack(9);
  EXPECT_EQ(d.back(), 9);
}

// Sizes on both sides of what fits inside.
TEST(DimsTest, KeepsItsEntriesAtEverySize) {
  for (int size = 0; size <= kMaxDims; ++size) {
    Dims d;
    for (int i = 0; i < size; ++i) { d.PushBack(i * 10); }
    Dims copy = d;
    Dims assigned{1, 2, 3};
    assigned = d;
    Dims moved = std::move(copy);
    Dims move_assigned{4, 5};
    move_assigned = Dims(d);
    for (const Dims* each : {&d, &assigned, &moved, &move_assigned}) {
      ASSERT_EQ(each->size(), size);
      for (int i = 0; i < size; ++i) { ASSERT_EQ((*each)[i], i * 10); }
      ASSERT_EQ(*each, d);
    }
    EXPECT_TRUE(copy.empty());  // NOLINT: moved-from is empty
    assigned = assigned;        // NOLINT: on purpose
    EXPECT_EQ(assigned, d);
  }
}

TEST(DimsTest, ShrinksAndGrowsAgain) {
  Dims d(10, int64_t{3});
  d.Resize(2);
  EXPECT_EQ(d, (Dims{3, 3}));
  d.Resize(12);
  d[11] = 5;
  EXPECT_EQ(d.back(), 5);
  EXPECT_EQ(d[1], 3);
}

}  // namespace
}  // namespace oneflow
