#include "oneflow/profiler/chrome_trace.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>
#include <sstream>

namespace oneflow {
namespace profiler {
namespace {

Trace MakeTrace(const char* name) {
  Event event;
  event.category = "vm";
  std::strcpy(event.name, name);
  event.begin_ns = 1500;
  event.end_ns = 4750;
  Trace trace;
  trace.begin_ns = 1000;
  trace.threads.push_back({42, "vm-cpu", {event}, 3});
  return trace;
}

TEST(ChromeTraceTest, WritesTheFormat) {
  EXPECT_EQ(ToChromeJson(MakeTrace("add"), 7),
            "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
            "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":7,\"tid\":42,"
            "\"args\":{\"name\":\"vm-cpu\"}},\n"
            "{\"ph\":\"X\",\"cat\":\"vm\",\"name\":\"add\",\"pid\":7,\"tid\":42,\"ts\":0.500,"
            "\"dur\":3.250}\n"
            "],\"otherData\":{\"dropped_events\":3}}\n");
}

TEST(ChromeTraceTest, WritesTheLineAndTheShapes) {
  Trace trace = MakeTrace("add");
  trace.threads[0].events[0].shapes = "(2,), (2,)";
  EXPECT_NE(ToChromeJson(trace).find(",\"args\":{\"shapes\":\"(2,), (2,)\"}}"), std::string::npos);
  trace.threads[0].events[0].stack = 5;
  trace.lines[5].file = "net.py";
  trace.lines[5].line = 12;
  trace.lines[5].function = "forward";
  EXPECT_NE(ToChromeJson(trace).find(",\"args\":{\"line\":\"net.py:12\",\"function\":\"forward\","
                                     "\"shapes\":\"(2,), (2,)\"}}"),
            std::string::npos);
}

TEST(ChromeTraceTest, EscapesNames) {
  EXPECT_NE(ToChromeJson(MakeTrace("a\"b\\c\n")).find("\"a\\\"b\\\\c\\u000a\""), std::string::npos);
}

TEST(ChromeTraceTest, AnEmptyTraceIsWellFormed) {
  EXPECT_EQ(ToChromeJson(Trace()), "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
                                   "],\"otherData\":{\"dropped_events\":0}}\n");
}

TEST(ChromeTraceTest, WritesAFileAndReplacesAnOldOne) {
  const std::string path = ::testing::TempDir() + "/trace.json";
  for (const char* name : {"first", "second"}) {
    CHECK_JUST(WriteChromeTrace(MakeTrace(name), path));
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    EXPECT_EQ(text.str(), ToChromeJson(MakeTrace(name)));
  }
}

TEST(ChromeTraceTest, AFolderThatDoesNotExistIsNamed) {
  Maybe<void> written = WriteChromeTrace(MakeTrace("add"), "/no/such/folder/trace.json");
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error()->kind(), ErrorKind::kEnvironment);
  EXPECT_EQ(written.error()->message(),
            "[profiler] cannot write the trace to '/no/such/folder/trace.json': No such file or "
            "directory");
}

}  // namespace
}  // namespace profiler
}  // namespace oneflow
