// The rows of the family pool that are written in other ops. Thread safety: as functional calls.
#ifndef ONEFLOW_FUNCTIONAL_COMPOSITES_POOL_H_
#define ONEFLOW_FUNCTIONAL_COMPOSITES_POOL_H_

#include <optional>
#include <string>

#include "oneflow/common/maybe.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow::functional::composites {

// The maximum, and the indices of the maxima whether they were asked for or not.
Maybe<TensorTuple> MaxPoolNd(const TensorPtr& input, const Dims& kernel_size,
                             const std::optional<Dims>& stride, const Dims& padding,
                             const Dims& dilation, bool return_indices, bool ceil_mode,
                             const std::string& data_format);
Maybe<TensorPtr> AvgPoolNd(const TensorPtr& input, const Dims& kernel_size,
                           const std::optional<Dims>& stride, const Dims& padding, bool ceil_mode,
                           bool count_include_pad, int64_t divisor_override,
                           const std::string& data_format);
Maybe<TensorPtr> AdaptiveAvgPoolNd(const TensorPtr& x, const Dims& output_size);
Maybe<TensorTuple> AdaptiveMaxPoolNd(const TensorPtr& input, const Dims& output_size);
Maybe<TensorPtr> MaxUnpoolNd(const TensorPtr& input, const TensorPtr& indices,
                             const Dims& kernel_size, const std::optional<Dims>& stride,
                             const Dims& padding, const std::optional<Dims>& output_size);

// `input`; in grad mode as a result of `other` too, with the gradient zero. OneFlow and PyTorch give
// that of a gradient of pooling by the pooling's input, instead of saying that there is none.
Maybe<TensorPtr> DependingOn(const TensorPtr& input, const TensorPtr& other);

}  // namespace oneflow::functional::composites

#endif  // ONEFLOW_FUNCTIONAL_COMPOSITES_POOL_H_
