#include "oneflow/common/error.h"

namespace oneflow {

namespace {
// Leaked: errors are printed until the very end of the process.
std::atomic<const std::string*> report_facts{nullptr};

// From the project's root on, also for generated sources.
std::string_view ProjectPath(std::string_view file) {
  const size_t bin = file.find("/bin/");
  return file.substr(0, 10) == "bazel-out/" && bin != file.npos ? file.substr(bin + 5) : file;
}
}  // namespace

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

void SetReportFacts(const std::string& facts) {
  report_facts.store(new std::string(facts), std::memory_order_release);
}

std::string Error::Describe() const {
  if (kind_ != ErrorKind::kInternal) { return message_; }
  std::string out = message_ +
                    "\nThis is a bug in OneFlow, please report it with these lines and, if "
                    "you can, a program that shows it:";
  for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
    out += Format("\n  {}:{}: {}", ProjectPath(frame->file), frame->line, frame->expression);
  }
  if (const std::string* facts = report_facts.load(std::memory_order_acquire)) {
    out += "\n  " + *facts;
  }
  return out;
}

}  // namespace oneflow
