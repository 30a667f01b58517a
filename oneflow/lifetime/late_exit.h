// The end of a process that did not close in time: the one place that calls _exit for it.
//
// Thread safety: any thread. Does not return, and takes at most two seconds.
#ifndef ONEFLOW_LIFETIME_LATE_EXIT_H_
#define ONEFLOW_LIFETIME_LATE_EXIT_H_

#include <string>

namespace oneflow {
namespace lifetime {

// How the host language empties its own output buffers. Called by ExitLate(); the hook finds out
// whether this thread holds the host's lock, and does nothing otherwise.
void SetFlushHook(void (*flush)());

// From now on the process ends within two seconds, with `status`, or 1 when that is 0: whatever
// still has to be done for a good end (taking the host's lock, flushing) cannot hang it.
void ArmLateExit(int status);

// Prints `report`, flushes the host's and the C library's output, and ends the process with
// `status`, or 1 when that is 0.
[[noreturn]] void ExitLate(int status, const std::string& report);

}  // namespace lifetime
}  // namespace oneflow

#endif  // ONEFLOW_LIFETIME_LATE_EXIT_H_
