#include "oneflow/common/thread.h"

#include <utility>

#ifndef ONEFLOW_MODEL_CHECK

namespace oneflow {

std::error_code StartThread(Thread* thread, std::function<void()> main) {
  try {
    *thread = std::thread(std::move(main));
  } catch (const std::system_error& e) { return e.code(); }
  return {};
}

}  // namespace oneflow

#endif  // ONEFLOW_MODEL_CHECK
