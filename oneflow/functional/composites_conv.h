// The rows of the family conv that are written in other ops. Thread safety: as functional calls.
#ifndef ONEFLOW_FUNCTIONAL_COMPOSITES_CONV_H_
#define ONEFLOW_FUNCTIONAL_COMPOSITES_CONV_H_

#include <string>

#include "oneflow/common/maybe.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow::functional::composites {

// convNd: input (N, C, ...) or (C, ...); channel_pos says whether C comes first or last.
Maybe<TensorPtr> ConvNd(const TensorPtr& input, const TensorPtr& weight, const TensorPtr& bias,
                        const Dims& stride, const Dims& padding, const Dims& dilation,
                        int64_t groups, const std::string& channel_pos);
// The same with padding `valid` (none) or `same` (the result is as large as the input).
Maybe<TensorPtr> ConvNdPaddedBy(const TensorPtr& input, const TensorPtr& weight,
                                const TensorPtr& bias, const Dims& stride,
                                const std::string& padding, const Dims& dilation, int64_t groups,
                                const std::string& channel_pos);
Maybe<TensorPtr> DeconvNd(const TensorPtr& input, const TensorPtr& weight, const TensorPtr& bias,
                          const Dims& stride, const Dims& padding, const Dims& output_padding,
                          int64_t groups, const Dims& dilation, const std::string& data_format);
// Sum over all dims but 1.
Maybe<TensorPtr> SumPerChannel(const TensorPtr& input);

Maybe<TensorPtr> Unfold(const TensorPtr& x, const Dims& kernel_size, const Dims& dilation,
                        const Dims& padding, const Dims& stride, const std::string& data_format);
Maybe<TensorPtr> Fold(const TensorPtr& x, const Dims& output_size, const Dims& kernel_size,
                      const Dims& dilation, const Dims& padding, const Dims& stride,
                      const std::string& data_format);

}  // namespace oneflow::functional::composites

#endif  // ONEFLOW_FUNCTIONAL_COMPOSITES_CONV_H_
