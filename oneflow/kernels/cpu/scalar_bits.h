// ScalarBits: a Scalar as one element of a tensor's type.
//
// Thread safety: plain value.
#ifndef ONEFLOW_KERNELS_CPU_SCALAR_BITS_H_
#define ONEFLOW_KERNELS_CPU_SCALAR_BITS_H_

#include <cstdint>

#include "oneflow/core/dtype.h"
#include "oneflow/core/scalar.h"

namespace oneflow {
namespace cpu {

struct ScalarBits {
  alignas(8) unsigned char bytes[8];
};

// Converts as a cast kernel does: integers wrap, a float out of an integer's range gives that
// integer's minimum, anything but zero is true.
ScalarBits ToScalarBits(const Scalar& value, DataType dtype);
// Minus the value; an integer wraps, True becomes -1.
Scalar Negated(const Scalar& value);
bool IsOne(const Scalar& value);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_SCALAR_BITS_H_
