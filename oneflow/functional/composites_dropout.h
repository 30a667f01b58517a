// Composites of dropout and embeddings; see composites.h.
#ifndef ONEFLOW_FUNCTIONAL_COMPOSITES_DROPOUT_H_
#define ONEFLOW_FUNCTIONAL_COMPOSITES_DROPOUT_H_

#include <optional>

#include "oneflow/common/maybe.h"
#include "oneflow/core/generator.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow::functional::composites {

Maybe<TensorPtr> Dropout(const TensorPtr& input, double p, bool training, bool inplace,
                         const GeneratorPtr& generator, const TensorPtr& addend);
Maybe<TensorPtr> Dropout1d(const TensorPtr& input, double p, bool training);
Maybe<TensorPtr> Dropout2d(const TensorPtr& input, double p, bool training);
Maybe<TensorPtr> Dropout3d(const TensorPtr& input, double p, bool training);

Maybe<TensorPtr> Embedding(const TensorPtr& weight, const TensorPtr& indices,
                           std::optional<int64_t> padding_idx, bool scale_grad_by_freq);

}  // namespace oneflow::functional::composites

#endif  // ONEFLOW_FUNCTIONAL_COMPOSITES_DROPOUT_H_
