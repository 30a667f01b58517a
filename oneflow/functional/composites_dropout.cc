#include "oneflow/functional/composites_dropout.h"

#include "oneflow/functional/composites.h"
#include "oneflow/functional/generated/functional_dropout.h"
#include "oneflow/functional/generated/functional_elementwise.h"
#include "oneflow/functional/generated/functional_embedding.h"
#include "oneflow/functional/generated/functional_view.h"

namespace oneflow::functional::composites {

namespace {

Maybe<void> CheckProbability(const char* op, double p) {
  if (p >= 0.0 && p <= 1.0) { return Ok(); }
  return ValueError("[{}] expects a probability in [0, 1], got {}", op, p);
}

// Whole channels: those of (N, C, ...), or of (C, ...) where the batch dim is missing.
Maybe<TensorPtr> DropChannels(const char* op, const TensorPtr& input, double p, bool training,
                              int spatial) {
  JUST(CheckProbability(op, p));
  if (input->ndim() != spatial + 1 && input->ndim() != spatial + 2) {
    return RuntimeError("[{}] expects an input of {} or {} dimensions, got {}", op, spatial + 1,
                        spatial + 2, input->shape());
  }
  if (!training || p == 0.0) { return input; }
  int64_t inner = 1;
  for (int d = input->ndim() - spatial; d < input->ndim(); ++d) { inner *= input->shape()[d]; }
  return JUST(dropout_mask(input, nullptr, p, std::max<int64_t>(1, inner), nullptr))[0];
}

}  // namespace

Maybe<TensorPtr> Dropout(const TensorPtr& input, double p, bool training, bool inplace,
                         const GeneratorPtr& generator, const TensorPtr& addend) {
  JUST(CheckProbability("dropout", p));
  const bool drops = training && p > 0.0;
  if (!drops && addend == nullptr) { return input; }
  TensorPtr y;
  if (drops) {
    y = JUST(dropout_mask(input, addend, p, 1, generator))[0];
  } else {
    y = JUST(add(input, addend));
  }
  return inplace ? copy_(input, y) : Maybe<TensorPtr>(y);
}

Maybe<TensorPtr> Dropout1d(const TensorPtr& input, double p, bool training) {
  return DropChannels("dropout1d", input, p, training, 1);
}
Maybe<TensorPtr> Dropout2d(const TensorPtr& input, double p, bool training) {
  return DropChannels("dropout2d", input, p, training, 2);
}
Maybe<TensorPtr> Dropout3d(const TensorPtr& input, double p, bool training) {
  return DropChannels("dropout3d", input, p, training, 3);
}

Maybe<TensorPtr> Embedding(const TensorPtr& weight, const TensorPtr& indices,
                           std::optional<int64_t> padding_idx, bool scale_grad_by_freq) {
  int64_t padding = -1;
  if (padding_idx.has_value() && weight->ndim() == 2) {
    const int64_t rows = weight->shape()[0];
    if (*padding_idx < -rows || *padding_idx >= rows) {
      return RuntimeError("[embedding] expects padding_idx in [{}, {}), got {}", -rows, rows,
                          *padding_idx);
    }
    padding = *padding_idx < 0 ? *padding_idx + rows : *padding_idx;
  }
  const bool narrow = IsIntegral(indices->dtype()) && indices->dtype() != DataType::kInt64;
  const TensorPtr rows = narrow ? JUST(cast(indices, DataType::kInt64)) : indices;
  // Rows of numbers that are not floating are copied as bytes.
  const bool bytes = !IsFloating(weight->dtype()) && !weight->meta().contiguous;
  const TensorPtr table = bytes ? JUST(contiguous(weight)) : weight;
  return embedding_lookup(table, bytes ? JUST(contiguous(rows)) : rows, padding, scale_grad_by_freq,
                          false);
}

}  // namespace oneflow::functional::composites
