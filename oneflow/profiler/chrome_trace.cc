#include "oneflow/profiler/chrome_trace.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace oneflow {
namespace profiler {

namespace {

std::string Quote(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    const unsigned char u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (u < 0x20) {
      out += Format("\\u{:04x}", static_cast<int>(u));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string Microseconds(int64_t ns) { return Format("{:.3f}", static_cast<double>(ns) / 1e3); }

// The line and the shapes of an event, where it has them.
std::string Arguments(const Trace& trace, const Event& event) {
  std::string out;
  const auto line = trace.lines.find(event.stack);
  if (line != trace.lines.end()) {
    const StackFrame& frame = line->second;
    out = "\"line\":" + Quote(Format("{}:{}", frame.file, frame.line)) +
          ",\"function\":" + Quote(frame.function);
  }
  if (!event.shapes.empty()) {
    out += (out.empty() ? "" : ",") + std::string("\"shapes\":") + Quote(event.shapes);
  }
  return out.empty() ? out : ",\"args\":{" + out + "}";
}

}  // namespace

std::string ToChromeJson(const Trace& trace, int64_t process) {
  std::string out = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  int64_t dropped = 0;
  const char* separator = "\n";
  for (const ThreadTrace& thread : trace.threads) {
    dropped += thread.dropped;
    const std::string where = Format("\"pid\":{},\"tid\":{}", process, thread.thread_id);
    out += separator + std::string("{\"ph\":\"M\",\"name\":\"thread_name\",") + where +
           ",\"args\":{\"name\":" + Quote(thread.thread_name) + "}}";
    separator = ",\n";
    for (const Event& event : thread.events) {
      out +=
          ",\n{\"ph\":\"X\",\"cat\":" + Quote(event.category) + ",\"name\":" + Quote(event.name) +
          "," + where + ",\"ts\":" + Microseconds(event.begin_ns - trace.begin_ns) +
          ",\"dur\":" + Microseconds(event.end_ns - event.begin_ns) + Arguments(trace, event) + "}";
    }
  }
  return out + Format("\n],\"otherData\":{{\"dropped_events\":{}}}}}\n", dropped);
}

Maybe<void> WriteChromeTrace(const Trace& trace, const std::string& path, int64_t process) {
  const std::string text = ToChromeJson(trace, process);
  const std::string draft = path + Format(".{}.tmp", static_cast<int64_t>(::getpid()));
  std::FILE* file = std::fopen(draft.c_str(), "we");
  bool good = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file != nullptr) { good = (std::fclose(file) == 0) && good; }
  good = good && std::rename(draft.c_str(), path.c_str()) == 0;
  if (good) { return Ok(); }
  const int reason = errno;
  if (file != nullptr) { std::remove(draft.c_str()); }
  return EnvironmentError("[profiler] cannot write the trace to '{}': {}", path,
                          std::strerror(reason));
}

}  // namespace profiler
}  // namespace oneflow
