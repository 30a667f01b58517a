#include "oneflow/comm/connect.h"

#include "oneflow/comm/local_communicator.h"

namespace oneflow {
namespace comm {

Maybe<std::unique_ptr<Communicator>> Connect(const Rendezvous& rendezvous) {
  if (rendezvous.world_size > 1) {
    return NotImplementedError("[comm] expects a run of one process, got WORLD_SIZE {}: this build "
                               "has no transport between processes",
                               rendezvous.world_size);
  }
  return std::unique_ptr<Communicator>(std::make_unique<LocalCommunicator>());
}

}  // namespace comm
}  // namespace oneflow
