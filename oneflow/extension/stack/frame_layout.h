// FrameLayout: the few fields of CPython's interpreter frames that the recorder reads.
//
// They are private to CPython and differ between minor versions, so they are declared here for each
// one and checked at run time before they are used (frame_walk.h). Where none is declared (debug and
// free-threaded builds, 3.14 and later) ONEFLOW_STACK_HAS_LAYOUT is 0 and the public API serves.
//
// A `Key` names code object and instruction in 64 bits, exactly, as long as the code object lives.
//
// REQUIRES: the GIL, for all of it.
#ifndef ONEFLOW_EXTENSION_STACK_FRAME_LAYOUT_H_
#define ONEFLOW_EXTENSION_STACK_FRAME_LAYOUT_H_

#include <Python.h>
#include <frameobject.h>

#include <cstdint>

#if defined(Py_DEBUG) || defined(Py_GIL_DISABLED) || defined(Py_TRACE_REFS) || \
    PY_VERSION_HEX >= 0x030E0000 || defined(PYPY_VERSION)
#define ONEFLOW_STACK_HAS_LAYOUT 0
#else
#define ONEFLOW_STACK_HAS_LAYOUT 1
#endif

namespace oneflow {
namespace pystack {

// Code object and f_lasti (byte offset of the instruction) of a frame.
struct FramePlace {
  PyCodeObject* code;
  int lasti;
};

// For code objects on any version: 44 bits of address (user addresses have at most 48, and objects
// lie on 16-byte boundaries), 20 of instruction. 0, which is never cached, for all others.
inline uint64_t PackKey(const void* code, int lasti) {
  const uint64_t address = reinterpret_cast<uintptr_t>(code);
  const uint64_t unit = static_cast<uint64_t>(static_cast<uint32_t>(lasti + 2) >> 1);
  if (((address & 0xffff00000000000full) | (unit >> 20)) != 0) { return 0; }
  return (address >> 4) | (unit << 44);
}

#if ONEFLOW_STACK_HAS_LAYOUT

#if PY_VERSION_HEX < 0x030B0000

// Here a frame is a frame object, whose struct 3.10 still publishes.
struct FrameLayout {
  using Frame = PyFrameObject;
  static const Frame* Top(const PyThreadState* state) { return state->frame; }
  static const Frame* Previous(const Frame* frame) { return frame->f_back; }
  static bool IsShim(const Frame*) { return false; }
  static bool Incomplete(const Frame*) { return false; }
  static PyCodeObject* Code(const Frame* frame) { return frame->f_code; }
  static FramePlace Place(const Frame* frame) { return {frame->f_code, frame->f_lasti * 2}; }
  static uint64_t Key(const Frame* frame) { return PackKey(frame->f_code, frame->f_lasti * 2); }
};

#else

struct InterpreterFrame {
#if PY_VERSION_HEX < 0x030C0000
  void* function_globals_builtins_locals[4];
  PyCodeObject* code;
  void* frame_object;
  const InterpreterFrame* previous;
  const char* instruction;
  int stack_top;
  bool is_entry;
  char owner;
#else
  PyCodeObject* code;
  const InterpreterFrame* previous;
  void* function_globals_builtins_locals_object[5];
  const char* instruction;
  int stack_top;
  uint16_t return_offset;
  char owner;
#endif
};

struct FrameLayout {
  using Frame = InterpreterFrame;
  static constexpr char kOwnedByGenerator = 1;
  static constexpr char kOwnedByCStack = 3;

  static const Frame* Top(const PyThreadState* state) {
#if PY_VERSION_HEX < 0x030D0000
    return reinterpret_cast<const Frame*>(state->cframe->current_frame);
#else
    return reinterpret_cast<const Frame*>(state->current_frame);
#endif
  }
  static const Frame* Previous(const Frame* frame) { return frame->previous; }
  // Where C calls Python, 3.12 and later put a frame that no program knows of.
  static bool IsShim(const Frame* frame) {
    return PY_VERSION_HEX >= 0x030C0000 && frame->owner == kOwnedByCStack;
  }
  static PyCodeObject* Code(const Frame* frame) { return frame->code; }
  static FramePlace Place(const Frame* frame) {
    const char* first = frame->code->co_code_adaptive;
    return {frame->code, static_cast<int>(frame->instruction - first)};
  }
  // A frame that is still being set up is not shown by Python, so not by us.
  static bool Incomplete(const Frame* frame) {
    return frame->owner != kOwnedByGenerator &&
           Place(frame).lasti < frame->code->_co_firsttraceable * 2;
  }
  // The instructions lie inside their code object, so their address says both.
  static uint64_t Key(const Frame* frame) {
    return reinterpret_cast<uintptr_t>(frame->instruction);
  }
};

#endif  // PY_VERSION_HEX < 0x030B0000

#endif  // ONEFLOW_STACK_HAS_LAYOUT

}  // namespace pystack
}  // namespace oneflow

#endif  // ONEFLOW_EXTENSION_STACK_FRAME_LAYOUT_H_
