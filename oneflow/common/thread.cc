#include "oneflow/common/thread.h"

#include <utility>

namespace oneflow {

std::error_code StartThread(Thread* thread, std::function<void()> main) {
  try {
    *thread = std::thread(std::move(main));
  } catch (const std::system_error& e) { return e.code(); }
  return {};
}

}  // namespace oneflow
