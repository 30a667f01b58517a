#include "oneflow/vm/in_flight.h"

#include <algorithm>
#include <vector>

#include "oneflow/common/mutex.h"

namespace oneflow {

namespace {

struct Known {
  Mutex mutex;
  std::vector<const InFlight*> calls GUARDED_BY(mutex);
};

Known* AllCalls() {
  static auto* known = new Known();  // never destroyed: calls may end very late
  return known;
}

bool Contains(Storage* const* storages, int count, const Storage& storage) {
  return std::find(storages, storages + count, &storage) != storages + count;
}

}  // namespace

void InFlight::Begin() {
  if (begun_) { return; }
  begun_ = true;
  thread_ = ThisThread();
  Known* known = AllCalls();
  MutexLock lock(&known->mutex);
  known->calls.push_back(this);
}

void InFlight::End() {
  Known* known = AllCalls();
  MutexLock lock(&known->mutex);
  known->calls.erase(std::remove(known->calls.begin(), known->calls.end(), this),
                     known->calls.end());
}

bool InFlight::Uses(const Storage& storage) const {
  if (call_ == nullptr) { return storage_ == &storage; }
  return Contains(call_->reads, call_->num_reads, storage) ||
         Contains(call_->writes, call_->num_writes, storage);
}

InFlight::Where InFlight::Find(const Storage& storage) {
  Known* known = AllCalls();
  Where found = Where::kNowhere;
  MutexLock lock(&known->mutex);
  for (const InFlight* call : known->calls) {
    if (!call->Uses(storage)) { continue; }
    if (call->thread_ == ThisThread()) { return Where::kOnThisThread; }
    found = Where::kElsewhere;
  }
  return found;
}

void InFlight::ForgetInChild() {
  Known* known = AllCalls();
  MutexLock lock(&known->mutex);
  const auto here = ThisThread();
  known->calls.erase(std::remove_if(known->calls.begin(), known->calls.end(),
                                    [&](const InFlight* call) { return call->thread_ != here; }),
                     known->calls.end());
}

}  // namespace oneflow
