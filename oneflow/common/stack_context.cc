#include "oneflow/common/stack_context.h"

namespace oneflow {

StackContextPtr StackContext::InBackward(const StackContext* node, StackId call) {
  return StackContextPtr(new StackContext(node, call, true));
}

StackContextPtr StackContext::InCallback(const StackContext* running, StackId stack) {
  return StackContextPtr(new StackContext(running, stack, false));
}

StackContext::StackContext(const StackContext* base, StackId stack, bool backward)
    : base_(base), stack_(stack), backward_(backward) {
  if (stack_ == kNoStack) { return; }
  if (StackSource* source = StackSource::Get()) { source->Pin(stack_); }
}

StackContext::~StackContext() {
  if (stack_ == kNoStack) { return; }
  if (StackSource* source = StackSource::Get()) { source->Unpin(stack_); }
}

std::vector<StackContext::Line> StackContext::before() const {
  std::vector<Line> lines = base_ == nullptr ? std::vector<Line>() : base_->before();
  if (backward_) { return lines; }
  lines.push_back({stack_, false});
  const std::vector<Line> calls = base_ == nullptr ? std::vector<Line>() : base_->after();
  if (!calls.empty()) { lines.insert(lines.end(), calls.begin(), calls.end() - 1); }
  return lines;
}

std::vector<StackContext::Line> StackContext::after() const {
  if (!backward_) { return {}; }
  std::vector<Line> lines = base_ == nullptr ? std::vector<Line>() : base_->after();
  lines.push_back({stack_, true});
  return lines;
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
