#include "oneflow/lifetime/deadline.h"

#include "oneflow/common/env_var.h"

namespace oneflow {
namespace lifetime {

Deadline Deadline::ForShutdown() {
  return After(EnvDouble("ONEFLOW_SHUTDOWN_TIMEOUT_SECONDS", 10));
}

}  // namespace lifetime
}  // namespace oneflow
