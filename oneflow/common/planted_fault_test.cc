#include "oneflow/common/planted_fault.h"

#include <csignal>

#include "gtest/gtest.h"

namespace oneflow {
namespace {

// Without planted_faults_testlib, as in what users get.
TEST(PlantedFault, NothingIsPlantedWhateverTheEnvironmentSays) {
  ::setenv("ONEFLOW_PLANTED_FAULT", "kernel_error_escapes", 1);
  EXPECT_FALSE(FaultPlanted(Fault::kKernelErrorEscapes));
  EXPECT_FALSE(FaultPlanted(Fault::kNone));
  DieIfPlanted(Fault::kKernelErrorEscapes, SIGABRT);
  ::setenv("ONEFLOW_PLANTED_FAULT", "nonsense", 1);
  EXPECT_TRUE(CheckPlantedFault().ok());
}

}  // namespace
}  // namespace oneflow
