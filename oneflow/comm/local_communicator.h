// LocalCommunicator: a run of one process. Collectives copy; messages go to the process itself.
//
// Thread safety, blocking: as Communicator. Recv() waits for a Send() of another thread.
#ifndef ONEFLOW_COMM_LOCAL_COMMUNICATOR_H_
#define ONEFLOW_COMM_LOCAL_COMMUNICATOR_H_

#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "oneflow/comm/communicator.h"

namespace oneflow {
namespace comm {

class LocalCommunicator final : public Communicator {
 public:
  explicit LocalCommunicator(double timeout_seconds = DefaultTimeoutSeconds())
      : Communicator(0, 1, timeout_seconds) {}

  const char* backend() const override { return "local"; }

 protected:
  Maybe<void> DoAllReduce(const void* in, void* out, int64_t count, DataType dtype,
                          ReduceOp op) override;
  Maybe<void> DoAllGather(const void* in, void* out, int64_t count, DataType dtype) override;
  Maybe<void> DoReduceScatter(const void* in, void* out, int64_t count, DataType dtype,
                              ReduceOp op) override;
  Maybe<void> DoBroadcast(void* data, int64_t count, DataType dtype, int64_t root) override;
  Maybe<void> DoSend(const void* data, int64_t count, DataType dtype, int64_t to,
                     int64_t tag) override;
  Maybe<void> DoRecv(void* data, int64_t count, DataType dtype, int64_t from, int64_t tag) override;
  Maybe<void> DoBarrier() override { return Ok(); }

 private:
  struct Message {
    DataType dtype;
    std::string bytes;
  };
  std::map<int64_t, std::deque<Message>> messages_;  // by tag; guarded by flag()'s lock
};

}  // namespace comm
}  // namespace oneflow

#endif  // ONEFLOW_COMM_LOCAL_COMMUNICATOR_H_
