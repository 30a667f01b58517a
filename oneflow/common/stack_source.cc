#include "oneflow/common/stack_source.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "oneflow/common/format.h"

namespace oneflow {

std::atomic<StackSource*> StackSource::current_{nullptr};

namespace {

thread_local StackOverride tls_override;

// CPython repeats a frame three times, then counts.
constexpr int kRepeatsShown = 3;

// Code points that terminals draw two columns wide (East Asian wide and emoji blocks).
bool IsWide(uint32_t c) {
  return (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) ||
         (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
         (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
         (c >= 0xffe0 && c <= 0xffe6) || (c >= 0x1f300 && c <= 0x1faff) ||
         (c >= 0x20000 && c <= 0x3fffd);
}

// The code point that begins at `*at`, which moves behind it. Broken UTF-8 counts byte by byte.
uint32_t NextCodePoint(const std::string& text, size_t* at) {
  const uint8_t first = static_cast<uint8_t>(text[(*at)++]);
  if (first < 0xc0) { return first; }
  const int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
  uint32_t c = first & (0x3f >> more);
  for (int i = 0; i < more && *at < text.size(); ++i) {
    const uint8_t byte = static_cast<uint8_t>(text[*at]);
    if ((byte & 0xc0) != 0x80) { break; }
    c = (c << 6) | (byte & 0x3f);
    ++*at;
  }
  return c;
}

// As many `mark`s as text[begin, end) is wide on a terminal. A tab before the marks stays a tab.
std::string Under(const std::string& text, size_t begin, size_t end, char mark) {
  std::string out;
  for (size_t at = begin; at < end;) {
    const uint32_t c = NextCodePoint(text, &at);
    if (c == '\t' && mark == ' ') {
      out += '\t';
    } else {
      out.append(IsWide(c) ? 2 : 1, mark);
    }
  }
  return out;
}

// A caret line is printed only when it marks part of one physical line, as CPython does. Columns
// count bytes; carets, what is seen.
std::string CaretLine(const StackFrame& frame) {
  if (frame.column < 0 || frame.end_column < 0) { return ""; }
  const size_t indent = frame.source.find_first_not_of(" \t\f");
  if (indent == std::string::npos) { return ""; }
  const size_t text_end = frame.source.find_last_not_of(" \t\f") + 1;
  size_t end = static_cast<size_t>(frame.end_column);
  if (frame.end_line > frame.line) { end = text_end; }
  end = std::min(end, text_end);
  const size_t begin = static_cast<size_t>(frame.column);
  if (begin < indent || begin >= end) { return ""; }
  if (begin == indent && end == text_end) { return ""; }
  return "    " + Under(frame.source, indent, begin, ' ') + Under(frame.source, begin, end, '^') +
         "\n";
}

std::string FormatFrame(const StackFrame& frame) {
  std::string out =
      Format("  File \"{}\", line {}, in {}\n", frame.file, frame.line, frame.function);
  const size_t indent = frame.source.find_first_not_of(" \t\f");
  if (indent == std::string::npos) { return out; }
  const size_t end = frame.source.find_last_not_of(" \t\f\r\n") + 1;
  return out + "    " + frame.source.substr(indent, end - indent) + "\n" + CaretLine(frame);
}

bool SamePlace(const StackFrame& a, const StackFrame& b) {
  return a.line == b.line && a.function == b.function && a.file == b.file;
}

std::string RepeatLine(int repeats) {
  if (repeats <= kRepeatsShown) { return ""; }
  const int hidden = repeats - kRepeatsShown;
  return Format("  [Previous line repeated {} more time{}]\n", hidden, hidden == 1 ? "" : "s");
}

}  // namespace

StackId CurrentStack() {
  if (tls_override.set) { return tls_override.id; }
  StackSource* source = StackSource::Get();
  return source == nullptr ? kNoStack : source->Capture();
}

const StackContext* CurrentStackContext() { return tls_override.context; }

ScopedStack::ScopedStack(StackId id, const StackContext* context) : previous_(tls_override) {
  tls_override = {id, true, context};
}

ScopedStack::~ScopedStack() { tls_override = previous_; }

ScopedHostStack::ScopedHostStack(const StackContext* context) : previous_(tls_override) {
  tls_override = {kNoStack, false, context};
}

ScopedHostStack::~ScopedHostStack() { tls_override = previous_; }

std::string FormatStack(StackId id) {
  StackSource* source = StackSource::Get();
  if (id == kNoStack || source == nullptr) { return ""; }
  // In this order: the stack may be evicted at any moment.
  const std::vector<StackFrame> frames = source->Resolve(id);
  if (frames.empty() && source->Evicted(id)) { return "  (stack evicted)\n"; }
  return FormatFrames(frames);
}

std::string FormatFrames(const std::vector<StackFrame>& frames) {
  std::string out;
  int repeats = 0;
  for (size_t i = 0; i < frames.size(); ++i) {
    if (i > 0 && SamePlace(frames[i - 1], frames[i])) {
      ++repeats;
    } else {
      out += RepeatLine(repeats);
      repeats = 1;
    }
    if (repeats <= kRepeatsShown) { out += FormatFrame(frames[i]); }
  }
  return out + RepeatLine(repeats);
}

}  // namespace oneflow
