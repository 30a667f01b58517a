#include "oneflow/lifetime/runtime_thread.h"

#include <pthread.h>
#include <signal.h>

#include <cstdint>
#include <map>

#include "oneflow/common/mutex.h"
#include "oneflow/common/thread.h"

namespace oneflow {
namespace lifetime {

namespace {

struct Registry {
  Mutex mutex;
  uint64_t next GUARDED_BY(mutex) = 1;
  std::map<uint64_t, std::string> names GUARDED_BY(mutex);
};

// Leaked: threads may end while the process exits. Another one after fork(): a thread that does not
// exist in the child may have held the lock.
Registry* registry = new Registry;
ONEFLOW_THREAD_LOCAL(uint64_t) this_thread{0};

void BlockSignals() {
  sigset_t set;
  sigfillset(&set);
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGPROF}) {
    sigdelset(&set, fault);
  }
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

}  // namespace

ScopedRuntimeThread::ScopedRuntimeThread(const std::string& name) {
  BlockSignals();
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
  MutexLock lock(&registry->mutex);
  this_thread = registry->next++;
  registry->names.emplace(this_thread, name);
}

ScopedRuntimeThread::~ScopedRuntimeThread() {
  MutexLock lock(&registry->mutex);
  registry->names.erase(this_thread);
  this_thread = 0;
}

bool OnRuntimeThread() { return this_thread != 0; }

std::vector<std::string> RuntimeThreadNames() {
  MutexLock lock(&registry->mutex);
  std::vector<std::string> out;
  out.reserve(registry->names.size());
  for (const auto& entry : registry->names) { out.push_back(entry.second); }
  return out;
}

void ForgetRuntimeThreads() { registry = new Registry; }

}  // namespace lifetime
}  // namespace oneflow
