// Composites of softmax; see composites.h.
#ifndef ONEFLOW_FUNCTIONAL_COMPOSITES_SOFTMAX_H_
#define ONEFLOW_FUNCTIONAL_COMPOSITES_SOFTMAX_H_

#include <optional>

#include "oneflow/common/maybe.h"
#include "oneflow/core/generator.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow::functional::composites {

Maybe<TensorPtr> SoftmaxBackwardOutGrad(const TensorPtr& dy, const TensorPtr& grad,
                                        const TensorPtr& out, int64_t dim);
Maybe<TensorPtr> LogSoftmaxBackwardGrad(const TensorPtr& dy, const TensorPtr& out, int64_t dim);
Maybe<TensorPtr> LogSoftmaxBackwardOutGrad(const TensorPtr& dy, const TensorPtr& grad,
                                           const TensorPtr& out, int64_t dim);

Maybe<TensorPtr> GumbelSoftmax(const TensorPtr& x, double tau, std::optional<int64_t> dim,
                               bool hard, const GeneratorPtr& generator);

}  // namespace oneflow::functional::composites

#endif  // ONEFLOW_FUNCTIONAL_COMPOSITES_SOFTMAX_H_
