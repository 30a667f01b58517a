// Operands of reference kernels as plain lists: row-major, whatever their dtype and layout.
//
// Thread safety: pure functions. Ownership: the lists are the caller's.
#ifndef ONEFLOW_KERNELS_CPU_REFERENCE_ARRAYS_H_
#define ONEFLOW_KERNELS_CPU_REFERENCE_ARRAYS_H_

#include <cstdint>
#include <vector>

#include "oneflow/kernels/cpu/reference.h"

namespace oneflow {
namespace cpu {
namespace reference {

using Reals = std::vector<double>;
using Wholes = std::vector<int64_t>;

// Empty when the operand was not given.
inline Reals RealsOf(const ArrayView& view) {
  Reals out;
  if (!view.given) { return out; }
  ForEachIndex(ShapeOf(view),
               [&](const Dims& at) { out.push_back(Load(view, OffsetOf(view, at)).AsDouble()); });
  return out;
}
inline Wholes WholesOf(const ArrayView& view) {
  Wholes out;
  if (!view.given) { return out; }
  ForEachIndex(ShapeOf(view),
               [&](const Dims& at) { out.push_back(Load(view, OffsetOf(view, at)).i); });
  return out;
}

// REQUIRES as many values as `view` has elements.
inline void Put(const ArrayView& view, const Reals& values) {
  size_t next = 0;
  ForEachIndex(ShapeOf(view), [&](const Dims& at) {
    const double value = values[next++];
    const Value stored =
        IsFloating(view.dtype) ? Value::Float(value) : Value::Int(static_cast<int64_t>(value));
    Store(view, OffsetOf(view, at), stored);
  });
}

// Element i of a list that may be missing.
inline double OrElse(const Reals& list, int64_t i, double missing) {
  return list.empty() ? missing : list[static_cast<size_t>(i)];
}

// The product of the sizes of dims [begin, end).
inline int64_t SizeOfDims(const ArrayView& view, int64_t begin, int64_t end) {
  int64_t n = 1;
  for (int64_t d = begin; d < end; ++d) { n *= view.shape[d]; }
  return n;
}

}  // namespace reference
}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_REFERENCE_ARRAYS_H_
