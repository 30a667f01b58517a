#include "oneflow/api/python/gil.h"

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "oneflow/common/host_hooks.h"

namespace oneflow {

namespace {

std::atomic<bool> admission_closed{false};
std::thread::id main_thread;

[[noreturn]] void ParkForEver() {
  while (true) { pause(); }
}

}  // namespace

bool Gil::Held() { return Py_IsInitialized() != 0 && PyGILState_Check() != 0; }

void* Gil::Release() {
  if (!Held()) { return nullptr; }
  return PyEval_SaveThread();
}

void Gil::Acquire(void* state) {
  if (admission_closed.load(std::memory_order_acquire) &&
      std::this_thread::get_id() != main_thread) {
    ParkForEver();
  }
  PyEval_RestoreThread(static_cast<PyThreadState*>(state));
}

Maybe<void> Gil::PollSignals() {
  if (PyErr_CheckSignals() == 0) { return Ok(); }
  return MakeIntrusive<Error>(ErrorKind::kInterrupted, "interrupted by a signal");
}

void Gil::CloseAdmission() { admission_closed.store(true, std::memory_order_release); }

void Gil::InstallHooks() {
  main_thread = std::this_thread::get_id();
  HostHooks hooks;
  hooks.leave = &Gil::Release;
  hooks.enter = &Gil::Acquire;
  hooks.poll_signals = &Gil::PollSignals;
  SetHostHooks(hooks);
}

}  // namespace oneflow
