// lifetime under the exhaustive scheduler: a graph whose runs only its lease protects, and a fixture.
#ifndef ONEFLOW_LIFETIME_MODEL_TESTLIB_H_
#define ONEFLOW_LIFETIME_MODEL_TESTLIB_H_

#include <memory>
#include <string>
#include <utility>

#include "oneflow/common/atomic.h"
#include "oneflow/common/interleave/explore.h"
#include "oneflow/common/interleave/ordering_fault.h"
#include "oneflow/common/interleave/scenario_testlib.h"
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

using ModelTest = interleave::ScenarioTest;

}  // namespace lifetime
}  // namespace oneflow

#endif  // ONEFLOW_LIFETIME_MODEL_TESTLIB_H_
