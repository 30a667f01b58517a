// Connect: the communicator of a run, as its rendezvous and this build allow.
#ifndef ONEFLOW_COMM_CONNECT_H_
#define ONEFLOW_COMM_CONNECT_H_

#include <memory>

#include "oneflow/comm/communicator.h"
#include "oneflow/comm/rendezvous.h"
#include "oneflow/common/maybe.h"

namespace oneflow {
namespace comm {

// NotImplementedError for more than one process: no transport is built in.
Maybe<std::unique_ptr<Communicator>> Connect(const Rendezvous& rendezvous);

}  // namespace comm
}  // namespace oneflow

#endif  // ONEFLOW_COMM_CONNECT_H_
