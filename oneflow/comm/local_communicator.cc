#include "oneflow/comm/local_communicator.h"

#include <cstring>
#include <utility>

namespace oneflow {
namespace comm {

namespace {

Maybe<void> Copy(const void* in, void* out, int64_t count, DataType dtype) {
  if (in != out) { std::memcpy(out, in, static_cast<size_t>(count) * SizeOf(dtype)); }
  return Ok();
}

}  // namespace

Maybe<void> LocalCommunicator::DoAllReduce(const void* in, void* out, int64_t count, DataType dtype,
                                           ReduceOp) {
  return Copy(in, out, count, dtype);
}

Maybe<void> LocalCommunicator::DoAllGather(const void* in, void* out, int64_t count,
                                           DataType dtype) {
  return Copy(in, out, count, dtype);
}

Maybe<void> LocalCommunicator::DoReduceScatter(const void* in, void* out, int64_t count,
                                               DataType dtype, ReduceOp) {
  return Copy(in, out, count, dtype);
}

Maybe<void> LocalCommunicator::DoBroadcast(void*, int64_t, DataType, int64_t) { return Ok(); }

Maybe<void> LocalCommunicator::DoSend(const void* data, int64_t count, DataType dtype, int64_t,
                                      int64_t tag) {
  Message message{dtype, std::string(static_cast<const char*>(data),
                                     static_cast<size_t>(count) * SizeOf(dtype))};
  flag().Notify([&] { messages_[tag].push_back(std::move(message)); });
  return Ok();
}

Maybe<void> LocalCommunicator::DoRecv(void* data, int64_t count, DataType dtype, int64_t,
                                      int64_t tag) {
  Message message;
  JUST(flag().Await(Format("[recv] from rank 0 with tag {}", tag), timeout_seconds(), [&] {
    const auto found = messages_.find(tag);
    if (found == messages_.end()) { return false; }
    message = std::move(found->second.front());
    found->second.pop_front();
    if (found->second.empty()) { messages_.erase(found); }
    return true;
  }));
  const size_t bytes = static_cast<size_t>(count) * SizeOf(dtype);
  if (message.dtype != dtype || message.bytes.size() != bytes) {
    return RuntimeError("[recv] expects {} elements of {}, got a message of {} elements of {}",
                        count, DataTypeName(dtype), message.bytes.size() / SizeOf(message.dtype),
                        DataTypeName(message.dtype));
  }
  std::memcpy(data, message.bytes.data(), bytes);
  return Ok();
}

}  // namespace comm
}  // namespace oneflow
