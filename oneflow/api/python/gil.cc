#include "oneflow/api/python/gil.h"

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "oneflow/common/host_hooks.h"
#include "oneflow/common/log.h"
#include "oneflow/common/planted_fault.h"
#include "oneflow/lifetime/deadline.h"
#include "oneflow/lifetime/late_exit.h"

namespace oneflow {

namespace {

std::atomic<bool> admission_closed{false};
std::atomic<int> coming_back{0};  // threads, other than the main one, that wait for the GIL
std::thread::id main_thread;
thread_local bool given_away = false;  // by Release()

// For the fault of coming back then; certain to be met, as the main thread waits for it.
void AwaitFinalizing() {
#if PY_VERSION_HEX < 0x030D0000
  while (_Py_IsFinalizing() == 0) { usleep(50); }
#else
  while (Py_IsFinalizing() == 0) { usleep(50); }
#endif
}

}  // namespace

void Gil::ParkForEver() {
  while (true) { pause(); }
}

// PyGILState_Check() alone says yes to every thread once there was a sub-interpreter. Then at least
// what Python does not know of has it not, nor who gave it away here.
bool Gil::Held() {
  return !given_away && Py_IsInitialized() != 0 && PyGILState_GetThisThreadState() != nullptr &&
         PyGILState_Check() != 0;
}

void* Gil::Release() {
  if (!Held()) { return nullptr; }
  given_away = true;
  return PyEval_SaveThread();
}

void Gil::Acquire(void* state) {
  if (std::this_thread::get_id() == main_thread) {
    PyEval_RestoreThread(static_cast<PyThreadState*>(state));
    given_away = false;
    return;
  }
  // seq_cst here and in CloseAdmission(): either this thread sees that the door is closed, or the
  // main thread sees it standing in the door. Never neither.
  coming_back.fetch_add(1);
  if (admission_closed.load()) {
    coming_back.fetch_sub(1);
    if (!FaultPlanted(Fault::kAdmissionStaysOpen)) { ParkForEver(); }
    AwaitFinalizing();
  }
  PyEval_RestoreThread(static_cast<PyThreadState*>(state));
  given_away = false;
  coming_back.fetch_sub(1);
}

Maybe<void> Gil::PollSignals() {
  if (PyErr_CheckSignals() == 0) { return Ok(); }
  DieIfPlanted(Fault::kInterruptAborts, SIGABRT);
  return MakeIntrusive<Error>(ErrorKind::kInterrupted, "interrupted by a signal");
}

void Gil::CloseAdmission(int status) {
  admission_closed.store(true);
  if (coming_back.load() == 0) { return; }
  // One of them may keep it for ever.
  lifetime::ExitWatch watch(lifetime::Deadline::ForShutdown(), status, [] {
    WriteStderr("oneflow: at exit a thread does not let go of the GIL\n");
    return true;
  });
  // Who is past the check gets the GIL now: once Python is finalizing it would abort (see gil.h).
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (coming_back.load() > 0 && std::chrono::steady_clock::now() < end) {
    PyThreadState* state = PyEval_SaveThread();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    PyEval_RestoreThread(state);
  }
}

// In the child of a fork the forking thread is the main one, and there is no other.
void Gil::ResetInChild() {
  main_thread = std::this_thread::get_id();
  coming_back.store(0);
}

void Gil::InstallHooks() {
  main_thread = std::this_thread::get_id();
  HostHooks hooks;
  hooks.leave = &Gil::Release;
  hooks.enter = &Gil::Acquire;
  hooks.poll_signals = &Gil::PollSignals;
  SetHostHooks(hooks);
}

}  // namespace oneflow
