// StackContext: the lines beside an op's own that say how the op came to run.
//
// An op that backward() issues has the stack of its forward op; `after` holds the calls of backward()
// that led to it, the first one first (second derivatives have two). An op of a Python function that
// backward calls (a hook, autograd.Function) has the stack of its own line; `before` holds what that
// function was called for: the forward op, and the calls of backward() that made it, if any did.
//
// Thread safety: immutable. Ownership: shared by StackContextPtr; pins its stacks.
#ifndef ONEFLOW_COMMON_STACK_CONTEXT_H_
#define ONEFLOW_COMMON_STACK_CONTEXT_H_

#include <string>
#include <vector>

#include "oneflow/common/intrusive_ptr.h"
#include "oneflow/common/stack_source.h"

namespace oneflow {

class StackContext;
using StackContextPtr = IntrusivePtr<const StackContext>;

class StackContext : public RefCounted<StackContext> {
 public:
  struct Line {
    StackId stack = kNoStack;
    bool backward = false;  // a call of backward(), else an op
  };

  // Of the ops that `call` of backward() issues for a node whose own context is `node` (or nullptr).
  static StackContextPtr InBackward(const StackContext* node, StackId call);
  // Of a Python function that backward calls where ops would have this stack, and this context. (Its
  // last line is left out: the function's own stack has it.)
  static StackContextPtr InCallback(const StackContext* running, StackId stack);
  ~StackContext();

  std::vector<Line> before() const;
  std::vector<Line> after() const;
  bool in_backward() const { return backward_; }  // is there anything in after()?

 private:
  StackContext(const StackContext* base, StackId stack, bool backward);

  // Links, so that a call of backward() costs one small object.
  const StackContextPtr base_;  // the `node` or `running` that it was made with
  const StackId stack_;
  const bool backward_;
};

// An op's lines as text, oldest first: each stack under its heading, the op's own stack under
// "Related Python stack trace:". Stacks that are not known are left out.
std::string FormatStacks(StackId stack, const StackContext* context);
// Parts of it: what comes before the op's own stack, and after.
std::string FormatLines(const std::vector<StackContext::Line>& lines);

// Where no line is known because nothing records them: a line that says how to have them. Else "".
std::string RecorderHint();

}  // namespace oneflow

#endif  // ONEFLOW_COMMON_STACK_CONTEXT_H_
