#include "oneflow/lifetime/fork_hooks.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "oneflow/common/mutex.h"
#include "oneflow/lifetime/runtime_thread.h"

namespace oneflow {
namespace lifetime {

namespace {

struct Entry {
  ForkOrder order;
  ForkHooks hooks;
};

// Held from prepare until the hooks in the parent, or the child, have run. Leaked, as a fork may
// happen while the process exits.
Mutex hooks_mutex;
std::vector<Entry>& Entries() {
  static auto* entries = new std::vector<Entry>;
  return *entries;
}
std::atomic<bool> in_child{false};

void Prepare() ONEFLOW_TSA_(acquire_capability(hooks_mutex)) {
  hooks_mutex.Lock();
  for (const Entry& entry : Entries()) {
    if (entry.hooks.prepare) { entry.hooks.prepare(); }
  }
}

void InParent() ONEFLOW_TSA_(release_capability(hooks_mutex)) {
  for (auto at = Entries().rbegin(); at != Entries().rend(); ++at) {
    if (at->hooks.in_parent) { at->hooks.in_parent(); }
  }
  hooks_mutex.Unlock();
}

void InChild() ONEFLOW_TSA_(release_capability(hooks_mutex)) {
  in_child.store(true, std::memory_order_relaxed);
  ForgetRuntimeThreads();
  for (auto at = Entries().rbegin(); at != Entries().rend(); ++at) {
    if (at->hooks.in_child) { at->hooks.in_child(); }
  }
  hooks_mutex.Unlock();
}

}  // namespace

void RegisterForkHooks(ForkOrder order, ForkHooks hooks) {
  static const int installed = pthread_atfork(Prepare, InParent, InChild);
  static_cast<void>(installed);
  MutexLock lock(&hooks_mutex);
  std::vector<Entry>& entries = Entries();
  const auto at = std::upper_bound(entries.begin(), entries.end(), order,
                                   [](ForkOrder o, const Entry& e) { return o < e.order; });
  entries.insert(at, Entry{order, std::move(hooks)});
}

bool InForkChild() { return in_child.load(std::memory_order_relaxed); }

}  // namespace lifetime
}  // namespace oneflow
