#include "oneflow/common/trace.h"

#include <gtest/gtest.h>

#include <string>

namespace oneflow {
namespace {

class Sink : public TraceSink {
 public:
  void Record(const char* category, const char* name, int64_t begin_ns, int64_t end_ns) override {
    heard += std::string(category) + ":" + name + (begin_ns <= end_ns ? ";" : "?");
  }
  std::string heard;
};

TEST(TraceTest, ReportsScopesThatOpenWhileThereIsASink) {
  Sink sink;
  { TraceScope scope("vm", "before"); }
  {
    TraceScope early("vm", "opened before");
    TraceSink::Set(&sink);
  }
  { TraceScope scope("vm", "add"); }
  {
    TraceScope late("graph", "closed after");
    TraceSink::Set(nullptr);
  }
  { TraceScope scope("vm", "after"); }
  EXPECT_EQ(sink.heard, "vm:add;graph:closed after;");
}

}  // namespace
}  // namespace oneflow
