// Ignored: a parameter that Python may give and that changes nothing, such as a memory format.
//
// Thread safety: a value.
#ifndef ONEFLOW_FUNCTIONAL_IGNORED_H_
#define ONEFLOW_FUNCTIONAL_IGNORED_H_

namespace oneflow {

struct Ignored {};

}  // namespace oneflow

#endif  // ONEFLOW_FUNCTIONAL_IGNORED_H_
