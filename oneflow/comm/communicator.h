// Communicator: collectives and messages between the processes of a run.
//
// Every rank calls the same collectives in the same order. A call returns when its result is in
// `out`. Buffers are dense, in the memory of the communicator's device; `in` and `out` of one call
// are the same buffer or do not overlap.
//
// A call ends in bounded time: by its result, by Abort() (on this rank, or on a peer's death as far
// as the transport sees it), or after timeout_seconds(). After a failure the communicator is
// aborted, as ranks may be out of step: every later call returns the first reason.
//
// Thread safety: one call at a time, but Send() and Recv() may run beside each other; Abort() and
// aborted() from any thread. Blocking: calls wait; so they run on runtime threads, not under the
// host's lock.
#ifndef ONEFLOW_COMM_COMMUNICATOR_H_
#define ONEFLOW_COMM_COMMUNICATOR_H_

#include <cstdint>
#include <memory>
#include <string>

#include "oneflow/comm/abort_flag.h"
#include "oneflow/comm/rendezvous.h"
#include "oneflow/common/maybe.h"
#include "oneflow/core/dtype.h"

namespace oneflow {
namespace comm {

enum class ReduceOp { kSum, kProduct, kMin, kMax };
const char* ReduceOpName(ReduceOp op);

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual const char* backend() const = 0;
  int64_t rank() const { return rank_; }
  int64_t world_size() const { return world_size_; }
  double timeout_seconds() const { return timeout_seconds_; }

  // out = the elementwise reduction of every rank's `in`; `count` elements each.
  Maybe<void> AllReduce(const void* in, void* out, int64_t count, DataType dtype, ReduceOp op);
  // `out` holds world_size * count elements: rank r's `in` at r * count.
  Maybe<void> AllGather(const void* in, void* out, int64_t count, DataType dtype);
  // `in` holds world_size * count elements; `out` the reduction of those at rank * count.
  Maybe<void> ReduceScatter(const void* in, void* out, int64_t count, DataType dtype, ReduceOp op);
  Maybe<void> Broadcast(void* data, int64_t count, DataType dtype, int64_t root);
  // Messages between two ranks with one tag arrive in the order in which they were sent.
  Maybe<void> Send(const void* data, int64_t count, DataType dtype, int64_t to, int64_t tag);
  Maybe<void> Recv(void* data, int64_t count, DataType dtype, int64_t from, int64_t tag);
  // Returns once every rank has called it.
  Maybe<void> Barrier();

  // Ends the calls that wait now, and all later ones, with `reason`.
  void Abort(ErrorPtr reason);
  bool aborted() const { return flag_.aborted(); }

 protected:
  Communicator(int64_t rank, int64_t world_size, double timeout_seconds)
      : rank_(rank), world_size_(world_size), timeout_seconds_(timeout_seconds) {}

  // Arguments are checked, counts above zero, and the communicator is not aborted.
  virtual Maybe<void> DoAllReduce(const void* in, void* out, int64_t count, DataType dtype,
                                  ReduceOp op) = 0;
  virtual Maybe<void> DoAllGather(const void* in, void* out, int64_t count, DataType dtype) = 0;
  virtual Maybe<void> DoReduceScatter(const void* in, void* out, int64_t count, DataType dtype,
                                      ReduceOp op) = 0;
  virtual Maybe<void> DoBroadcast(void* data, int64_t count, DataType dtype, int64_t root) = 0;
  virtual Maybe<void> DoSend(const void* data, int64_t count, DataType dtype, int64_t to,
                             int64_t tag) = 0;
  virtual Maybe<void> DoRecv(void* data, int64_t count, DataType dtype, int64_t from,
                             int64_t tag) = 0;
  virtual Maybe<void> DoBarrier() = 0;
  // Wakes what waits inside the transport (shuts the sockets).
  virtual void DoAbort() {}

  AbortFlag& flag() { return flag_; }

 private:
  Maybe<void> CheckCall(const char* op, int64_t count, DataType dtype);
  Maybe<void> CheckReduce(const char* op, int64_t count, DataType dtype, ReduceOp reduce);
  Maybe<void> CheckPeer(const char* op, int64_t peer) const;
  // A failed call aborts the communicator.
  Maybe<void> Finish(Maybe<void> result);

  const int64_t rank_;
  const int64_t world_size_;
  const double timeout_seconds_;
  AbortFlag flag_;
};

// ONEFLOW_COMM_TIMEOUT_SECONDS, default 300.
double DefaultTimeoutSeconds();

}  // namespace comm
}  // namespace oneflow

#endif  // ONEFLOW_COMM_COMMUNICATOR_H_
