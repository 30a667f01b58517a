// For tests: one request for memory fails as if there were none left.
//
// So that a test can let each allocation of a program fail in turn, and look at what is left. A
// process that never arms it pays nothing: the pool is wrapped when it is armed first.
//
// Thread safety: all functions. What is armed counts the requests of the calling thread only.
#ifndef ONEFLOW_DEVICE_FAILING_ALLOCATOR_H_
#define ONEFLOW_DEVICE_FAILING_ALLOCATOR_H_

#include <cstdint>

#include "oneflow/device/allocator.h"

namespace oneflow {

// The nth request of this thread from now (1: the next) to the pool of `device` gets an
// OutOfMemoryError, and so does its repetition, which is how a pool is asked (vm/take_memory.h). Later
// ones are served again. 0 disarms. Requests for 0 bytes do not count.
// Returns how many requests were still to come before the failing one, 0 when none was armed.
Maybe<int64_t> FailAllocation(Device device, int64_t nth);

}  // namespace oneflow

#endif  // ONEFLOW_DEVICE_FAILING_ALLOCATOR_H_
