// The deferred list: objects of the host language that a runtime thread has done with.
//
// A worker never takes the host's lock on its own, so it cannot drop a numpy array or a capsule. It
// leaves (function, pointer) here; a thread that holds the lock anyway drains the list.
//
// Thread safety: all functions; lock-free, callable from any thread at any moment, fork included.
// Happens-before: what a thread did before DeferRelease() is visible to the release function.
// What was never drained, because the interpreter has ended, is leaked.
#ifndef ONEFLOW_LIFETIME_DEFERRED_RELEASE_H_
#define ONEFLOW_LIFETIME_DEFERRED_RELEASE_H_

#include <cstddef>

#include "oneflow/common/atomic.h"

namespace oneflow {
namespace lifetime {

namespace deferred_detail {
struct Item;
extern Atomic<Item*> head;
}  // namespace deferred_detail

using ReleaseFunction = void (*)(void*);

void DeferRelease(ReleaseFunction release, void* object);

// One relaxed load: for a check at each op.
inline bool HasDeferredReleases() {
  return deferred_detail::head.load(std::memory_order_relaxed) != nullptr;
}

// Releases all that was deferred so far, oldest first, and says how many. A release function may
// defer or drain again. REQUIRES the host's lock.
size_t DrainDeferredReleases();

}  // namespace lifetime
}  // namespace oneflow

#endif  // ONEFLOW_LIFETIME_DEFERRED_RELEASE_H_
