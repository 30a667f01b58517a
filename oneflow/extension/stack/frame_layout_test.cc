#include "oneflow/extension/stack/frame_layout.h"

#include <cstdint>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "oneflow/extension/stack/frame_cache.h"

namespace oneflow {
namespace pystack {
namespace {

const void* At(uint64_t address) { return reinterpret_cast<const void*>(address); }

TEST(PackKeyTest, AddressesAndInstructionsNeverShareAKey) {
  // Each bit that an address may have, and each that an instruction may.
  std::vector<uint64_t> addresses = {0x10, 0xfffffffffff0};
  for (int bit = 5; bit < 48; ++bit) { addresses.push_back(uint64_t{1} << bit); }
  std::vector<int> lastis = {-2, 0};
  for (int bit = 1; bit < 20; ++bit) { lastis.push_back(1 << bit); }
  std::set<uint64_t> keys;
  for (const uint64_t address : addresses) {
    for (const int lasti : lastis) {
      const uint64_t key = PackKey(At(address), lasti);
      EXPECT_NE(key, 0u);
      EXPECT_NE(key, FrameCache::kEmpty);
      EXPECT_TRUE(keys.insert(key).second) << address << ", " << lasti;
    }
  }
}

TEST(PackKeyTest, WhatDoesNotFitIsNotCached) {
  EXPECT_EQ(PackKey(At(uint64_t{1} << 48), 4), 0u);
  EXPECT_EQ(PackKey(At(0x1008), 4), 0u);  // no object lies there
  EXPECT_EQ(PackKey(At(0x1000), 1 << 21), 0u);
  EXPECT_NE(PackKey(At(0x1000), (1 << 21) - 4), 0u);
}

}  // namespace
}  // namespace pystack
}  // namespace oneflow
