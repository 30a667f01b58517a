// Threads that the runtime starts itself.
//
// Each one opens a ScopedRuntimeThread first thing in its main function. A runtime thread takes no
// signals (the program's handlers belong to its own threads), and never waits for something to
// close: it posts. The names serve the report of a shutdown that came too late.
//
// Thread safety: all functions.
#ifndef ONEFLOW_LIFETIME_RUNTIME_THREAD_H_
#define ONEFLOW_LIFETIME_RUNTIME_THREAD_H_

#include <string>
#include <vector>

namespace oneflow {
namespace lifetime {

class ScopedRuntimeThread {
 public:
  // `name` is what debuggers show, cut to 15 characters.
  explicit ScopedRuntimeThread(const std::string& name);
  ~ScopedRuntimeThread();
  ScopedRuntimeThread(const ScopedRuntimeThread&) = delete;
  ScopedRuntimeThread& operator=(const ScopedRuntimeThread&) = delete;
};

bool OnRuntimeThread();
// Names of the runtime threads that are alive now, in the order of their start.
std::vector<std::string> RuntimeThreadNames();
// In the child after fork(), which has none of its parent's threads.
void ForgetRuntimeThreads();

}  // namespace lifetime
}  // namespace oneflow

#endif  // ONEFLOW_LIFETIME_RUNTIME_THREAD_H_
