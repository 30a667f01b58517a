// lifetime under the exhaustive scheduler: a graph whose runs only its lease protects, and a fixture.
#ifndef ONEFLOW_LIFETIME_MODEL_TESTLIB_H_
#define ONEFLOW_LIFETIME_MODEL_TESTLIB_H_

#include <gtest/gtest.h>

#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "oneflow/common/atomic.h"
#include "oneflow/common/interleave/explore.h"
#include "oneflow/common/interleave/ordering_fault.h"
#include "oneflow/lifetime/graph_resource.h"

namespace oneflow {
namespace lifetime {

using interleave::Explore;
using interleave::Failure;
using interleave::OrderingFault;
using interleave::Parallel;
using interleave::Report;
using interleave::Require;

// A run touches what Close() and the end of the graph touch, with no lock: a run that is not over by
// then is a data race, or the use of what has ended.
class ModelGraph : public GraphResource {
 public:
  explicit ModelGraph(std::string name) : name_(std::move(name)) {}

  const std::string& name() const override { return name_; }
  void Run() { actors_.Write(actors_.Read() + 1); }
  void Close(Deadline) override { actors_.Write(-1); }

 private:
  std::string name_;
  interleave::Plain<int> actors_;
};

class ModelTest : public ::testing::Test {
 protected:
  ModelTest() {
    // A log, and names of threads: nobody waits for what these locks guard.
    options_.hidden_files = {"lifetime/lifetime_log.cc", "lifetime/runtime_thread.cc"};
  }
  ~ModelTest() override { interleave::PlantOrderingFault(OrderingFault::kNone); }

  void Passes(const char* what, const std::function<void()>& scenario) {
    const Report report = Explore(options_, scenario);
    EXPECT_TRUE(report.passed()) << what << ": " << report.Text();
    std::cout << what << ": " << report.Text() << std::endl;
  }
  // With `fault` planted the scenario fails in that way, at a place that the trace names.
  void Finds(OrderingFault fault, Failure failure, const char* in_trace,
             const std::function<void()>& scenario) {
    interleave::PlantOrderingFault(fault);
    const Report report = Explore(options_, scenario);
    interleave::PlantOrderingFault(OrderingFault::kNone);
    EXPECT_STREQ(NameOf(report.failure), NameOf(failure)) << report.Text();
    EXPECT_NE(report.trace.find(in_trace), std::string::npos) << report.Text();
    if (report.failure != failure) { return; }
    std::cout << "found " << NameOf(failure) << " after " << report.schedules << " schedules"
              << std::endl;
  }

  interleave::Options options_;
};

}  // namespace lifetime
}  // namespace oneflow

#endif  // ONEFLOW_LIFETIME_MODEL_TESTLIB_H_
