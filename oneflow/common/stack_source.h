// StackSource: where an op's call stack comes from.
//
// The runtime below Python knows nothing of Python. Whoever can name the line of the program that
// issues an op (oneflow/extension/stack does, for CPython) implements this interface and registers
// it once, before the first op. A stack is a 4-byte id; id 0 is "no stack".
//
// Thread safety: Capture() is called by a thread that runs the host language (for CPython: with the
// GIL held). Pin, Unpin and Format may be called by any thread, without any host lock.
#ifndef ONEFLOW_COMMON_STACK_SOURCE_H_
#define ONEFLOW_COMMON_STACK_SOURCE_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace oneflow {

using StackId = uint32_t;
inline constexpr StackId kNoStack = 0;

// One frame of a resolved stack. Lines and columns count from 1 and 0, as CPython counts (columns
// in UTF-8 bytes); columns and end_line are -1 where the interpreter does not know them.
struct StackFrame {
  std::string file;
  std::string function;
  int line = -1;
  int end_line = -1;
  int column = -1;
  int end_column = -1;
  std::string source;  // the text of `line`, without its line end; empty when unknown
};

class StackSource {
 public:
  virtual ~StackSource() = default;

  // The stack of the calling thread, interned. Never fails: kNoStack when there is none.
  virtual StackId Capture() = 0;
  // Keeps `id` from being evicted while something that lives long refers to it.
  virtual void Pin(StackId id) = 0;
  virtual void Unpin(StackId id) = 0;
  // Oldest frame first. Empty for kNoStack, and for an id that was evicted (evicted() tells).
  virtual std::vector<StackFrame> Resolve(StackId id) const = 0;
  virtual bool Evicted(StackId id) const = 0;

  // The registered source, or nullptr. Set() may be called again with nullptr (tests; exit).
  static StackSource* Get() { return current_.load(std::memory_order_acquire); }
  static void Set(StackSource* source) { current_.store(source, std::memory_order_release); }

 private:
  static std::atomic<StackSource*> current_;
};

// The calling thread's stack: an override (set while backward runs an op on behalf of a forward
// line), else what the source captures, else kNoStack.
StackId CurrentStack();

class StackContext;  // stack_context.h

// What the calling thread issues ops for; nullptr outside backward(). Borrowed.
const StackContext* CurrentStackContext();

// What CurrentStack() is overridden with on a thread, and what ops there are issued for.
struct StackOverride {
  StackId id = kNoStack;
  bool set = false;
  const StackContext* context = nullptr;
};

// For the life of this object CurrentStack() on this thread is `id`, and CurrentStackContext() is
// `context`, borrowed. Nests.
class ScopedStack {
 public:
  explicit ScopedStack(StackId id, const StackContext* context = nullptr);
  ~ScopedStack();
  ScopedStack(const ScopedStack&) = delete;
  ScopedStack& operator=(const ScopedStack&) = delete;

 private:
  const StackOverride previous_;
};

// For code of the host language that backward calls: CurrentStack() is again what the source
// captures. Nests.
class ScopedHostStack {
 public:
  explicit ScopedHostStack(const StackContext* context);
  ~ScopedHostStack();
  ScopedHostStack(const ScopedHostStack&) = delete;
  ScopedHostStack& operator=(const ScopedHostStack&) = delete;

 private:
  const StackOverride previous_;
};

// As Python prints a traceback: oldest first, two spaces of indent, source line beneath, a caret
// line where columns are known; of a frame that repeats itself (recursion), three and a count.
// Empty for kNoStack.
std::string FormatStack(StackId id);
// The same for frames that were resolved before.
std::string FormatFrames(const std::vector<StackFrame>& frames);

}  // namespace oneflow

#endif  // ONEFLOW_COMMON_STACK_SOURCE_H_
