// The types that an op's attributes may have, all trivially copyable, so that an attribute struct
// can be copied into an instruction by memcpy.
//
// Thread safety: plain values.
#ifndef ONEFLOW_KERNELS_ATTR_TYPES_H_
#define ONEFLOW_KERNELS_ATTR_TYPES_H_

#include <cstdint>
#include <cstring>

#include "oneflow/core/dims.h"
#include "oneflow/core/generator.h"
#include "oneflow/core/scalar.h"

namespace oneflow {

// A list of integers as an attribute (shape, dims, sizes). `given` is false for an optional list
// that was not given (None).
struct IntList {
  int32_t count = 0;
  bool given = false;
  int64_t values[kMaxDims];

  IntList() = default;
  explicit IntList(const Dims& dims) : count(dims.size()), given(true) {
    std::memcpy(values, dims.data(), sizeof(int64_t) * static_cast<size_t>(dims.size()));
  }
  Dims ToDims() const { return Dims(values, count); }
};

// How throw_error fails: with an error of each kind, or by a C++ exception.
enum class FailureKind : int32_t {
  kType,
  kValue,
  kIndex,
  kRuntime,
  kNotImplemented,
  kOutOfMemory,
  kInternal,
  kEnvironment,
  kBadAlloc,   // throws std::bad_alloc
  kException,  // throws a std::runtime_error
  kForeign,    // throws what is no std::exception
};

enum class Reduction : int32_t { kNone, kMean, kSum };

}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_ATTR_TYPES_H_
