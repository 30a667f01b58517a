// ScenarioTest: a fixture for scenarios on the real classes: each must pass in every order, and fail as
// foretold once an ordering fault is planted.
#ifndef ONEFLOW_COMMON_INTERLEAVE_SCENARIO_TESTLIB_H_
#define ONEFLOW_COMMON_INTERLEAVE_SCENARIO_TESTLIB_H_

#include <gtest/gtest.h>

#include <functional>
#include <iostream>
#include <string>

#include "oneflow/common/interleave/explore.h"
#include "oneflow/common/interleave/ordering_fault.h"

namespace oneflow {
namespace interleave {

class ScenarioTest : public ::testing::Test {
 protected:
  ScenarioTest() {
    // A log, and names of threads: nobody waits for what these locks guard.
    options_.hidden_files = {"lifetime/lifetime_log.cc", "lifetime/runtime_thread.cc"};
  }
  ~ScenarioTest() override { PlantOrderingFault(OrderingFault::kNone); }

  void Passes(const char* what, const std::function<void()>& scenario) {
    const Report report = Explore(options_, scenario);
    EXPECT_TRUE(report.passed()) << what << ": " << report.Text();
    std::cout << what << ": " << report.Text() << std::endl;
  }
  // With `fault` planted the scenario fails in that way, at a place that the trace names.
  void Finds(OrderingFault fault, Failure failure, const char* in_trace,
             const std::function<void()>& scenario) {
    PlantOrderingFault(fault);
    const Report report = Explore(options_, scenario);
    PlantOrderingFault(OrderingFault::kNone);
    EXPECT_STREQ(NameOf(report.failure), NameOf(failure)) << report.Text();
    EXPECT_NE(report.trace.find(in_trace), std::string::npos) << report.Text();
    if (report.failure != failure) { return; }
    std::cout << "found " << NameOf(failure) << " after " << report.schedules << " schedules"
              << std::endl;
  }

  Options options_;
};

}  // namespace interleave
}  // namespace oneflow

#endif  // ONEFLOW_COMMON_INTERLEAVE_SCENARIO_TESTLIB_H_
