// The Python stack recorder: names the line of the program that issued an op.
//
// InstallStackRecorder() registers it as the process's StackSource. Capture() then walks the frames
// of the calling Python thread and interns them: about 50 ns for 20 frames, no allocation and no
// reference counts when the stack was seen before. It never runs Python code, so it may be called with
// locks held. Resolving an id needs no GIL, so a worker can print a stack while another thread holds
// the GIL for ever.
//
// Environment: ONEFLOW_PYTHON_STACK_GETTER=0 turns it off, ONEFLOW_DEBUG=1 on again.
// Thread safety: as said at each function. Nothing here blocks, but for reading source files.
// Ownership: the recorder and its table live as long as the process: they are never destroyed, for
// threads may still look at them during exit.
#ifndef ONEFLOW_EXTENSION_STACK_STACK_RECORDER_H_
#define ONEFLOW_EXTENSION_STACK_STACK_RECORDER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "oneflow/common/maybe.h"
#include "oneflow/common/stack_source.h"

namespace oneflow {

// Creates the recorder and makes it the StackSource; a second call does nothing. Takes under a
// millisecond: it runs a few lines of Python to check the walk against the public API.
// In another interpreter than the main one it does nothing: code objects there may die with it.
// REQUIRES: the GIL.
Maybe<void> InstallStackRecorder();

struct StackRecorderStats {
  bool enabled = false;
  bool public_api = false;  // the slower way: an interpreter whose frames are not known
  size_t bytes = 0;         // of the table
  size_t stacks = 0;        // nodes alive: each is the stack that ends there
  size_t sites = 0;         // distinct (code object, instruction)
  size_t codes = 0;         // distinct code objects, each kept alive by one reference
  uint64_t evictions = 0;
};

// REQUIRES: the GIL.
StackRecorderStats GetStackRecorderStats();

// The calling thread's stack as Python would print it; empty when the recorder is off.
// REQUIRES: the GIL.
std::string CurrentPythonStack();

// For source text that only Python can fetch (a module in a zip): asks `linecache` and the module's
// loader, so that resolving `id` from then on has it. Runs Python code; never raises. Call it where
// an error is about to be raised into Python. REQUIRES: the GIL.
void LoadPythonSources(StackId id);

// Frames of files below this path are left out of what Resolve returns, unless all frames are.
// Empty (the default) hides none. Any thread.
void HideFramesBelow(const std::string& path_prefix);

// Around fork(), with the parent's Unlock in both processes. Any thread.
void LockStackRecorderForFork();
void UnlockStackRecorderAfterFork();

// Captures nothing from then on, or captures again; what was captured stays known. For measuring what
// captures cost within one process. Does nothing when the recorder is off. REQUIRES: the GIL.
void PauseStackRecorder(bool paused);

// Evicts every stack that is not pinned (tests, and a program that wants its memory back). Drops code
// objects at once, so it may run Python code; captures leave that to the deferred list of `lifetime`.
// REQUIRES: the GIL.
void EvictUnpinnedStacks();

// What is registered instead of `recorder`: itself, but in tests of the tests, where it errs on request
// (oneflow/common/planted_fault.h). REQUIRES: the GIL.
StackSource* PlantRecorderFault(StackSource* recorder);

}  // namespace oneflow

#endif  // ONEFLOW_EXTENSION_STACK_STACK_RECORDER_H_
