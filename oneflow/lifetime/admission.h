// Admission: whether the runtime still takes new work that needs its threads.
//
// Shared by the Env, which closes it, and by what it owns. Tensor ops need none of it: once the
// runtime is closed they run inline. Graph, communication and data-loader calls ask Check() first.
//
// Thread safety: all methods; lock-free.
#ifndef ONEFLOW_LIFETIME_ADMISSION_H_
#define ONEFLOW_LIFETIME_ADMISSION_H_

#include <string_view>

#include "oneflow/common/atomic.h"
#include "oneflow/common/maybe.h"
#include "oneflow/lifetime/fork_hooks.h"

namespace oneflow {
namespace lifetime {

enum class EnvState : int {
  kNotStarted,
  kRunning,
  kClosing,  // admission is closed, what runs is being waited for
  kClosed,   // no threads are left; everything runs inline
};

class Admission {
 public:
  EnvState state() const { return state_.load(std::memory_order_acquire); }
  void set_state(EnvState state) { state_.store(state, std::memory_order_release); }
  // True for the one caller that moves from `from` to `to`.
  bool Move(EnvState from, EnvState to) {
    return state_.compare_exchange_strong(from, to, std::memory_order_acq_rel);
  }

  // `who` is what cannot be used otherwise: "graph 'LinearGraph_0'", "[all_reduce]".
  Maybe<void> Check(std::string_view who) const {
    switch (state()) {
      case EnvState::kRunning: return Ok();
      case EnvState::kNotStarted:
        return RuntimeError("{} cannot be used: the runtime has not been started", who);
      case EnvState::kClosing:
      case EnvState::kClosed: break;
    }
    if (InForkChild()) {
      return RuntimeError("{} cannot be used in a process made by fork(): start it with "
                          "multiprocessing's 'spawn' method instead",
                          who);
    }
    return RuntimeError("{} cannot be used: the runtime is shutting down", who);
  }

 private:
  Atomic<EnvState> state_{EnvState::kNotStarted};
};

}  // namespace lifetime
}  // namespace oneflow

#endif  // ONEFLOW_LIFETIME_ADMISSION_H_
