// A number for each channel, whatever its floating dtype: parameters, running statistics and their gradients, which may
// be float32 beside arrays of bfloat16.
//
// Thread safety: values; they borrow the arrays.
#ifndef ONEFLOW_KERNELS_CPU_NORM_CHANNEL_VALUES_H_
#define ONEFLOW_KERNELS_CPU_NORM_CHANNEL_VALUES_H_

#include <cstdint>

#include "oneflow/kernels/cpu/bfloat16.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

// REQUIRES float64, float32 or bfloat16, dense.
class ChannelValues {
 public:
  // Where the operand was not given, every value is `otherwise`.
  ChannelValues(const KernelCall& call, int input, double otherwise) : otherwise_(otherwise) {
    if (!call.HasInput(input)) { return; }
    data_ = call.inputs[input].data;
    dtype_ = call.inputs[input].dtype;
  }

  double operator[](int64_t c) const {
    if (data_ == nullptr) { return otherwise_; }
    switch (dtype_) {
      case DataType::kDouble: return static_cast<const double*>(data_)[c];
      case DataType::kBFloat16: return Widen(static_cast<const BFloat16*>(data_)[c]);
      default: return static_cast<const float*>(data_)[c];
    }
  }

 private:
  double otherwise_;
  const void* data_ = nullptr;
  DataType dtype_ = DataType::kFloat;
};

inline void PutChannelValue(const ArrayView& to, int64_t c, double value) {
  switch (to.dtype) {
    case DataType::kDouble: to.Data<double>()[c] = value; break;
    case DataType::kBFloat16: to.Data<BFloat16>()[c] = Narrow(static_cast<float>(value)); break;
    default: to.Data<float>()[c] = static_cast<float>(value);
  }
}

// nullptr where array `x` and all of its rank are dense bfloat16, its channels are runs, and those of one dimension are
// float32 or bfloat16: a kernel's `accepts`.
inline const char* AcceptBFloat16Runs(const KernelCall& call, int x, int64_t axis) {
  const ArrayView& array = call.inputs[x];
  const auto fits = [&](const ArrayView& view) {
    if (!view.given) { return true; }
    const bool wide = view.ndim == 1 && view.dtype == DataType::kFloat;
    return view.contiguous && (wide || view.dtype == DataType::kBFloat16);
  };
  for (int i = 0; i < call.num_inputs; ++i) {
    if (!fits(call.inputs[i])) { return "not bfloat16 with float32, or not dense"; }
  }
  for (int i = 0; i < call.num_outputs; ++i) {
    if (!fits(call.outputs[i])) { return "not bfloat16 with float32, or not dense"; }
  }
  int64_t inner = 1;
  for (int64_t d = axis + 1; d < array.ndim; ++d) { inner *= array.shape[d]; }
  return array.dtype != DataType::kBFloat16 ? "dtype is not bfloat16"
         : inner == 1                       ? "channels are neighbours"
                                            : nullptr;
}

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_NORM_CHANNEL_VALUES_H_
