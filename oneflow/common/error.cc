#include "oneflow/common/error.h"

namespace oneflow {

const char* ErrorKindName(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kType: return "TypeError";
    case ErrorKind::kValue: return "ValueError";
    case ErrorKind::kIndex: return "IndexError";
    case ErrorKind::kRuntime: return "RuntimeError";
    case ErrorKind::kNotImplemented: return "NotImplementedError";
    case ErrorKind::kOutOfMemory: return "oneflow.OutOfMemoryError";
    case ErrorKind::kInternal: return "oneflow.InternalError";
    case ErrorKind::kEnvironment: return "OSError";
    case ErrorKind::kInterrupted: return "Interrupted";
  }
  return "Error";
}

std::string_view BracketedName(std::string_view message) {
  const size_t end = message.find(']');
  if (message.empty() || message[0] != '[' || end == std::string_view::npos) { return {}; }
  return message.substr(1, end - 1);
}

Error::~Error() {
  if (stack_ == kNoStack) { return; }
  if (StackSource* source = StackSource::Get()) { source->Unpin(stack_); }
}

void Error::set_stack(StackId stack) {
  if (stack == stack_) { return; }
  if (StackSource* source = StackSource::Get()) {
    if (stack != kNoStack) { source->Pin(stack); }
    if (stack_ != kNoStack) { source->Unpin(stack_); }
  }
  stack_ = stack;
}

void Error::Rename(std::string_view op) {
  if (from_kernel_ || published() || kind_ == ErrorKind::kInterrupted) { return; }
  const std::string_view old = BracketedName(message_);
  if (old.empty()) {
    message_ = Format("[{}] {}", op, message_);
  } else {
    message_.replace(1, old.size(), op);
  }
  op_ = op;
}

std::string Error::Describe() const {
  if (kind_ != ErrorKind::kInternal) { return message_; }
  std::string out = message_ + "\nThis is a bug in OneFlow, please report it with the lines below:";
  for (const ErrorFrame& frame : frames_) {
    out += Format("\n  {}:{}: {}", frame.file, frame.line, frame.expression);
  }
  return out;
}

}  // namespace oneflow
