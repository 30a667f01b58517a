#include "oneflow/common/trace.h"

#include <gtest/gtest.h>

#include <string>

namespace oneflow {
namespace {

class Sink : public TraceSink {
 public:
  void Record(const char* category, const char* name, int64_t begin_ns, int64_t end_ns,
              const TraceDetails* details) override {
    heard += std::string(category) + ":" + name;
    if (details != nullptr) { heard += details->shapes + " of " + std::to_string(details->stack); }
    heard += begin_ns <= end_ns ? ";" : "?";
  }
  std::string heard;
};

TEST(TraceTest, ReportsScopesThatOpenWhileThereIsASink) {
  Sink sink;
  {
    TraceScope scope("vm", "before");
    EXPECT_EQ(scope.sink(), nullptr);
  }
  {
    TraceScope early("vm", "opened before");
    TraceSink::Set(&sink);
  }
  { TraceScope scope("vm", "add"); }
  { TraceScope scope(nullptr, "part of another"); }
  {
    TraceScope scope("vm", "relu");
    ASSERT_EQ(scope.sink(), &sink);
    scope.Tell({7, "(2,)"});
  }
  {
    TraceScope late("graph", "closed after");
    TraceSink::Set(nullptr);
  }
  { TraceScope scope("vm", "after"); }
  EXPECT_EQ(sink.heard, "vm:add;vm:relu(2,) of 7;graph:closed after;");
}

}  // namespace
}  // namespace oneflow
