#include "oneflow/extension/stack/stack_recorder.h"

#include <Python.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "oneflow/common/env_var.h"
#include "oneflow/common/mutex.h"
#include "oneflow/common/planted_fault.h"
#include "oneflow/extension/stack/code_record.h"
#include "oneflow/extension/stack/frame_cache.h"
#include "oneflow/extension/stack/frame_layout.h"
#include "oneflow/extension/stack/frame_walk.h"
#include "oneflow/extension/stack/intern_table.h"
#include "oneflow/extension/stack/source_text.h"
#include "oneflow/lifetime/deferred_release.h"

#if PY_VERSION_HEX < 0x030D0000
#define PyThreadState_GetUnchecked _PyThreadState_UncheckedGet
#endif

namespace oneflow {

namespace {

using pystack::CodeRecord;
using pystack::FrameCache;
using pystack::FramePlace;
using pystack::InternTable;

constexpr int64_t kTableBytes = 16 << 20;

// True when the interpreter that runs is of the minor version that this file was compiled for.
bool VersionIsOurs() {
  const char* version = Py_GetVersion();
  char* rest = nullptr;
  const long major = std::strtol(version, &rest, 10);
  if (*rest != '.') { return false; }
  return major == PY_MAJOR_VERSION && std::strtol(rest + 1, nullptr, 10) == PY_MINOR_VERSION;
}

bool LayoutIsKnown() {
#if ONEFLOW_STACK_HAS_LAYOUT
  // The variable is for tests of the public way.
  if (EnvBool("ONEFLOW_TEST_STACK_PUBLIC_API", false) || !VersionIsOurs()) { return false; }
  return pystack::CheckInPrograms(&pystack::WalkAgrees<pystack::FrameLayout>);
#else
  return false;
#endif
}

class Recorder final : public StackSource {
 public:
  Recorder(bool public_api, size_t table_bytes)
      : public_api_(public_api),
        interpreter_(PyInterpreterState_Main()),
        table_(&keeper_, &cache_, table_bytes) {}

  StackId Capture() override {
    PyThreadState* state = PyThreadState_GetUnchecked();
    if (state == nullptr) {
      return FaultPlanted(Fault::kFramesReadWithoutGil) ? CapturePublic() : kNoStack;
    }
    if (state->interp != interpreter_) { return kNoStack; }
#if PY_VERSION_HEX < 0x030C0000
    // Up to 3.11 that is the thread that holds the GIL, whoever asks.
    if (state->thread_id != static_cast<unsigned long>(pthread_self())) { return kNoStack; }
#endif
#if ONEFLOW_STACK_HAS_LAYOUT
    if (!public_api_) { return CaptureFrames(state); }
#endif
    return CapturePublic();
  }

  void Pin(StackId id) override { table_.Pin(id); }
  void Unpin(StackId id) override { table_.Unpin(id); }
  bool Evicted(StackId id) const override { return table_.Evicted(id); }
  std::vector<StackFrame> Resolve(StackId id) const override;

  StackRecorderStats Stats() const;
  void LoadSources(StackId id);
  void HideBelow(const std::string& prefix);
  void EvictAll();
  void LockForFork();
  void UnlockAfterFork();

 private:
#if ONEFLOW_STACK_HAS_LAYOUT
  using Layout = pystack::FrameLayout;
  using Frame = Layout::Frame;
  StackId CaptureFrames(const PyThreadState* state);
  StackId InternFrames(size_t count);
  bool Grow();
#endif
  StackId CapturePublic();
  StackId InternPlace(StackId parent, const FramePlace& place, FrameCache::Entry* entry,
                      uint64_t key);
  void DeferCodes();

  const bool public_api_;
  PyInterpreterState* const interpreter_;
  FrameCache cache_;
  pystack::PythonCodeKeeper keeper_;
  mutable InternTable table_;
  mutable pystack::SourceText sources_;
#if ONEFLOW_STACK_HAS_LAYOUT
  std::vector<const Frame*> frames_{256};  // of the capture that runs
#endif
  // Serialises captures where no GIL does; taken in the public way only.
  Mutex capture_mutex_;
  mutable Mutex hidden_mutex_;
  std::string hidden_prefix_ GUARDED_BY(hidden_mutex_);
};

#if ONEFLOW_STACK_HAS_LAYOUT

// One pass from the innermost frame outwards. Each frame's cache entry must have its key, and be
// the caller that the entry before it names; the outermost must have no caller. Then the innermost
// entry's id is the stack's, and nothing was written.
StackId Recorder::CaptureFrames(const PyThreadState* state) {
  size_t count = 0;
  const Frame** frames = frames_.data();
  size_t capacity = frames_.size();
  StackId leaf = kNoStack;
  StackId caller = kNoStack;
  bool known = true;
  for (const Frame* f = Layout::Top(state); f != nullptr; f = Layout::Previous(f)) {
    if (Layout::IsShim(f)) { continue; }
    if (__builtin_expect(count == capacity, 0)) {
      frames_.resize(capacity * 2);
      frames = frames_.data();
      capacity = frames_.size();
    }
    const uint64_t key = Layout::Key(f);
    const FrameCache::Entry& entry = cache_.At(f, key);
    if (count == 0) { caller = leaf = entry.id; }
    known &= (entry.key == key) & (entry.id == caller);
    caller = entry.parent;
    frames[count++] = f;
  }
  if (__builtin_expect(known && caller == kNoStack, 1)) { return leaf; }
  return InternFrames(count);
}

StackId Recorder::InternFrames(size_t count) {
  StackId stack = kNoStack;
  for (size_t i = count; i-- > 0;) {
    const Frame* frame = frames_[i];
    const uint64_t key = Layout::Key(frame);
    FrameCache::Entry& entry = cache_.At(frame, key);
    if (entry.key == key && entry.parent == stack) {
      stack = entry.id;
      continue;
    }
    if (Layout::Incomplete(frame)) { continue; }
    stack = InternPlace(stack, Layout::Place(frame), &entry, key);
    if (stack == kNoStack) { break; }
  }
  DeferCodes();
  return stack;
}

#endif  // ONEFLOW_STACK_HAS_LAYOUT

StackId Recorder::InternPlace(StackId parent, const FramePlace& place, FrameCache::Entry* entry,
                              uint64_t key) {
  const StackId id = table_.Intern(parent, place.code, place.lasti);
  if (id != kNoStack && key != 0) { *entry = FrameCache::Entry{key, parent, id}; }
  return id;
}

StackId Recorder::CapturePublic() {
  const std::vector<FramePlace> places = pystack::WalkPublic();
  StackId stack = kNoStack;
  {
    MutexLock lock(&capture_mutex_);
    for (size_t i = places.size(); i-- > 0;) {
      const uint64_t key = pystack::PackKey(places[i].code, places[i].lasti);
      // Depth takes the role of the frame's address.
      FrameCache::Entry& entry =
          cache_.At(reinterpret_cast<const void*>(i << FrameCache::kRowShift), key);
      if (entry.key == key && entry.parent == stack) {
        stack = entry.id;
        continue;
      }
      stack = InternPlace(stack, places[i], &entry, key);
      if (stack == kNoStack) { break; }
    }
    DeferCodes();
  }
  return stack;
}

// Not here and now: what runs when a code object dies may issue ops, and an op that captures holds
// locks of the runtime.
void Recorder::DeferCodes() {
  if (__builtin_expect(!table_.HasReleasedCodes(), 1)) { return; }
  for (void* record : table_.TakeReleasedCodes()) {
    lifetime::DeferRelease(&pystack::PythonCodeKeeper::Delete, record);
  }
}

std::vector<StackFrame> Recorder::Resolve(StackId id) const {
  std::vector<StackFrame> frames;
  table_.Visit(id, [&](const void* record, int lasti) {
    frames.push_back(static_cast<const CodeRecord*>(record)->Describe(lasti, &sources_));
  });
  std::reverse(frames.begin(), frames.end());
  MutexLock lock(&hidden_mutex_);
  if (hidden_prefix_.empty()) { return frames; }
  std::vector<StackFrame> shown;
  for (const StackFrame& frame : frames) {
    if (frame.file.compare(0, hidden_prefix_.size(), hidden_prefix_) != 0) {
      shown.push_back(frame);
    }
  }
  return shown.empty() ? frames : shown;
}

StackRecorderStats Recorder::Stats() const {
  StackRecorderStats stats;
  stats.enabled = true;
  stats.public_api = public_api_;
  stats.bytes = table_.bytes();
  stats.stacks = table_.nodes();
  stats.sites = table_.sites();
  stats.codes = table_.codes();
  stats.evictions = table_.evictions();
  return stats;
}

void Recorder::LoadSources(StackId id) {
  if (!table_.Pin(id)) { return; }
  // First collected, then asked: what Python runs may capture stacks itself.
  std::vector<CodeRecord*> records;
  table_.Visit(id, [&](void* record, int) { records.push_back(static_cast<CodeRecord*>(record)); });
  for (CodeRecord* record : records) { record->LoadText(); }
  table_.Unpin(id);
}

void Recorder::HideBelow(const std::string& prefix) {
  MutexLock lock(&hidden_mutex_);
  hidden_prefix_ = prefix;
}

void Recorder::EvictAll() {
  std::vector<void*> released;
  {
    MutexLock lock(&capture_mutex_);
    cache_.Clear();
    table_.Evict(0);
    released = table_.TakeReleasedCodes();
  }
  for (void* record : released) { keeper_.Release(record); }
}

void Recorder::LockForFork() ONEFLOW_TSA_(no_thread_safety_analysis) {
  capture_mutex_.Lock();
  hidden_mutex_.Lock();
  sources_.LockForFork();
}

void Recorder::UnlockAfterFork() ONEFLOW_TSA_(no_thread_safety_analysis) {
  sources_.UnlockAfterFork();
  hidden_mutex_.Unlock();
  capture_mutex_.Unlock();
}

// Stands in for a recorder that is paused: no stack is captured, all else is as it was.
class PausedSource final : public StackSource {
 public:
  explicit PausedSource(StackSource* source) : source_(source) {}

  StackId Capture() override { return kNoStack; }
  void Pin(StackId id) override { source_->Pin(id); }
  void Unpin(StackId id) override { source_->Unpin(id); }
  bool Evicted(StackId id) const override { return source_->Evicted(id); }
  std::vector<StackFrame> Resolve(StackId id) const override { return source_->Resolve(id); }
  StackSource* source() const { return source_; }

 private:
  StackSource* const source_;
};

// Set once, under the GIL, and never destroyed.
std::atomic<Recorder*> recorder{nullptr};

Recorder* TheRecorder() { return recorder.load(std::memory_order_acquire); }

}  // namespace

// Weak: planted_recorder_testlib.cc has the other.
__attribute__((weak)) StackSource* PlantRecorderFault(StackSource* recorder) { return recorder; }

Maybe<void> InstallStackRecorder() {
  if (TheRecorder() != nullptr) { return Ok(); }
  if (!EnvBool("ONEFLOW_PYTHON_STACK_GETTER", true) && !EnvBool("ONEFLOW_DEBUG", false)) {
    return Ok();
  }
  const PyThreadState* state = PyThreadState_GetUnchecked();
  CHECK_OR_RETURN(state != nullptr, "[stack recorder] expects to be installed with the GIL held");
  if (state->interp != PyInterpreterState_Main()) { return Ok(); }
  const int64_t bytes = EnvInt64("ONEFLOW_TEST_STACK_TABLE_BYTES", kTableBytes);
  auto* made = new Recorder(!LayoutIsKnown(), static_cast<size_t>(std::max<int64_t>(bytes, 0)));
  recorder.store(made, std::memory_order_release);
  StackSource::Set(PlantRecorderFault(made));
  return Ok();
}

StackRecorderStats GetStackRecorderStats() {
  return TheRecorder() == nullptr ? StackRecorderStats() : TheRecorder()->Stats();
}

void PauseStackRecorder(bool paused) {
  // Never destroyed, like the recorder: a worker may be in it.
  static PausedSource* const stand_in = [] {
    StackSource* source = StackSource::Get();
    return source == nullptr ? nullptr : new PausedSource(source);
  }();
  if (TheRecorder() == nullptr || stand_in == nullptr) { return; }
  StackSource::Set(paused ? stand_in : stand_in->source());
}

std::string CurrentPythonStack() { return FormatStack(CurrentStack()); }

void LoadPythonSources(StackId id) {
  if (TheRecorder() != nullptr) { TheRecorder()->LoadSources(id); }
}

void HideFramesBelow(const std::string& path_prefix) {
  if (TheRecorder() != nullptr) { TheRecorder()->HideBelow(path_prefix); }
}

void LockStackRecorderForFork() {
  if (TheRecorder() != nullptr) { TheRecorder()->LockForFork(); }
}

void UnlockStackRecorderAfterFork() {
  if (TheRecorder() != nullptr) { TheRecorder()->UnlockAfterFork(); }
}

void EvictUnpinnedStacks() {
  if (TheRecorder() != nullptr) { TheRecorder()->EvictAll(); }
}

}  // namespace oneflow
