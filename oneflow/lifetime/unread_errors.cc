#include "oneflow/lifetime/unread_errors.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <vector>

#include "oneflow/common/env_var.h"
#include "oneflow/common/log.h"
#include "oneflow/common/mutex.h"
#include "oneflow/common/planted_fault.h"
#include "oneflow/common/terminal.h"
#include "oneflow/lifetime/end_process.h"
#include "oneflow/lifetime/fork_hooks.h"

namespace oneflow {
namespace lifetime {

namespace {

constexpr size_t kMaxKept = 20;

struct Unread {
  ErrorPtr error;
  std::string text;  // rendered; empty: not yet
};

struct List {
  Mutex mutex;
  std::vector<Unread> errors GUARDED_BY(mutex);
  size_t not_kept GUARDED_BY(mutex) = 0;
};
// Leaked: errors may be registered while the process exits. Another one after fork(): a thread that
// does not exist in the child may hold the lock.
std::atomic<List*>& TheListPointer() {
  static std::atomic<List*> list{new List};
  return list;
}
List& TheList() { return *TheListPointer().load(std::memory_order_acquire); }

void DropRead(std::vector<Unread>* errors) {
  errors->erase(std::remove_if(errors->begin(), errors->end(),
                               [](const Unread& unread) { return unread.error->read(); }),
                errors->end());
}

// As Python prints an uncaught exception: the lines, then the error.
std::string Render(const Error& error) {
  const bool color = StderrWantsColor();
  const std::string name = ErrorKindName(error.kind());
  const StackContext* context = error.stack_context();
  std::string out = context == nullptr ? "" : FormatLines(context->before());
  const std::string stack = FormatStack(error.stack());
  if (!stack.empty()) { out += "Traceback (most recent call last):\n" + stack; }
  if (context != nullptr) { out += FormatLines(context->after()); }
  out += (color ? ErrorColored(name) : name) + ": " + error.Describe() + "\n";
  if (!error.footer().empty()) { out += error.footer() + "\n"; }
  return stack.empty() ? out + RecorderHint() : out;
}

std::string TextOf(const Unread& unread) {
  return unread.text.empty() ? Render(*unread.error) : unread.text;
}

void AtExit(int status, void*) {
  if (InForkChild()) { return; }
  if (FaultPlanted(Fault::kFramesReadWithoutGil)) { CurrentStack(); }
  // Python has been finalized; the threads that it lets in meanwhile get the time to do harm.
  if (FaultPlanted(Fault::kAdmissionStaysOpen)) { ::sleep(2); }
  std::fflush(nullptr);
  const std::string report = UnreadErrorReport();
  if (report.empty()) { return; }
  WriteStderr(report);
  if (status != 0 || EnvString("ONEFLOW_UNREAD_ERRORS", "") == "warn") { return; }
  // The status cannot be changed from here in any other way. Handlers that were registered before
  // this one do not run.
  EndProcess(1);
}

}  // namespace

void RegisterRootFailure(const ErrorPtr& error) {
  if (FaultPlanted(Fault::kUnreadErrorNotReported)) { return; }
  List& list = TheList();
  MutexLock lock(&list.mutex);
  DropRead(&list.errors);
  if (list.errors.size() < kMaxKept) {
    list.errors.push_back({error, ""});
  } else {
    ++list.not_kept;
  }
}

void InstallUnreadErrorReport() {
  static const int installed = ::on_exit(AtExit, nullptr);
  static_cast<void>(installed);
}

void RenderUnreadErrors() {
  List& list = TheList();
  MutexLock lock(&list.mutex);
  for (Unread& unread : list.errors) {
    if (unread.text.empty() && !unread.error->read()) { unread.text = Render(*unread.error); }
  }
}

std::string UnreadErrorReport() {
  List& list = TheList();
  MutexLock lock(&list.mutex);
  DropRead(&list.errors);
  const size_t count = list.errors.size() + list.not_kept;
  if (list.errors.empty()) { return ""; }
  std::string out = count == 1
                        ? "oneflow: an error was never read by the program:\n"
                        : Format("oneflow: {} errors were never read by the program:\n", count);
  if (StderrWantsColor()) { out = HeadingColored(out.substr(0, out.size() - 1)) + "\n"; }
  // A loop fails in the same way each time: the same lines are printed once.
  for (size_t i = 0; i < list.errors.size();) {
    const std::string text = TextOf(list.errors[i]);
    size_t end = i + 1;
    while (end < list.errors.size() && TextOf(list.errors[end]) == text) { ++end; }
    out += text;
    if (end - i > 1) { out += Format("(the same error {} times)\n", end - i); }
    i = end;
  }
  if (list.not_kept > 0) { out += Format("... and {} more\n", list.not_kept); }
  return out;
}

void ForgetUnreadErrors() { TheListPointer().store(new List, std::memory_order_release); }

}  // namespace lifetime
}  // namespace oneflow
