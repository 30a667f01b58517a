// Error: what went wrong, said to a user.
//
// Three families: the user's mistake, a bug of ours (kInternal), the environment's failure
// (kEnvironment). One table in api/python maps kinds to Python types. The message is plain text,
// `[op] expects X, got Y`; where it came from is carried beside it: the op, the Python stack of the
// line that issued it, and for our bugs the C++ frames that JUST added.
//
// Thread safety: an Error is written by one thread until it is published (by a Maybe returned to
// another thread, or by poisoning a storage); after that only MarkRead() may change it.
// Ownership: shared by ErrorPtr.
#ifndef ONEFLOW_COMMON_ERROR_H_
#define ONEFLOW_COMMON_ERROR_H_

#include <atomic>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "oneflow/common/format.h"
#include "oneflow/common/intrusive_ptr.h"
#include "oneflow/common/stack_context.h"
#include "oneflow/common/stack_source.h"

namespace oneflow {

enum class ErrorKind {
  kType,
  kValue,
  kIndex,
  kRuntime,
  kNotImplemented,
  kOutOfMemory,
  kInternal,     // a bug of this project
  kEnvironment,  // the host failed us: no disk space, no device, no library
  kInterrupted,  // the host language has an exception pending already (a signal handler raised)
};

// As a traceback of Python names it.
const char* ErrorKindName(ErrorKind kind);

// The name in the brackets that a message begins with; empty where there is none.
std::string_view BracketedName(std::string_view message);

struct ErrorFrame {
  const char* file;
  int line;
  const char* expression;
};

class Error : public RefCounted<Error> {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}
  virtual ~Error();

  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }
  const std::string& op() const { return op_; }
  StackId stack() const { return stack_; }
  // How the op came to run, beside its own line: see stack_context.h; nullptr outside backward().
  const StackContext* stack_context() const { return stack_context_.get(); }
  const std::vector<ErrorFrame>& frames() const { return frames_; }

  // What is printed last, after any stack: the end of a long text is what people see.
  const std::string& footer() const { return footer_; }

  void set_op(std::string_view op) { op_ = op; }
  void set_footer(std::string text) { footer_ = std::move(text); }
  // An op that is made of other ops puts its own name, the one that the user called, into what they
  // refused. What a kernel said stays as it is: it is to read the same wherever the kernel ran.
  void Rename(std::string_view op);
  // Pins the stack for the life of the error.
  void set_stack(StackId stack);
  void set_stack(StackId stack, const StackContext* context) {
    set_stack(stack);
    stack_context_ = StackContextPtr(context);
  }
  void AddFrame(const char* file, int line, const char* expression) {
    frames_.push_back({file, line, expression});
  }
  // Nothing, once it is published: every reader gets the same text.
  void PrependMessage(const std::string& text) {
    if (!published()) { message_ = text + message_; }
  }

  // An error is unread until it was raised to the user, or printed for him.
  void MarkRead() const { read_.store(true, std::memory_order_relaxed); }
  bool read() const { return read_.load(std::memory_order_relaxed); }
  // A kernel failed; else its arguments were refused.
  void MarkFromKernel() { from_kernel_ = true; }
  // From here on other threads may hold the error, and it takes no more frames.
  void MarkPublished() const { published_.store(true, std::memory_order_release); }
  bool published() const { return published_.load(std::memory_order_acquire); }

  // The message; for kInternal also a request to report it, with the C++ frames, innermost last, and
  // the facts of SetReportFacts(). Without the footer.
  std::string Describe() const;

 private:
  ErrorKind kind_;
  std::string message_;
  std::string op_;
  std::string footer_;
  StackId stack_ = kNoStack;
  StackContextPtr stack_context_;
  std::vector<ErrorFrame> frames_;
  bool from_kernel_ = false;
  mutable std::atomic<bool> read_{false};
  mutable std::atomic<bool> published_{false};
};

using ErrorPtr = IntrusivePtr<Error>;

// What a report of a bug must say of the program that met it: versions, platform. Set once, by whoever
// knows; for all threads.
void SetReportFacts(const std::string& facts);

// Makers, by kind. Example: `return ValueError("[sum] expects ..., got dim {}", dim);`
#define ONEFLOW_DEFINE_ERROR_MAKER(name, kind)                   \
  template <typename... Args>                                    \
  ErrorPtr name(std::string_view pattern, const Args&... args) { \
    return MakeIntrusive<Error>(kind, Format(pattern, args...)); \
  }
ONEFLOW_DEFINE_ERROR_MAKER(TypeError, ErrorKind::kType)
ONEFLOW_DEFINE_ERROR_MAKER(ValueError, ErrorKind::kValue)
ONEFLOW_DEFINE_ERROR_MAKER(IndexError, ErrorKind::kIndex)
ONEFLOW_DEFINE_ERROR_MAKER(RuntimeError, ErrorKind::kRuntime)
ONEFLOW_DEFINE_ERROR_MAKER(NotImplementedError, ErrorKind::kNotImplemented)
ONEFLOW_DEFINE_ERROR_MAKER(OutOfMemoryError, ErrorKind::kOutOfMemory)
ONEFLOW_DEFINE_ERROR_MAKER(InternalError, ErrorKind::kInternal)
ONEFLOW_DEFINE_ERROR_MAKER(EnvironmentError, ErrorKind::kEnvironment)
#undef ONEFLOW_DEFINE_ERROR_MAKER

// What CHECK_JUST throws, and the bindings catch. Carries the Error itself.
class ErrorException {
 public:
  explicit ErrorException(ErrorPtr error) : error_(std::move(error)) {}
  const ErrorPtr& error() const { return error_; }

 private:
  ErrorPtr error_;
};

}  // namespace oneflow

#endif  // ONEFLOW_COMMON_ERROR_H_
