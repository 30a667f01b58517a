// The checked longjmp takes a switch to another stack for a mistake.
#undef _FORTIFY_SOURCE

#include "oneflow/common/interleave/fiber.h"

#include <sys/mman.h>

#include <cstddef>

namespace oneflow {
namespace interleave {

namespace {
constexpr size_t kStackBytes = 256 * 1024;
constexpr size_t kGuardBytes = 4096;  // below the stack: an overflow is a crash, not a riddle
}  // namespace

Fiber::~Fiber() {
  if (stack_ != nullptr) { munmap(stack_, kStackBytes); }
}

void Fiber::Prepare(void (*entry)()) {
  if (stack_ == nullptr) {
    // Without memory for it the first switch crashes, and is reported as any crash.
    void* memory = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    mprotect(memory, kGuardBytes, PROT_NONE);
    stack_ = memory;
  }
  getcontext(&context_);
  context_.uc_stack.ss_sp = stack_;
  context_.uc_stack.ss_size = kStackBytes;
  context_.uc_link = nullptr;
  makecontext(&context_, entry, 0);
  entered_ = false;
}

void Fiber::Switch(Fiber* from, Fiber* to) {
  if (_setjmp(from->jump_) != 0) { return; }
  if (to->entered_) { _longjmp(to->jump_, 1); }
  to->entered_ = true;
  setcontext(&to->context_);
}

}  // namespace interleave
}  // namespace oneflow
