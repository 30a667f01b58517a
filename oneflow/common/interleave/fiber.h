// Fiber: a stack of its own, on which a thread of the program under test runs.
//
// All fibers share one thread of the system, so that a switch costs tens of nanoseconds (a switch
// between real threads costs microseconds, and the scheduler makes millions), and exactly one runs.
// The first entry goes through ucontext, every later switch through _setjmp and _longjmp, which make
// no system call.
//
// Thread safety: none; one thread of the system.
#ifndef ONEFLOW_COMMON_INTERLEAVE_FIBER_H_
#define ONEFLOW_COMMON_INTERLEAVE_FIBER_H_

#include <setjmp.h>
#include <ucontext.h>

namespace oneflow {
namespace interleave {

class Fiber {
 public:
  Fiber() = default;
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // The next switch to this fiber calls `entry`, which must never return. What ran on the stack
  // before is forgotten.
  void Prepare(void (*entry)());
  // Leaves `from`, which continues when somebody switches to it.
  static void Switch(Fiber* from, Fiber* to);

 private:
  void* stack_ = nullptr;  // kept for the next Prepare()
  bool entered_ = true;    // a default fiber stands for the stack that already runs
  ucontext_t context_;
  jmp_buf jump_;
};

}  // namespace interleave
}  // namespace oneflow

#endif  // ONEFLOW_COMMON_INTERLEAVE_FIBER_H_
