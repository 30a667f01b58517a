// The end of a process that did not close in time: the one place that calls _exit for it.
//
// Thread safety: any thread. Does not return, and takes at most two seconds.
#ifndef ONEFLOW_LIFETIME_LATE_EXIT_H_
#define ONEFLOW_LIFETIME_LATE_EXIT_H_

#include <string>

namespace oneflow {
namespace lifetime {

// How the host language empties its own output buffers; called with its lock held.
void SetFlushHook(void (*flush)());

// Prints `report`, flushes the host's and the C library's output, and ends the process with
// `status`, or 1 when that is 0.
[[noreturn]] void ExitLate(int status, const std::string& report);

}  // namespace lifetime
}  // namespace oneflow

#endif  // ONEFLOW_LIFETIME_LATE_EXIT_H_
