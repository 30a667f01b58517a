#include "oneflow/api/python/gil.h"

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "oneflow/common/host_hooks.h"
#include "oneflow/common/log.h"
#include "oneflow/common/planted_fault.h"
#include "oneflow/lifetime/deadline.h"
#include "oneflow/lifetime/late_exit.h"
#include "oneflow/lifetime/reentry_door.h"
#include "oneflow/lifetime/session.h"

namespace oneflow {

namespace {

lifetime::ReentryDoor door;  // for all threads but the main one
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
  lifetime::ParkableLease::ReturnAll();
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
  const bool open = door.Enter();
  if (!open) {
    if (!FaultPlanted(Fault::kAdmissionStaysOpen)) { ParkForEver(); }
    AwaitFinalizing();
  }
  PyEval_RestoreThread(static_cast<PyThreadState*>(state));
  given_away = false;
  if (open) { door.Entered(); }
}

Maybe<void> Gil::PollSignals() {
  if (PyErr_CheckSignals() == 0) { return Ok(); }
  DieIfPlanted(Fault::kInterruptAborts, SIGABRT);
  return MakeIntrusive<Error>(ErrorKind::kInterrupted, "interrupted by a signal");
}

void Gil::CloseAdmission(int status) {
  door.Close();
  if (door.Empty()) { return; }
  // One of them may keep it for ever.
  lifetime::ExitWatch watch(lifetime::Deadline::ForShutdown(), status, [] {
    WriteStderr("oneflow: at exit a thread does not let go of the GIL\n");
    return true;
  });
  // Who stands in the door gets the GIL now: once Python is finalizing it would abort (see gil.h).
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (!door.Empty() && std::chrono::steady_clock::now() < end) {
    PyThreadState* state = PyEval_SaveThread();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    PyEval_RestoreThread(state);
  }
}

// In the child of a fork the forking thread is the main one, and there is no other.
void Gil::ResetInChild() {
  main_thread = std::this_thread::get_id();
  door.ForgetInChild();
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
