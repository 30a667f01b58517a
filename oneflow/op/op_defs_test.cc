#include <gtest/gtest.h>

#include <set>
#include <string>

#include "oneflow/op/generated/op_defs.h"

namespace oneflow {
namespace {

constexpr int kCpu = static_cast<int>(DeviceType::kCPU);

TEST(OpDefs, EveryKernelThatARowNamesExists) {
  int names = 0;
  for (const OpDef* const* def = kAllOpDefs; *def != nullptr; ++def) {
    for (const char* const* name = (*def)->kernel_names[kCpu]; *name != nullptr; ++name) {
      EXPECT_NE(FindKernel(*name), nullptr) << (*def)->name << " lists " << *name;
      ++names;
    }
  }
  EXPECT_GT(names, 40);
  EXPECT_EQ(FindKernel("no_such_op.cpu.vector"), nullptr);
}

TEST(OpDefs, OnlyViewsAndEmptyHaveNoKernel) {
  std::set<std::string> without;
  for (const OpDef* const* def = kAllOpDefs; *def != nullptr; ++def) {
    if ((*def)->kernel_names[kCpu][0] == nullptr && !(*def)->is_view) {
      without.insert((*def)->name);
    }
  }
  EXPECT_EQ(without, std::set<std::string>{"empty"});
}

TEST(OpDefs, AFieldThatTheRowSetsArrives) {
  EXPECT_STREQ(kScalarAddDef.name, "add");
  EXPECT_EQ(kAddDef.num_inputs, 2);
  EXPECT_TRUE(kAddDef.promotes);
  EXPECT_EQ(kAddDef.inplace_failure, InplaceFailure::kKeepsValue);
  EXPECT_EQ(kAccumulateGradDef.inplace_failure, InplaceFailure::kSkips);
  EXPECT_EQ(kNllLossPairDef.num_outputs, 2);
  EXPECT_TRUE(kViewDef.is_view);
  EXPECT_GE(kRandnDef.random_slot, 0);
  EXPECT_EQ(kAddDef.random_slot, -1);
}

}  // namespace
}  // namespace oneflow
