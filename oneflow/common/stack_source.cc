#include "oneflow/common/stack_source.h"

#include <algorithm>

#include "oneflow/common/format.h"

namespace oneflow {

std::atomic<StackSource*> StackSource::current_{nullptr};

namespace {

struct Override {
  StackId id = kNoStack;
  bool set = false;
};
thread_local Override tls_override;

std::string CaretLine(const StackFrame& frame) {
  // A caret line is printed only when it marks part of one physical line, as CPython does.
  if (frame.column < 0 || frame.end_column <= frame.column) { return ""; }
  const size_t indent = frame.source.find_first_not_of(" \t");
  if (indent == std::string::npos) { return ""; }
  size_t end = static_cast<size_t>(frame.end_column);
  if (frame.end_line > frame.line) { end = frame.source.size(); }
  end = std::min(end, frame.source.size());
  const size_t begin = static_cast<size_t>(frame.column);
  if (begin < indent || begin >= end) { return ""; }
  if (begin == indent && end == frame.source.size()) { return ""; }
  return "    " + std::string(begin - indent, ' ') + std::string(end - begin, '^') + "\n";
}

}  // namespace

StackId CurrentStack() {
  if (tls_override.set) { return tls_override.id; }
  StackSource* source = StackSource::Get();
  return source == nullptr ? kNoStack : source->Capture();
}

ScopedStack::ScopedStack(StackId id)
    : previous_(tls_override.id), previous_set_(tls_override.set) {
  tls_override = {id, true};
}

ScopedStack::~ScopedStack() { tls_override = {previous_, previous_set_}; }

std::string FormatStack(StackId id) {
  StackSource* source = StackSource::Get();
  if (id == kNoStack || source == nullptr) { return ""; }
  if (source->Evicted(id)) { return "  (stack evicted)\n"; }
  std::string out;
  for (const StackFrame& frame : source->Resolve(id)) {
    out += Format("  File \"{}\", line {}, in {}\n", frame.file, frame.line, frame.function);
    const size_t indent = frame.source.find_first_not_of(" \t");
    if (indent != std::string::npos) {
      out += "    " + frame.source.substr(indent) + "\n" + CaretLine(frame);
    }
  }
  return out;
}

}  // namespace oneflow
