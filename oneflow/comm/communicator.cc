#include "oneflow/comm/communicator.h"

#include <utility>

#include "oneflow/common/env_var.h"
#include "oneflow/common/trace.h"

namespace oneflow {
namespace comm {

const char* ReduceOpName(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum: return "sum";
    case ReduceOp::kProduct: return "product";
    case ReduceOp::kMin: return "min";
    case ReduceOp::kMax: return "max";
  }
  return "?";
}

double DefaultTimeoutSeconds() { return EnvDouble("ONEFLOW_COMM_TIMEOUT_SECONDS", 300); }

Maybe<void> Communicator::CheckCall(const char* op, int64_t count, DataType dtype) {
  JUST(flag_.Check());
  constexpr int64_t kMaxBytes = int64_t{1} << 62;
  const int64_t bytes_of_all = static_cast<int64_t>(SizeOf(dtype)) * world_size_;
  if (count < 0 || count > kMaxBytes / bytes_of_all) {
    return ValueError("[{}] expects a count from 0 to {}, got {}", op, kMaxBytes / bytes_of_all,
                      count);
  }
  return Ok();
}

Maybe<void> Communicator::CheckReduce(const char* op, int64_t count, DataType dtype,
                                      ReduceOp reduce) {
  JUST(CheckCall(op, count, dtype));
  if (IsBool(dtype) && (reduce == ReduceOp::kSum || reduce == ReduceOp::kProduct)) {
    return TypeError("[{}] expects a dtype with a {}, got {}", op, ReduceOpName(reduce),
                     DataTypeName(dtype));
  }
  return Ok();
}

Maybe<void> Communicator::CheckPeer(const char* op, int64_t peer) const {
  if (peer < 0 || peer >= world_size_) {
    return ValueError("[{}] expects a rank from 0 to {}, got {}", op, world_size_ - 1, peer);
  }
  return Ok();
}

Maybe<void> Communicator::Finish(Maybe<void> result) {
  if (!result.ok()) { Abort(result.error()); }
  return result;
}

Maybe<void> Communicator::AllReduce(const void* in, void* out, int64_t count, DataType dtype,
                                    ReduceOp op) {
  TraceScope trace("comm", "all_reduce");
  JUST(CheckReduce("all_reduce", count, dtype, op));
  return count == 0 ? Ok() : Finish(DoAllReduce(in, out, count, dtype, op));
}

Maybe<void> Communicator::AllGather(const void* in, void* out, int64_t count, DataType dtype) {
  TraceScope trace("comm", "all_gather");
  JUST(CheckCall("all_gather", count, dtype));
  return count == 0 ? Ok() : Finish(DoAllGather(in, out, count, dtype));
}

Maybe<void> Communicator::ReduceScatter(const void* in, void* out, int64_t count, DataType dtype,
                                        ReduceOp op) {
  TraceScope trace("comm", "reduce_scatter");
  JUST(CheckReduce("reduce_scatter", count, dtype, op));
  return count == 0 ? Ok() : Finish(DoReduceScatter(in, out, count, dtype, op));
}

Maybe<void> Communicator::Broadcast(void* data, int64_t count, DataType dtype, int64_t root) {
  TraceScope trace("comm", "broadcast");
  JUST(CheckCall("broadcast", count, dtype));
  JUST(CheckPeer("broadcast", root));
  return count == 0 ? Ok() : Finish(DoBroadcast(data, count, dtype, root));
}

Maybe<void> Communicator::Send(const void* data, int64_t count, DataType dtype, int64_t to,
                               int64_t tag) {
  TraceScope trace("comm", "send");
  JUST(CheckCall("send", count, dtype));
  JUST(CheckPeer("send", to));
  return Finish(DoSend(data, count, dtype, to, tag));
}

Maybe<void> Communicator::Recv(void* data, int64_t count, DataType dtype, int64_t from,
                               int64_t tag) {
  TraceScope trace("comm", "recv");
  JUST(CheckCall("recv", count, dtype));
  JUST(CheckPeer("recv", from));
  return Finish(DoRecv(data, count, dtype, from, tag));
}

Maybe<void> Communicator::Barrier() {
  TraceScope trace("comm", "barrier");
  JUST(flag_.Check());
  return Finish(DoBarrier());
}

void Communicator::Abort(ErrorPtr reason) {
  if (flag_.aborted()) { return; }
  flag_.Abort(std::move(reason));
  DoAbort();
}

}  // namespace comm
}  // namespace oneflow
