#include "oneflow/extension/stack/frame_walk.h"

#include <fcntl.h>
#include <unistd.h>

namespace oneflow {
namespace pystack {

namespace {

int LastInstruction(PyFrameObject* frame) {
#if PY_VERSION_HEX >= 0x030B0000
  return PyFrame_GetLasti(frame);
#else
  return frame->f_lasti * 2;
#endif
}

constexpr char kPrograms[] = R"(
def nested(depth):
    return nested(depth - 1) if depth else check()

def generator():
    yield check()

def delegating():
    yield from generator()

def keywords(*, value=None):
    return check()

nested(3)
for _ in delegating():
    pass
list(map(lambda _: nested(1), (0,)))
sorted((0,), key=lambda _: check())
[check() for _ in (0,)]
max(check() for _ in (0,))

class Body:
    value = check()

    def __init__(self):
        check()

    @property
    def field(self):
        return check()

Body().field
keywords(value=0)
)";
constexpr int kChecks = 10;

struct CheckState {
  bool (*agrees)(const SafeReader&);
  SafeReader reader;
  int called = 0;
  int wrong = 0;
};

constexpr char kCapsule[] = "oneflow.stack_check";

PyObject* Check(PyObject* self, PyObject*) {
  auto* state = static_cast<CheckState*>(PyCapsule_GetPointer(self, kCapsule));
  if (state == nullptr) { return nullptr; }
  ++state->called;
  if (!state->agrees(state->reader)) { ++state->wrong; }
  return PyLong_FromLong(0);
}

PyMethodDef check_method = {"check", Check, METH_NOARGS, nullptr};

void RunPrograms(CheckState* state) {
  PyObject* capsule = PyCapsule_New(state, kCapsule, nullptr);
  PyObject* check = capsule == nullptr ? nullptr : PyCFunction_New(&check_method, capsule);
  PyObject* globals = PyDict_New();
  PyObject* name = PyUnicode_FromString("oneflow.stack_check");
  PyObject* result = nullptr;
  if (check != nullptr && globals != nullptr && name != nullptr &&
      PyDict_SetItemString(globals, "__builtins__", PyEval_GetBuiltins()) == 0 &&
      PyDict_SetItemString(globals, "__name__", name) == 0 &&
      PyDict_SetItemString(globals, "check", check) == 0) {
    result = PyRun_String(kPrograms, Py_file_input, globals, globals);
  }
  if (result == nullptr) { PyErr_Clear(); }
  if (globals != nullptr) { PyDict_Clear(globals); }
  Py_XDECREF(result);
  Py_XDECREF(name);
  Py_XDECREF(globals);
  Py_XDECREF(check);
  Py_XDECREF(capsule);
}

// Up to 3.11 an allocation may start a garbage collection, which runs any Python code.
class NoCollection {
 public:
#if PY_VERSION_HEX < 0x030C0000
  NoCollection() : was_enabled_(PyGC_Disable()) {}
  ~NoCollection() {
    if (was_enabled_ != 0) { PyGC_Enable(); }
  }
#else
  NoCollection() {}
  ~NoCollection() {}
#endif
  NoCollection(const NoCollection&) = delete;
  NoCollection& operator=(const NoCollection&) = delete;

 private:
#if PY_VERSION_HEX < 0x030C0000
  const int was_enabled_;
#endif
};

}  // namespace

std::vector<FramePlace> WalkPublic() {
  NoCollection no_collection;
  std::vector<FramePlace> places;
  PyFrameObject* frame = PyEval_GetFrame();
  Py_XINCREF(frame);
  while (frame != nullptr) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    places.push_back({code, LastInstruction(frame)});
    Py_DECREF(code);  // the frame holds its own
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  return places;
}

// The kernel copies into a pipe, and says EFAULT where a load would be a segmentation fault.
SafeReader::SafeReader() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC | O_NONBLOCK) == 0) {
    read_fd_ = fds[0];
    write_fd_ = fds[1];
  }
}

SafeReader::~SafeReader() {
  if (read_fd_ >= 0) {
    ::close(read_fd_);
    ::close(write_fd_);
  }
}

bool SafeReader::Read(const void* from, void* to, size_t size) const {
  if (from == nullptr || read_fd_ < 0) { return false; }
  const ssize_t written = ::write(write_fd_, from, size);
  if (written <= 0) { return false; }
  const ssize_t got = ::read(read_fd_, to, static_cast<size_t>(written));
  return got == written && static_cast<size_t>(got) == size;
}

bool CheckInPrograms(bool (*agrees)(const SafeReader&)) {
  CheckState state;
  state.agrees = agrees;
  RunPrograms(&state);
  return state.called == kChecks && state.wrong == 0;
}

}  // namespace pystack
}  // namespace oneflow
