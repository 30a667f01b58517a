// TakeMemory: memory for an op that is being issued.
//
// Before it fails it waits for everything that is queued, since what that uses can go back to the
// system, or to other streams, only then; and it drops what other threads have left on the deferred
// list. Then it asks once more. Its error is the report of device/out_of_memory.h.
//
// Thread safety: any thread. REQUIRES the host's lock, and not the issue lock.
// Blocking: only where the pool is empty; it then lets go of the host's lock and looks at signals.
#ifndef ONEFLOW_VM_TAKE_MEMORY_H_
#define ONEFLOW_VM_TAKE_MEMORY_H_

#include "oneflow/device/allocator.h"
#include "oneflow/device/live_memory.h"

namespace oneflow {

// The rest of TakeMemory, after a first refusal.
Maybe<MemoryBlock*> TakeMemoryAgain(Allocator* pool, const MemoryRequest& request,
                                    StreamIndex stream, const ErrorPtr& refusal);

inline Maybe<MemoryBlock*> TakeMemory(Allocator* pool, const MemoryRequest& request,
                                      StreamIndex stream) {
  Maybe<MemoryBlock*> block = pool->Allocate(request.bytes, stream);
  if (__builtin_expect(block.ok(), 1)) { return block; }
  return TakeMemoryAgain(pool, request, stream, block.error());
}

}  // namespace oneflow

#endif  // ONEFLOW_VM_TAKE_MEMORY_H_
