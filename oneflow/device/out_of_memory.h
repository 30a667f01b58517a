// The report of an out-of-memory error: what was asked, who holds the memory, and what to try.
//
// The summary comes last, so that it is the last thing on the screen.
//
// Thread safety: all functions. They read source files, and take the pool's locks for a moment.
#ifndef ONEFLOW_DEVICE_OUT_OF_MEMORY_H_
#define ONEFLOW_DEVICE_OUT_OF_MEMORY_H_

#include <string>
#include <vector>

#include "oneflow/common/stack_source.h"
#include "oneflow/device/allocator.h"
#include "oneflow/device/live_memory.h"

namespace oneflow {

// The error for a request that `pool` could not serve, with op and stack. It holds text only.
ErrorPtr OutOfMemoryReport(const Allocator& pool, const MemoryRequest& request);

// The largest tensors that hold memory of `device`, one paragraph each, with the lines that made
// them. Empty when none is large enough to be recorded.
std::string DescribeLargestTensors(Device device, int count);

// Frames of files in this folder are not what a user calls a line of his program. Empty: none.
void SetPackageFolder(const std::string& folder);
// Those of `frames` that are lines of the program; all of them, if none is.
std::vector<StackFrame> ProgramLines(const std::vector<StackFrame>& frames);

}  // namespace oneflow

#endif  // ONEFLOW_DEVICE_OUT_OF_MEMORY_H_
