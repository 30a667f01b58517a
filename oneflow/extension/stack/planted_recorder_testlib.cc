// The faults of OneFlow's stack getter, one at a time, on request: each is a StackSource in front of
// the recorder. Linked into what tests the tests; see oneflow/common/planted_fault.h.
#include <Python.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "oneflow/common/mutex.h"
#include "oneflow/common/planted_fault.h"
#include "oneflow/common/stack_source.h"
#include "oneflow/extension/stack/stack_recorder.h"

namespace oneflow {

namespace {

// Passes everything on.
class Front : public StackSource {
 public:
  explicit Front(StackSource* behind) : behind_(behind) {}
  StackId Capture() override { return behind_->Capture(); }
  void Pin(StackId id) override { behind_->Pin(id); }
  void Unpin(StackId id) override { behind_->Unpin(id); }
  std::vector<StackFrame> Resolve(StackId id) const override { return behind_->Resolve(id); }
  bool Evicted(StackId id) const override { return behind_->Evicted(id); }

 protected:
  StackSource* const behind_;
};

// One record for each Python frame, whose line every op overwrites. Ids are numbers of frames.
class LineOverwritten : public Front {
 public:
  using Front::Front;
  StackId Capture() override {
    const StackId id = behind_->Capture();
    behind_->Pin(id);
    MutexLock lock(&mutex_);
    auto [place, fresh] = record_of_.try_emplace(PyEval_GetFrame(), records_.size() + 1);
    if (fresh) { records_.push_back(id); }
    records_[place->second - 1] = id;
    return static_cast<StackId>(place->second);
  }
  void Pin(StackId) override {}
  void Unpin(StackId) override {}
  std::vector<StackFrame> Resolve(StackId id) const override {
    MutexLock lock(&mutex_);
    return behind_->Resolve(records_[id - 1]);
  }
  bool Evicted(StackId) const override { return false; }

 private:
  mutable Mutex mutex_;
  std::map<void*, size_t> record_of_ GUARDED_BY(mutex_);
  std::vector<StackId> records_ GUARDED_BY(mutex_);
};

// One current frame for all threads: an op finds the frame that the thread before it left there.
class SharedByThreads : public Front {
 public:
  using Front::Front;
  StackId Capture() override {
    const std::pair<PyThreadState*, StackId> mine{PyThreadState_Get(), behind_->Capture()};
    behind_->Pin(mine.second);
    const auto previous = std::exchange(current_, mine);
    const bool foreign = previous.first != nullptr && previous.first != mine.first;
    return foreign ? previous.second : mine.second;
  }

 private:
  std::pair<PyThreadState*, StackId> current_{nullptr, kNoStack};  // the GIL guards it
};

// The names are Python's own, and looked at when the stack is printed. Of the innermost frame only.
class NamesBorrowed : public Front {
 public:
  using Front::Front;
  StackId Capture() override {
    PyFrameObject* frame = PyEval_GetFrame();
    if (frame == nullptr) { return kNoStack; }
    PyCodeObject* code = PyFrame_GetCode(frame);
    MutexLock lock(&mutex_);
    places_.emplace_back(code, PyFrame_GetLineNumber(frame));
    Py_DECREF(code);
    return static_cast<StackId>(places_.size());
  }
  void Pin(StackId) override {}
  void Unpin(StackId) override {}
  std::vector<StackFrame> Resolve(StackId id) const override {
    MutexLock lock(&mutex_);
    const auto& [code, line] = places_[id - 1];
    StackFrame frame;
    frame.file = PyUnicode_AsUTF8(code->co_filename);
    frame.function = PyUnicode_AsUTF8(code->co_name);
    frame.line = line;
    return {frame};
  }
  bool Evicted(StackId) const override { return false; }

 private:
  mutable Mutex mutex_;
  std::vector<std::pair<PyCodeObject*, int>> places_ GUARDED_BY(mutex_);
};

class FormatsWithGil : public Front {
 public:
  using Front::Front;
  std::vector<StackFrame> Resolve(StackId id) const override {
    const PyGILState_STATE state = PyGILState_Ensure();
    std::vector<StackFrame> frames = behind_->Resolve(id);
    PyGILState_Release(state);
    return frames;
  }
};

class SourceFromFilesOnly : public Front {
 public:
  using Front::Front;
  std::vector<StackFrame> Resolve(StackId id) const override {
    std::vector<StackFrame> frames = behind_->Resolve(id);
    for (StackFrame& frame : frames) {
      struct stat status;
      if (::stat(frame.file.c_str(), &status) != 0) { frame.source.clear(); }
    }
    return frames;
  }
};

class InnermostFirst : public Front {
 public:
  using Front::Front;
  std::vector<StackFrame> Resolve(StackId id) const override {
    std::vector<StackFrame> frames = behind_->Resolve(id);
    std::reverse(frames.begin(), frames.end());
    return frames;
  }
};

#if PY_VERSION_HEX >= 0x030B0000
PyObject* Hook(PyThreadState* state, struct _PyInterpreterFrame* frame, int raised) {
  return _PyEval_EvalFrameDefault(state, frame, raised);
}
#else
PyObject* Hook(PyThreadState* state, PyFrameObject* frame, int raised) {
  return _PyEval_EvalFrameDefault(state, frame, raised);
}
#endif

}  // namespace

StackSource* PlantRecorderFault(StackSource* recorder) {
  if (FaultPlanted(Fault::kStackFrameHook)) {
    _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Main(), &Hook);
  }
  if (FaultPlanted(Fault::kStackLineOverwritten)) { return new LineOverwritten(recorder); }
  if (FaultPlanted(Fault::kStackSharedByThreads)) { return new SharedByThreads(recorder); }
  if (FaultPlanted(Fault::kStackNamesBorrowed)) { return new NamesBorrowed(recorder); }
  if (FaultPlanted(Fault::kStackFormatsWithGil)) { return new FormatsWithGil(recorder); }
  if (FaultPlanted(Fault::kStackSourceFromFilesOnly)) { return new SourceFromFilesOnly(recorder); }
  if (FaultPlanted(Fault::kStackInnermostFirst)) { return new InnermostFirst(recorder); }
  return recorder;
}

}  // namespace oneflow
