// Unread errors: failures that the program never heard of.
//
// A root failure (a kernel's own, not one that a poisoned input passed on) is registered when it
// happens. Raising it into the program marks it as read. What is still unread when the process exits
// is printed with its stack, and a status of 0 becomes 1, unless ONEFLOW_UNREAD_ERRORS=warn.
//
// Thread safety: all functions. At most 20 errors are kept, of the rest the number.
#ifndef ONEFLOW_LIFETIME_UNREAD_ERRORS_H_
#define ONEFLOW_LIFETIME_UNREAD_ERRORS_H_

#include <string>

#include "oneflow/common/error.h"

namespace oneflow {
namespace lifetime {

void RegisterRootFailure(const ErrorPtr& error);

// Installs the C exit handler. Called once, at import, unless the interpreter is embedded in
// another program. In a fork child the handler does nothing.
void InstallUnreadErrorReport();

// Turns the stacks of the errors so far into text, while the host language can still name its
// lines. Called by the exit hook.
void RenderUnreadErrors();

// What the exit handler would print now; empty when every error has been read.
std::string UnreadErrorReport();

// In a fork child (the errors are the parent's), and in tests. The old ones are leaked.
void ForgetUnreadErrors();

}  // namespace lifetime
}  // namespace oneflow

#endif  // ONEFLOW_LIFETIME_UNREAD_ERRORS_H_
