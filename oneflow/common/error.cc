#include "oneflow/common/error.h"

namespace oneflow {

const char* ErrorKindName(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kType: return "TypeError";
    case ErrorKind::kValue: return "ValueError";
    case ErrorKind::kIndex: return "IndexError";
    case ErrorKind::kRuntime: return "RuntimeError";
    case ErrorKind::kNotImplemented: return "NotImplementedError";
    case ErrorKind::kOutOfMemory: return "OutOfMemoryError";
    case ErrorKind::kInternal: return "InternalError";
    case ErrorKind::kEnvironment: return "EnvironmentError";
    case ErrorKind::kInterrupted: return "Interrupted";
  }
  return "Error";
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

std::string Error::Describe() const {
  if (kind_ != ErrorKind::kInternal) { return message_; }
  std::string out = message_ + "\nThis is a bug in OneFlow, please report it with the lines below:";
  for (const ErrorFrame& frame : frames_) {
    out += Format("\n  {}:{}: {}", frame.file, frame.line, frame.expression);
  }
  return out;
}

}  // namespace oneflow
