#include "oneflow/extension/stack/intern_table.h"

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace oneflow {
namespace pystack {
namespace {

// Code objects are addresses that nobody looks behind; a record is how often one was acquired.
class FakeKeeper : public CodeKeeper {
 public:
  struct Record {
    const void* code;
    int life;
  };

  void* Acquire(const void* code, size_t* bytes) override {
    if (refuse) { return nullptr; }
    *bytes = code_bytes;
    auto* record = new Record{code, ++lives[code]};
    held.insert(record);
    return record;
  }
  void Release(void* record) override {
    EXPECT_EQ(held.erase(static_cast<Record*>(record)), 1u);
    delete static_cast<Record*>(record);
  }

  bool refuse = false;
  size_t code_bytes = 100;
  std::map<const void*, int> lives;
  std::set<Record*> held;
};

const void* Code(uintptr_t n) { return reinterpret_cast<const void*>(0x10000 + n * 16); }

using Places = std::vector<std::pair<const void*, int>>;

class InternTableTest : public ::testing::Test {
 protected:
  static constexpr size_t kPlenty = 64 << 20;

  void Make(size_t limit, bool with_cache = false) {
    table_ = std::make_unique<InternTable>(&keeper_, with_cache ? &cache_ : nullptr, limit);
  }
  void SetUp() override { Make(kPlenty); }

  StackId Intern(const Places& outermost_first) {
    StackId id = kNoStack;
    for (const auto& [code, lasti] : outermost_first) { id = table_->Intern(id, code, lasti); }
    return id;
  }
  Places Read(StackId id) {
    Places places;
    table_->Visit(id, [&](const void* record, int lasti) {
      places.insert(places.begin(), {static_cast<const FakeKeeper::Record*>(record)->code, lasti});
    });
    return places;
  }

  FakeKeeper keeper_;
  FrameCache cache_;
  std::unique_ptr<InternTable> table_;
};

TEST_F(InternTableTest, TheSameStackHasTheSameIdAndReadsBack) {
  const Places stack = {{Code(1), 4}, {Code(2), 10}, {Code(1), 4}};
  const StackId id = Intern(stack);
  EXPECT_NE(id, kNoStack);
  EXPECT_EQ(Intern(stack), id);
  EXPECT_EQ(Read(id), stack);
  EXPECT_EQ(table_->nodes(), 3u);
  EXPECT_EQ(table_->sites(), 2u);
  EXPECT_EQ(keeper_.held.size(), 2u);
}

TEST_F(InternTableTest, EveryDifferenceMakesAnotherStack) {
  const std::vector<Places> stacks = {
      {{Code(1), 4}},
      {{Code(1), 6}},
      {{Code(2), 4}},
      {{Code(1), -2}},
      {{Code(1), 4}, {Code(1), 4}},
      {{Code(1), 4}, {Code(2), 4}},
      {{Code(2), 4}, {Code(1), 4}},
      {{Code(1), 6}, {Code(2), 4}},
  };
  std::set<StackId> ids;
  for (const Places& stack : stacks) { ids.insert(Intern(stack)); }
  EXPECT_EQ(ids.size(), stacks.size());
  for (const Places& stack : stacks) { EXPECT_EQ(Read(Intern(stack)), stack); }
}

TEST_F(InternTableTest, NoStackIsNeitherPinnedNorEvicted) {
  EXPECT_FALSE(table_->Pin(kNoStack));
  EXPECT_FALSE(table_->Evicted(kNoStack));
  EXPECT_TRUE(Read(kNoStack).empty());
}

TEST_F(InternTableTest, AnIdThatWasNeverGivenOutReadsAsEvicted) {
  Intern({{Code(1), 4}});
  for (const StackId id : {StackId{77}, StackId{1u << 20}, StackId{0xffffffff}}) {
    EXPECT_FALSE(table_->Pin(id));
    EXPECT_TRUE(table_->Evicted(id));
    EXPECT_TRUE(Read(id).empty());
    table_->Unpin(id);
  }
}

TEST_F(InternTableTest, EvictionTakesUnpinnedLeavesAndKeepsThePinnedWithTheirCallers) {
  const StackId pinned = Intern({{Code(1), 4}, {Code(2), 8}, {Code(3), 2}});
  const StackId loose = Intern({{Code(1), 4}, {Code(2), 10}, {Code(4), 2}});
  EXPECT_TRUE(table_->Pin(pinned));
  EXPECT_EQ(table_->Evict(0), 2u);
  EXPECT_FALSE(table_->Evicted(pinned));
  EXPECT_EQ(Read(pinned).size(), 3u);
  EXPECT_TRUE(table_->Evicted(loose));
  EXPECT_TRUE(Read(loose).empty());
  EXPECT_EQ(table_->codes(), 3u);
  EXPECT_TRUE(table_->HasReleasedCodes());
  EXPECT_EQ(keeper_.held.size(), 4u);
  table_->ReleaseCodes();
  EXPECT_EQ(keeper_.held.size(), 3u);
  table_->Unpin(pinned);
  EXPECT_EQ(table_->Evict(0), 3u);
  EXPECT_TRUE(table_->Evicted(pinned));
  EXPECT_EQ(table_->nodes(), 0u);
}

TEST_F(InternTableTest, PinsCount) {
  const StackId id = Intern({{Code(1), 4}});
  EXPECT_TRUE(table_->Pin(id));
  EXPECT_TRUE(table_->Pin(id));
  table_->Unpin(id);
  table_->Evict(0);
  EXPECT_FALSE(table_->Evicted(id));
  table_->Unpin(id);
  table_->Evict(0);
  EXPECT_TRUE(table_->Evicted(id));
}

TEST_F(InternTableTest, MorePinsThanFitStayForEver) {
  const StackId id = Intern({{Code(1), 4}});
  for (int i = 0; i < 70000; ++i) { EXPECT_TRUE(table_->Pin(id)); }
  for (int i = 0; i < 70000; ++i) { table_->Unpin(id); }
  table_->Evict(0);
  EXPECT_FALSE(table_->Evicted(id));
}

TEST_F(InternTableTest, ASlotThatServesAgainHasAnotherId) {
  std::set<StackId> ids;
  for (int life = 0; life < 5000; ++life) {
    const StackId id = Intern({{Code(static_cast<uintptr_t>(life % 3)), life}});
    EXPECT_TRUE(ids.insert(id).second);
    table_->Evict(0);
    table_->ReleaseCodes();
    EXPECT_TRUE(table_->Evicted(id));
  }
  EXPECT_TRUE(keeper_.held.empty());
  for (const StackId id : ids) { EXPECT_TRUE(table_->Evicted(id)); }
}

TEST_F(InternTableTest, AnAddressThatReturnsIsAnotherCodeObject) {
  const StackId before = Intern({{Code(7), 4}});
  table_->Evict(0);
  table_->ReleaseCodes();
  const StackId after = Intern({{Code(7), 4}});
  EXPECT_NE(before, after);
  EXPECT_TRUE(table_->Evicted(before));
  int life = 0;
  table_->Visit(after, [&](const void* record, int) {
    life = static_cast<const FakeKeeper::Record*>(record)->life;
  });
  EXPECT_EQ(life, 2);
}

TEST_F(InternTableTest, ACodeThatCannotBeKeptGivesNoStack) {
  keeper_.refuse = true;
  EXPECT_EQ(table_->Intern(kNoStack, Code(1), 4), kNoStack);
  keeper_.refuse = false;
  EXPECT_NE(table_->Intern(kNoStack, Code(1), 4), kNoStack);
}

TEST_F(InternTableTest, AMillionDistinctStacksFitInto16MiB) {
  Make(16 << 20, true);
  // A binary tree of calls: each node is a stack.
  std::vector<StackId> level = {kNoStack};
  size_t made = 0;
  while (made < 1000000) {
    std::vector<StackId> next;
    for (const StackId parent : level) {
      for (int lasti = 0; lasti < 2 && made < 1000000; ++lasti, ++made) {
        next.push_back(table_->Intern(parent, Code(made % 64), lasti));
      }
    }
    level = std::move(next);
  }
  EXPECT_EQ(table_->nodes(), 1000000u);
  EXPECT_EQ(table_->evictions(), 0u);
  EXPECT_LE(table_->bytes(), size_t{16} << 20);
}

TEST_F(InternTableTest, BeyondTheLimitTheOldestUnpinnedGo) {
  Make(1 << 20, true);
  const StackId pinned = Intern({{Code(1), 2}, {Code(2), 2}});
  ASSERT_TRUE(table_->Pin(pinned));
  const StackId old = Intern({{Code(1), 2}, {Code(3), 2}});
  StackId last = kNoStack;
  for (int i = 0; i < 300000; ++i) {
    last = Intern({{Code(1), 4}, {Code(4), 2 * i}});
    ASSERT_NE(last, kNoStack);
    ASSERT_LE(table_->bytes(), size_t{1} << 20);
    ASSERT_FALSE(table_->Evicted(last));
  }
  EXPECT_GT(table_->evictions(), 100000u);
  EXPECT_TRUE(table_->Evicted(old));
  EXPECT_EQ(Read(pinned), (Places{{Code(1), 2}, {Code(2), 2}}));
  EXPECT_EQ(Read(last), (Places{{Code(1), 4}, {Code(4), 2 * 299999}}));
}

TEST_F(InternTableTest, TheCallersOfTheStackBeingMadeSurviveTheEvictionMadeForIt) {
  Make(1 << 20, true);
  for (int i = 0; i < 40000; ++i) {
    const Places stack = {{Code(1), 4}, {Code(2), 2 * i}, {Code(3), 2 * i}, {Code(4), 2 * i}};
    const StackId id = Intern(stack);
    ASSERT_EQ(Read(id), stack);
  }
  EXPECT_GT(table_->evictions(), 0u);
}

TEST_F(InternTableTest, CodesCountTowardsTheLimit) {
  Make(2 << 20, true);
  keeper_.code_bytes = 1000;
  for (uintptr_t i = 0; i < 20000; ++i) {
    ASSERT_NE(Intern({{Code(i), 4}}), kNoStack);
    table_->ReleaseCodes();
    ASSERT_LE(keeper_.held.size(), 2100u);
  }
}

TEST_F(InternTableTest, WhenAllIsPinnedTheTableGrows) {
  Make(1 << 20);
  std::vector<StackId> ids;
  for (int i = 0; i < 200000; ++i) {
    ids.push_back(Intern({{Code(1), 4}, {Code(4), 2 * i}}));
    ASSERT_TRUE(table_->Pin(ids.back()));
  }
  EXPECT_EQ(table_->nodes(), 200001u);
  for (const StackId id : ids) { ASSERT_FALSE(table_->Evicted(id)); }
}

TEST_F(InternTableTest, WhatTheCacheHoldsStaysWhenTheTableIsLarge) {
  Make(kPlenty, true);
  const StackId cached = Intern({{Code(1), 4}, {Code(2), 4}});
  cache_.At(nullptr, 123) = FrameCache::Entry{123, kNoStack, cached};
  for (int i = 0; i < 50000; ++i) { Intern({{Code(3), 2 * i}}); }
  EXPECT_EQ(table_->Evict(0), 50000u);
  EXPECT_FALSE(table_->Evicted(cached));
  EXPECT_EQ(table_->Evict(0), 2u);  // now it is small, and the cache is emptied
  EXPECT_TRUE(table_->Evicted(cached));
  EXPECT_EQ(cache_.At(nullptr, 123).key, FrameCache::kEmpty);
}

// One thread makes and evicts stacks; others pin, read and unpin what it published. What they read
// under a pin must be whole, and never another stack's.
TEST_F(InternTableTest, ReadersNeedNoLock) {
  constexpr int kShared = 64;
  std::atomic<StackId> shared[kShared] = {};
  std::atomic<bool> stop{false};
  std::atomic<int> whole{0};
  const auto read = [&](unsigned seed) {
    while (!stop) {
      seed = seed * 1664525 + 1013904223;
      const StackId id = shared[(seed >> 8) % kShared].load(std::memory_order_acquire);
      if (!table_->Pin(id)) { continue; }
      std::vector<int> lastis;
      EXPECT_TRUE(table_->Visit(id, [&](const void*, int lasti) { lastis.push_back(lasti); }));
      ASSERT_EQ(lastis.size(), 3u);
      EXPECT_EQ(lastis[0], lastis[1]);
      EXPECT_EQ(lastis[1], lastis[2]);
      table_->Unpin(id);
      ++whole;
    }
  };
  std::thread first(read, 1), second(read, 2);
  for (int i = 1; i < 200000 || whole < 100; ++i) {
    const StackId id = Intern({{Code(1), i}, {Code(2), i}, {Code(3), i}});
    shared[i % kShared].store(id, std::memory_order_release);
    if (i % 50 == 0) {
      table_->Evict(32);
      table_->ReleaseCodes();
    }
  }
  stop = true;
  first.join();
  second.join();
  EXPECT_GE(whole, 100);
  table_->Evict(0);
  EXPECT_EQ(table_->nodes(), 0u);  // every pin was undone
}

}  // namespace
}  // namespace pystack
}  // namespace oneflow
