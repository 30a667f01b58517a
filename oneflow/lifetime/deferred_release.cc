#include "oneflow/lifetime/deferred_release.h"

#include <new>

namespace oneflow {
namespace lifetime {

namespace deferred_detail {
struct Item {
  ReleaseFunction release;
  void* object;
  Item* next;
};
Atomic<Item*> head{nullptr};
}  // namespace deferred_detail

using deferred_detail::head;
using deferred_detail::Item;

void DeferRelease(ReleaseFunction release, void* object) {
  // Without memory for the item the object is leaked: there is no safe place to release it here.
  auto* item = new (std::nothrow) Item{release, object, head.load(std::memory_order_relaxed)};
  if (item == nullptr) { return; }
  while (!head.compare_exchange_weak(item->next, item, std::memory_order_release,
                                     std::memory_order_relaxed)) {}
}

size_t DrainDeferredReleases() {
  Item* newest = head.exchange(nullptr, std::memory_order_acquire);
  Item* oldest = nullptr;
  while (newest != nullptr) {
    Item* next = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = next;
  }
  size_t released = 0;
  while (oldest != nullptr) {
    const Item item = *oldest;
    delete oldest;
    oldest = item.next;
    item.release(item.object);
    ++released;
  }
  return released;
}

}  // namespace lifetime
}  // namespace oneflow
