// EndProcess: the one place of the whole runtime that may end the process.
//
// For a shutdown that is past its deadline (late_exit.h), and for an error that nobody read
// (unread_errors.h). A lint and the tests of python/tests/faults reject any other.
//
// Thread safety: any thread. Flushes nothing, runs no handlers, does not return.
#ifndef ONEFLOW_LIFETIME_END_PROCESS_H_
#define ONEFLOW_LIFETIME_END_PROCESS_H_

namespace oneflow {
namespace lifetime {

// With `status`, or 1 when that is 0: who comes here has not ended well.
[[noreturn]] void EndProcess(int status);

}  // namespace lifetime
}  // namespace oneflow

#endif  // ONEFLOW_LIFETIME_END_PROCESS_H_
