#include "oneflow/lifetime/session.h"

#include <string>
#include <utility>

#include "oneflow/common/interleave/ordering_fault.h"
#include "oneflow/common/thread.h"
#include "oneflow/lifetime/lifetime_log.h"

namespace oneflow {
namespace lifetime {

namespace {

using interleave::Misordered;
using interleave::OrderingFault;

ONEFLOW_THREAD_LOCAL(ParkableLease*) innermost{nullptr};

std::string NameOf(const std::string& graph) { return "graph '" + graph + "'"; }

}  // namespace

ParkableLease::ParkableLease(GraphLease lease) : lease_(std::move(lease)), outer_(innermost) {
  innermost = this;
}

ParkableLease::~ParkableLease() { innermost = outer_; }

void ParkableLease::ReturnAll() {
  for (ParkableLease* lease = innermost; lease != nullptr; lease = lease->outer_) {
    lease->lease_.reset();
  }
  innermost = nullptr;
}

Session::Session(const Admission* admission, Closer* closer)
    : admission_(admission), closer_(closer) {
  LogLifetime("create", "session", "1");
}

Session::~Session() = default;

uint32_t Session::generation() const {
  MutexLock lock(&mutex_);
  return generation_;
}

size_t Session::num_graphs() const {
  MutexLock lock(&mutex_);
  return graphs_.size();
}

Maybe<GraphHandle> Session::AddGraph(std::unique_ptr<GraphResource> graph) {
  GraphHandle handle;
  handle.name = graph->name();
  MutexLock lock(&mutex_);
  // Under the lock: whoever closes admission takes it next, and closes what he finds.
  JUST(admission_->Check(NameOf(handle.name)));
  if (Misordered(OrderingFault::kAdmitsBeforeAdding)) {
    mutex_.Unlock();
    mutex_.Lock();
  }
  if (!open_) {
    open_ = true;
    LogLifetime("create", "session", std::to_string(++generation_));
  }
  handle.id = next_id_++;
  handle.generation = generation_;
  LogLifetime("create", "graph", handle.name);
  auto entry = std::make_unique<Entry>();
  entry->graph = std::move(graph);
  entry->id = handle.id;
  entry->generation = generation_;
  graphs_.emplace(handle.id, std::move(entry));
  return handle;
}

Maybe<GraphLease> Session::Acquire(const GraphHandle& handle) {
  if (InForkChild()) { JUST(admission_->Check(NameOf(handle.name))); }
  MutexLock lock(&mutex_);
  const auto found = graphs_.find(handle.id);
  if (found == graphs_.end() || found->second->closing ||
      found->second->generation != handle.generation) {
    return RuntimeError("{} is closed", NameOf(handle.name));
  }
  JUST(admission_->Check(NameOf(handle.name)));
  if (Misordered(OrderingFault::kLooksBeforeLeasing)) {
    mutex_.Unlock();
    mutex_.Lock();
  }
  ++found->second->leases;
  return GraphLease(this, found->second.get());
}

void Session::Return(Entry* entry) {
  MutexLock lock(&mutex_);
  --entry->leases;
  // In a fork child nobody waits, and the condition variable may be in the middle of a wait of a
  // thread that is not here.
  if (entry->leases == 0 && entry->closing && !InForkChild()) { lease_returned_.NotifyAll(); }
}

// False when there is nothing left to close.
bool Session::MarkClosing(const GraphHandle& handle) {
  MutexLock lock(&mutex_);
  const auto found = graphs_.find(handle.id);
  if (found == graphs_.end()) { return false; }
  found->second->closing = true;
  return true;
}

Maybe<void> Session::CloseGraph(const GraphHandle& handle) {
  if (InForkChild() || !MarkClosing(handle)) { return Ok(); }
  return closer_->RunAndWait(
      [this, id = handle.id](Deadline deadline) { CloseEntry(id, deadline); }, 0);
}

void Session::PostCloseGraph(const GraphHandle& handle) {
  if (InForkChild() || !MarkClosing(handle)) { return; }
  closer_->Post([this, id = handle.id](Deadline deadline) { CloseEntry(id, deadline); });
}

Maybe<void> Session::Close() {
  if (InForkChild()) { return Ok(); }
  return closer_->RunAndWait([this](Deadline deadline) { CloseInJob(deadline); }, 0);
}

void Session::CloseInJob(Deadline deadline) {
  uint32_t last;
  {
    MutexLock lock(&mutex_);
    if (!open_) { return; }
    open_ = false;
    last = generation_;
    for (auto& [id, entry] : graphs_) {
      entry->closing = !Misordered(OrderingFault::kClosesBeforeRefusing);
    }
  }
  LogLifetime("close", "session", std::to_string(last));
  for (;;) {
    uint64_t newest = 0;
    {
      MutexLock lock(&mutex_);
      for (const auto& [id, entry] : graphs_) {
        if (entry->generation <= last && !entry->claimed) { newest = id; }
      }
    }
    if (newest == 0) { break; }
    CloseEntry(newest, deadline);
    if (deadline.Expired()) { return; }
  }
  LogLifetime("destruct", "session", std::to_string(last));
}

void Session::CloseEntry(uint64_t id, Deadline deadline) {
  Entry* entry;
  bool idle;
  {
    MutexLock lock(&mutex_);
    const auto found = graphs_.find(id);
    if (found == graphs_.end() || found->second->claimed) { return; }
    entry = found->second.get();
    entry->claimed = true;
    LogLifetime("close", "graph", entry->graph->name());
    closer_->EnterStep(NameOf(entry->graph->name()),
                       [entry] { return entry->graph->Unfinished(); });
    idle = Misordered(OrderingFault::kClosesUnderLease) || AwaitLeases(entry, deadline);
  }
  if (idle) { entry->graph->Close(deadline); }
  // Not closed in time: whoever waits ends the process, and until then nothing may be destroyed.
  if (!idle || deadline.Expired()) { return; }
  closer_->LeaveStep();
  const std::string name = entry->graph->name();
  entry->graph.reset();
  LogLifetime("destruct", "graph", name);
  MutexLock lock(&mutex_);
  graphs_.erase(id);
}

bool Session::AwaitLeases(Entry* entry, Deadline deadline) {
  while (entry->leases > 0 && !deadline.Expired()) {
    lease_returned_.WaitFor(&mutex_, deadline.Remaining());
  }
  return entry->leases == 0;
}

void Session::AbandonInChild() {
  // Leases that the forking thread holds still point to their entries, so these stay too.
  static_cast<void>(new std::map<uint64_t, std::unique_ptr<Entry>>(std::move(graphs_)));
  graphs_.clear();
  mutex_.Unlock();
}

}  // namespace lifetime
}  // namespace oneflow
