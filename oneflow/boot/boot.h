// The composition root: the one place that knows every part of the runtime, and starts them.
//
// C++ tests call it to have a runtime without Python. Thread safety: StartRuntime() may be called by
// several threads and more than once; the first call does the work.
#ifndef ONEFLOW_BOOT_BOOT_H_
#define ONEFLOW_BOOT_BOOT_H_

#include "oneflow/common/maybe.h"

namespace oneflow {

// Registers devices and the vm with the process's Env, and starts it. Starts no
// thread: the first op that needs one does.
Maybe<void> StartRuntime();

// Ends every thread of the runtime, up to the shutdown deadline; `status` is what the process was
// going to exit with. Ops still work afterwards, inline.
void StopRuntime(int status);

}  // namespace oneflow

#endif  // ONEFLOW_BOOT_BOOT_H_
