#include "oneflow/common/stack_context.h"

namespace oneflow {

StackContextPtr StackContext::InBackward(const StackContext* node, StackId call) {
  IntrusivePtr<StackContext> made(new StackContext());
  if (node != nullptr) {
    made->before_ = node->before_;
    made->after_ = node->after_;
  }
  made->after_.push_back({call, true});
  made->Pin();
  return made;
}

StackContextPtr StackContext::InCallback(const StackContext* running, StackId stack) {
  IntrusivePtr<StackContext> made(new StackContext());
  if (running != nullptr) { made->before_ = running->before_; }
  made->before_.push_back({stack, false});
  if (running != nullptr && !running->after_.empty()) {
    made->before_.insert(made->before_.end(), running->after_.begin(), running->after_.end() - 1);
  }
  made->Pin();
  return made;
}

void StackContext::Pin() const {
  StackSource* source = StackSource::Get();
  if (source == nullptr) { return; }
  for (const auto* lines : {&before_, &after_}) {
    for (const Line& line : *lines) {
      if (line.stack != kNoStack) { source->Pin(line.stack); }
    }
  }
}

StackContext::~StackContext() {
  StackSource* source = StackSource::Get();
  if (source == nullptr) { return; }
  for (const auto* lines : {&before_, &after_}) {
    for (const Line& line : *lines) {
      if (line.stack != kNoStack) { source->Unpin(line.stack); }
    }
  }
}

std::string FormatLines(const std::vector<StackContext::Line>& lines) {
  std::string out;
  for (const StackContext::Line& line : lines) {
    const std::string stack = FormatStack(line.stack);
    if (stack.empty()) { continue; }
    out += line.backward ? "During backward, called at:\n" : "In the backward of the op at:\n";
    out += stack;
  }
  return out;
}

std::string RecorderHint() {
  if (StackSource::Get() != nullptr) { return ""; }
  return "The op ran in the background. Set ONEFLOW_PYTHON_STACK_GETTER=1 or ONEFLOW_DEBUG=1 to "
         "have "
         "the line that issued it named here.\n";
}

std::string FormatStacks(StackId stack, const StackContext* context) {
  std::string out = context == nullptr ? "" : FormatLines(context->before());
  const std::string own = FormatStack(stack);
  if (!own.empty()) { out += "Related Python stack trace:\n" + own; }
  if (context != nullptr) { out += FormatLines(context->after()); }
  return out;
}

}  // namespace oneflow
