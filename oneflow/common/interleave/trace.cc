// What a failure looks like in text.
#include <algorithm>
#include <cstdio>

#include "oneflow/common/interleave/scheduler.h"
#include "oneflow/common/interleave/thread_state.h"

namespace oneflow {
namespace interleave {

namespace {

constexpr size_t kMaxLines = 400;  // the newest ones matter

std::string PlaceText(Place place) {
  if (place.file == nullptr) { return ""; }
  const bool dotted = place.file[0] == '.' && place.file[1] == '/';
  return std::string(place.file + (dotted ? 2 : 0)) + ":" + std::to_string(place.line);
}

std::string ObjectText(const Object* object, int id) {
  return object == nullptr ? "" : std::string(object->kind) + "#" + std::to_string(id);
}

std::string OpText(const Op& op, int id, int second_id) {
  std::string text = NameOf(op.kind);
  if (op.object != nullptr) { text += " " + ObjectText(op.object, id); }
  if (op.kind == OpKind::kWait) { text += " (" + ObjectText(op.second, second_id) + ")"; }
  for (int t = 0; t < kMaxThreads; ++t) {
    if (Has(op.threads, t)) { text += " T" + std::to_string(t); }
  }
  return text;
}

}  // namespace

std::string Scheduler::ThreadText(int process) const {
  const bool is_clock = process >= kMaxThreads;
  const int index = is_clock ? process - kMaxThreads : process;
  const std::string& name = thread(index).name;
  std::string text = "T" + std::to_string(index);
  if (is_clock) { return "clock of " + text; }
  return name.empty() ? text : text + " " + name;
}

std::string Scheduler::TraceText() const {
  const std::vector<Step>& steps = search_.steps();
  std::string text;
  char line[512];
  for (size_t i = steps.size() - std::min(steps.size(), kMaxLines); i < steps.size(); ++i) {
    const Step& step = steps[i];
    std::string what = OpText(step.op, step.object_id, step.second_id);
    if (step.has_value) { what += " = " + std::to_string(step.value); }
    std::snprintf(line, sizeof(line), "%5zu  %-16s %-34s %s\n", i + 1,
                  ThreadText(step.process).c_str(), what.c_str(), PlaceText(step.op.place).c_str());
    text += line;
  }
  for (int t = 0; t < num_threads_; ++t) {
    const ThreadState& state = thread(t);
    if (state.ended) { continue; }
    const Op& next = state.waiting ? state.timeout : state.next;
    if (next.kind == OpKind::kNone) { continue; }
    const int id = next.object == nullptr ? 0 : next.object->id;
    std::string what = state.waiting ? "waits on " + ObjectText(next.object, id)
                                     : "is about to " + OpText(next, id, 0);
    std::snprintf(line, sizeof(line), "   --  %-16s %-34s %s\n", ThreadText(t).c_str(),
                  what.c_str(), PlaceText(next.place).c_str());
    text += line;
  }
  return text;
}

}  // namespace interleave
}  // namespace oneflow
