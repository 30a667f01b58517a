// Session: the owner of all graphs of the process.
//
// It lives as long as the Env, however many graphs come and go. Close() closes its graphs, newest
// first; the next graph starts a new generation of the session. Closing goes downwards only: a graph
// never closes its session.
//
// A graph is closed once, on the closer's thread: new leases are refused, those that are out are
// waited for, GraphResource::Close() ends its runs, and it is destroyed.
//
// Thread safety: all methods. Blocking: CloseGraph() and Close() wait, without the host's lock, up to
// the shutdown deadline (closer.h); on a runtime thread they post. The rest never waits.
#ifndef ONEFLOW_LIFETIME_SESSION_H_
#define ONEFLOW_LIFETIME_SESSION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "oneflow/common/maybe.h"
#include "oneflow/common/mutex.h"
#include "oneflow/lifetime/admission.h"
#include "oneflow/lifetime/closer.h"
#include "oneflow/lifetime/graph_resource.h"

namespace oneflow {
namespace lifetime {

class GraphLease;

class Session {
 public:
  // REQUIRES: both outlive the session.
  Session(const Admission* admission, Closer* closer);
  // REQUIRES: closed, with no lease out.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Counts from 1.
  uint32_t generation() const;
  size_t num_graphs() const;

  // RuntimeError once the runtime is shutting down, and in a fork child.
  Maybe<GraphHandle> AddGraph(std::unique_ptr<GraphResource> graph);
  // RuntimeError: graph '...' is closed.
  Maybe<GraphLease> Acquire(const GraphHandle& handle);

  // Idempotent. The only error is kInterrupted, and then the graph is closed all the same.
  // REQUIRES: this thread holds no lease of the graph.
  Maybe<void> CloseGraph(const GraphHandle& handle);
  // The same, without waiting: for a `__del__`.
  void PostCloseGraph(const GraphHandle& handle);
  Maybe<void> Close();

  // What Close() does, for a job of the closer.
  void CloseInJob(Deadline deadline);

  void LockForFork() ONEFLOW_TSA_(no_thread_safety_analysis) { mutex_.Lock(); }
  void UnlockInParent() ONEFLOW_TSA_(no_thread_safety_analysis) { mutex_.Unlock(); }
  // Leaks every graph: their threads are not here.
  void AbandonInChild() ONEFLOW_TSA_(no_thread_safety_analysis);

 private:
  friend class GraphLease;
  struct Entry {
    std::unique_ptr<GraphResource> graph;
    uint64_t id;
    uint32_t generation;
    int leases = 0;
    bool closing = false;  // no new leases
    bool claimed = false;  // somebody is just closing it
  };

  void CloseEntry(uint64_t id, Deadline deadline);
  bool AwaitLeases(Entry* entry, Deadline deadline) REQUIRES_LOCK(mutex_);
  bool MarkClosing(const GraphHandle& handle);
  void Return(Entry* entry);

  const Admission* const admission_;
  Closer* const closer_;
  mutable Mutex mutex_;
  CondVar lease_returned_;
  std::map<uint64_t, std::unique_ptr<Entry>> graphs_ GUARDED_BY(mutex_);
  uint64_t next_id_ GUARDED_BY(mutex_) = 1;
  uint32_t generation_ GUARDED_BY(mutex_) = 1;
  bool open_ GUARDED_BY(mutex_) = true;  // false: the next graph starts a new generation
};

// The right to call a graph's methods; its close waits for the lease. Movable. Keep it for the
// length of one call only.
class GraphLease {
 public:
  GraphLease(GraphLease&& other) noexcept
      : session_(other.session_), entry_(std::exchange(other.entry_, nullptr)) {}
  GraphLease& operator=(GraphLease&&) = delete;
  ~GraphLease() {
    if (entry_ != nullptr) { session_->Return(entry_); }
  }

  GraphResource* operator->() const { return entry_->graph.get(); }
  GraphResource& operator*() const { return *entry_->graph; }

 private:
  friend class Session;
  GraphLease(Session* session, Session::Entry* entry) : session_(session), entry_(entry) {}

  Session* session_;
  Session::Entry* entry_;
};

// A lease for a call in which the host may park this thread for ever (as Python does at exit): it is
// given back then, since a close would wait for it in vain. Nests. REQUIRES: lives on the stack.
class ParkableLease {
 public:
  explicit ParkableLease(GraphLease lease);
  ~ParkableLease();
  ParkableLease(const ParkableLease&) = delete;
  ParkableLease& operator=(const ParkableLease&) = delete;

  const GraphLease& get() const { return *lease_; }

  // Of this thread, which will not touch their graphs again.
  static void ReturnAll();

 private:
  std::optional<GraphLease> lease_;
  ParkableLease* const outer_;
};

}  // namespace lifetime
}  // namespace oneflow

#endif  // ONEFLOW_LIFETIME_SESSION_H_
