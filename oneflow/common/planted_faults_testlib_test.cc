#include "oneflow/common/planted_faults_testlib.h"

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "gtest/gtest.h"

namespace oneflow {
namespace {

TEST(PlantedFaults, OneIsPlantedAtATime) {
  EXPECT_TRUE(FaultPlanted(Fault::kNone));
  {
    ScopedFault planted(Fault::kKernelErrorEscapes);
    EXPECT_TRUE(FaultPlanted(Fault::kKernelErrorEscapes));
    EXPECT_FALSE(FaultPlanted(Fault::kCallsQuickExit));
    EXPECT_FALSE(FaultPlanted(Fault::kNone));
  }
  EXPECT_FALSE(FaultPlanted(Fault::kKernelErrorEscapes));
}

TEST(PlantedFaults, NamesAreThoseOfTheList) {
  EXPECT_STREQ(FaultName(Fault::kNone), "none");
  EXPECT_STREQ(FaultName(Fault::kCallsAbort), "calls_abort");
  EXPECT_STREQ(FaultName(Fault::kKernelErrorEscapes), "kernel_error_escapes");
}

TEST(PlantedFaults, AWrongNameIsAnError) {
  ::setenv("ONEFLOW_PLANTED_FAULT", "kernel_error_escape", 1);
  const Maybe<void> checked = CheckPlantedFault();
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error()->kind(), ErrorKind::kValue);
  const std::string text = checked.error()->message();
  EXPECT_NE(text.find("expects one of none, calls_abort,"), std::string::npos) << text;
  EXPECT_NE(text.find("got kernel_error_escape"), std::string::npos) << text;
  ::unsetenv("ONEFLOW_PLANTED_FAULT");
  EXPECT_TRUE(CheckPlantedFault().ok());
}

using PlantedFaultsDeathTest = ::testing::Test;

TEST(PlantedFaultsDeathTest, TheProcessDiesByTheSignal) {
  const auto die = [](int signal) {
    DieIfPlanted(Fault::kKernelErrorEscapes, signal);  // another one: nothing
    PlantFault(Fault::kCallsQuickExit);
    DieIfPlanted(Fault::kCallsQuickExit, signal);
  };
  EXPECT_EXIT(die(SIGABRT), ::testing::KilledBySignal(SIGABRT), "");
  EXPECT_EXIT(die(SIGUSR1), ::testing::KilledBySignal(SIGUSR1), "");
}

TEST(PlantedFaultsDeathTest, TheEnvironmentIsReadOnce) {
  const auto ask = [] {
    ::setenv("ONEFLOW_PLANTED_FAULT", "calls_exit", 1);
    const Maybe<void> checked = CheckPlantedFault();
    std::abort();
  };
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";  // a process that asked nothing yet
  EXPECT_EXIT(ask(), ::testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace oneflow
