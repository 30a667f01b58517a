// Walking CPython's frames: by the public API, and the check that FrameLayout may be trusted.
//
// REQUIRES: the GIL, for all of it.
#ifndef ONEFLOW_EXTENSION_STACK_FRAME_WALK_H_
#define ONEFLOW_EXTENSION_STACK_FRAME_WALK_H_

#include <Python.h>

#include <cstddef>
#include <vector>

#include "oneflow/extension/stack/frame_layout.h"

namespace oneflow {
namespace pystack {

// The calling thread's frames, innermost first, by the public API alone. The code objects are
// borrowed from the frames, which outlive the call that asks. Runs no Python code: the frame objects
// that it may have to make start no garbage collection.
std::vector<FramePlace> WalkPublic();

// Copies memory that may not be there: an address that cannot be read gives false, not a crash.
class SafeReader {
 public:
  SafeReader();
  ~SafeReader();
  SafeReader(const SafeReader&) = delete;
  SafeReader& operator=(const SafeReader&) = delete;
  bool Read(const void* from, void* to, size_t size) const;

 private:
  int read_fd_ = -1;
  int write_fd_ = -1;
};

// Whether a walk by `Layout` finds exactly the frames that the public API finds, here and now.
// Nothing is believed before it was compared, so a wrong layout gives false and does no harm.
template <typename Layout>
bool WalkAgrees(const SafeReader& reader) {
  using Frame = typename Layout::Frame;
  const std::vector<FramePlace> expected = WalkPublic();
  const Frame* at = Layout::Top(PyThreadState_Get());
  alignas(Frame) char bytes[sizeof(Frame)];
  const Frame* frame = reinterpret_cast<const Frame*>(bytes);
  for (const FramePlace& place : expected) {
    while (true) {  // over frames that Python does not show
      if (!reader.Read(at, bytes, sizeof(bytes))) { return false; }
      if (!Layout::IsShim(frame)) {
        if (Layout::Code(frame) == place.code) { break; }
        PyObject* code = reinterpret_cast<PyObject*>(Layout::Code(frame));
        PyCodeObject head;
        if (!reader.Read(code, &head, sizeof(head)) || !PyCode_Check(&head)) { return false; }
        if (!Layout::Incomplete(frame)) { return false; }
      }
      at = Layout::Previous(frame);
    }
    if (Layout::Incomplete(frame) || Layout::Place(frame).lasti != place.lasti) { return false; }
    at = Layout::Previous(frame);
  }
  while (at != nullptr) {
    if (!reader.Read(at, bytes, sizeof(bytes)) || !Layout::IsShim(frame)) { return false; }
    at = Layout::Previous(frame);
  }
  return true;
}

// Runs a few lines of Python (nested calls, a generator, calls back from C, a class body) that call
// `agrees` at known points. True when it was called at each of them and always said yes.
bool CheckInPrograms(bool (*agrees)(const SafeReader&));

}  // namespace pystack
}  // namespace oneflow

#endif  // ONEFLOW_EXTENSION_STACK_FRAME_WALK_H_
