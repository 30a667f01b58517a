#include "oneflow/vm/take_memory.h"

#include "oneflow/device/out_of_memory.h"
#include "oneflow/lifetime/deferred_release.h"
#include "oneflow/vm/vm.h"

namespace oneflow {

Maybe<MemoryBlock*> TakeMemoryAgain(Allocator* pool, const MemoryRequest& request,
                                    StreamIndex stream, const ErrorPtr& refusal) {
  if (refusal->kind() != ErrorKind::kOutOfMemory) { return refusal; }
  // No wait makes room for more than the limit.
  if (request.bytes <= static_cast<size_t>(pool->Stats().limit)) {
    JUST(Vm::Get()->WaitForAll());
    lifetime::DrainDeferredReleases();
  }
  Maybe<MemoryBlock*> block = pool->Allocate(request.bytes, stream);
  if (block.ok() || block.error()->kind() != ErrorKind::kOutOfMemory) { return block; }
  return OutOfMemoryReport(*pool, request);
}

}  // namespace oneflow
