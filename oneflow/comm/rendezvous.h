// Rendezvous: who this process is among those of a run, read from the environment variables that
// `python -m oneflow.distributed.launch`, and other launchers, set.
//
// Thread safety: pure functions (of the environment).
#ifndef ONEFLOW_COMM_RENDEZVOUS_H_
#define ONEFLOW_COMM_RENDEZVOUS_H_

#include <cstdint>
#include <string>

#include "oneflow/common/maybe.h"

namespace oneflow {
namespace comm {

struct Rendezvous {
  int64_t rank = 0;
  int64_t world_size = 1;
  int64_t local_rank = 0;   // among the processes of this host: picks the device
  std::string master_addr;  // empty when world_size is 1
  int master_port = 0;
};

// Reads RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT. With none of them set the process
// is on its own. ValueError naming the variables that are missing, or the one that makes no sense.
Maybe<Rendezvous> ReadRendezvous();

}  // namespace comm
}  // namespace oneflow

#endif  // ONEFLOW_COMM_RENDEZVOUS_H_
