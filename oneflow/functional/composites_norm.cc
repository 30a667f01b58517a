#include "oneflow/functional/composites_norm.h"

#include "oneflow/autograd/grad_mode.h"
#include "oneflow/core/shape.h"
#include "oneflow/functional/composites.h"
#include "oneflow/functional/generated/functional_batch_norm.h"
#include "oneflow/functional/generated/functional_creation.h"
#include "oneflow/functional/generated/functional_elementwise.h"
#include "oneflow/functional/generated/functional_math.h"
#include "oneflow/functional/generated/functional_mixture.h"
#include "oneflow/functional/generated/functional_norm.h"
#include "oneflow/functional/generated/functional_reduce.h"
#include "oneflow/functional/generated/functional_view.h"

namespace oneflow::functional::composites {

namespace {

bool IsShort(DataType dtype) { return dtype == DataType::kFloat16 || dtype == DataType::kBFloat16; }

// Parameters may be float32 beside a short input; otherwise they take the input's dtype, and the
// bias that of the weight.
struct Parameters {
  TensorPtr weight, bias;
};

Maybe<TensorPtr> Fitted(const TensorPtr& parameter, const TensorPtr& x) {
  if (parameter == nullptr || parameter->dtype() == x->dtype()) { return parameter; }
  if (IsShort(x->dtype()) && parameter->dtype() == DataType::kFloat) { return parameter; }
  return cast(parameter, x->dtype());
}

Maybe<Parameters> Fit(const TensorPtr& weight, const TensorPtr& bias, const TensorPtr& x) {
  Parameters p;
  p.weight = JUST(Fitted(weight, x));
  p.bias = JUST(Fitted(bias, x));
  if (p.bias == nullptr) { return p; }
  // The kernels give the gradient of a bias without a weight in the dtype of the statistics.
  const DataType alone = IsShort(x->dtype()) ? DataType::kFloat : x->dtype();
  const DataType wanted = p.weight == nullptr ? alone : p.weight->dtype();
  if (p.bias->dtype() != wanted) { p.bias = JUST(cast(p.bias, wanted)); }
  return p;
}

// Where dims `shape` of the normalised elements begin in x.
Maybe<int64_t> BeginOf(const char* op, const TensorPtr& x, const Dims& shape) {
  const int begin = x->ndim() - shape.size();
  bool fits = begin >= 0 && !shape.empty();
  for (int i = 0; fits && i < shape.size(); ++i) { fits = x->shape()[begin + i] == shape[i]; }
  if (fits) { return begin; }
  return RuntimeError("[{}] expects an input whose shape ends with normalized_shape {}, got {}", op,
                      shape, x->shape());
}

Maybe<void> CheckFloatingInput(const char* op, const TensorPtr& x) {
  if (IsFloating(x->dtype())) { return Ok(); }
  return RuntimeError("[{}] expects an input of a floating dtype, got {} {}", op,
                      DataTypeName(x->dtype()), x->shape());
}

}  // namespace

// ---- layer norm and RMS norm --------------------------------------------------------------------

Maybe<TensorPtr> LayerNorm(const TensorPtr& x, int64_t begin_norm_axis, int64_t begin_params_axis,
                           double epsilon) {
  return LayerNormAffine(x, nullptr, nullptr, begin_norm_axis, begin_params_axis, epsilon);
}

Maybe<TensorPtr> LayerNormAffine(const TensorPtr& x, const TensorPtr& gamma, const TensorPtr& beta,
                                 int64_t begin_norm_axis, int64_t begin_params_axis,
                                 double epsilon) {
  JUST(CheckFloatingInput("layer_norm", x));
  const int64_t begin = JUST(WrapDim("layer_norm", begin_norm_axis, x->ndim()));
  const int64_t params = JUST(WrapDim("layer_norm", begin_params_axis, x->ndim()));
  const bool affine = gamma != nullptr || beta != nullptr;
  if (affine && params != begin) {
    return RuntimeError("[layer_norm] expects begin_params_axis to be begin_norm_axis {}, got {}",
                        begin_norm_axis, begin_params_axis);
  }
  const Parameters p = JUST(Fit(gamma, beta, x));
  // The gradient of the bias is computed with that of a weight.
  const bool bias_alone = p.weight == nullptr && p.bias != nullptr;
  const TensorPtr weight = bias_alone ? JUST(ones_like(p.bias)) : p.weight;
  return JUST(layer_normalize(x, weight, p.bias, begin, epsilon, true))[0];
}

Maybe<TensorPtr> LayerNormOverShape(const TensorPtr& input, const Dims& normalized_shape,
                                    const TensorPtr& weight, const TensorPtr& bias, double eps) {
  const int64_t begin = JUST(BeginOf("layer_norm", input, normalized_shape));
  return LayerNormAffine(input, weight, bias, begin, begin, eps);
}

Maybe<TensorPtr> RmsNorm(const TensorPtr& x, const TensorPtr& weight, const Dims& normalized_shape,
                         double epsilon) {
  JUST(CheckFloatingInput("rms_norm", x));
  const int64_t begin = JUST(BeginOf("rms_norm", x, normalized_shape));
  const TensorPtr fitted = JUST(Fitted(weight, x));
  return JUST(layer_normalize(x, fitted, nullptr, begin, epsilon, false))[0];
}

Maybe<TensorPtr> RmsLayerNorm(const TensorPtr& hidden_states, const TensorPtr& weight,
                              double variance_epsilon) {
  return RmsNorm(hidden_states, weight, weight->shape(), variance_epsilon);
}

Maybe<TensorPtr> L2Normalize(const TensorPtr& input, int64_t axis, double epsilon) {
  JUST(CheckFloatingInput("l2_normalize", input));
  const auto dim = static_cast<int64_t>(JUST(WrapDim("l2_normalize", axis, input->ndim())));
  if (input->ndim() == 0) { return RuntimeError("[l2_normalize] expects vectors, got shape ()"); }
  // float16 holds no square of what is below 2e-4 or above 256.
  const bool half = input->dtype() == DataType::kFloat16;
  const TensorPtr x = half ? JUST(cast(input, DataType::kFloat)) : input;
  const TensorPtr squares = JUST(sum(JUST(mul(x, x)), Dims{dim}, true));
  const TensorPtr y = JUST(div(x, JUST(sqrt(JUST(clamp_min(squares, Scalar(epsilon)))))));
  return half ? cast(y, input->dtype()) : Maybe<TensorPtr>(y);
}

// ---- group norm ---------------------------------------------------------------------------------

namespace {

// y sigmoid(y) = y (1 + tanh(y / 2)) / 2
Maybe<TensorPtr> Silu(const TensorPtr& y) {
  const TensorPtr t = JUST(tanh(JUST(scale(y, Scalar(0.5)))));
  return scale(JUST(mul(y, JUST(scalar_add(t, Scalar(1))))), Scalar(0.5));
}

}  // namespace

Maybe<TensorPtr> GroupNormOf(const TensorPtr& input, int64_t num_groups, const TensorPtr& weight,
                             const TensorPtr& bias, double eps) {
  JUST(CheckFloatingInput("group_norm", input));
  const Parameters p = JUST(Fit(weight, bias, input));
  return JUST(group_normalize(input, p.weight, p.bias, num_groups, eps))[0];
}

Maybe<TensorPtr> GroupNorm(const TensorPtr& x, const TensorPtr& gamma, const TensorPtr& beta,
                           bool affine, int64_t num_groups, double epsilon,
                           const std::string& data_format, const std::string& activation) {
  if (affine && (gamma == nullptr || beta == nullptr)) {
    return RuntimeError("[group_norm] expects gamma and beta where affine is True, got None");
  }
  if (data_format != "channels_first" && data_format != "channels_last") {
    return ValueError("[group_norm] expects data_format channels_first or channels_last, got {}",
                      data_format);
  }
  if (activation != "none" && activation != "silu") {
    return ValueError("[group_norm] expects activation none or silu, got {}", activation);
  }
  const bool last = data_format == "channels_last" && x->ndim() > 2;
  Dims to_first(x->ndim(), 0), to_last(x->ndim(), 0);
  for (int d = 1; d < x->ndim(); ++d) {
    to_first[d] = d == 1 ? x->ndim() - 1 : d - 1;
    to_last[d] = d + 1 == x->ndim() ? 1 : d + 1;
  }
  const TensorPtr input = last ? JUST(permute(x, to_first)) : x;
  TensorPtr y = JUST(
      GroupNormOf(input, num_groups, affine ? gamma : nullptr, affine ? beta : nullptr, epsilon));
  if (last) { y = JUST(permute(y, to_last)); }
  return activation == "silu" ? Silu(y) : Maybe<TensorPtr>(y);
}

// ---- batch norm ---------------------------------------------------------------------------------

namespace {

// Elements of one channel.
int64_t CountOf(const TensorPtr& x, int64_t axis) {
  int64_t count = 1;
  for (int d = 0; d < x->ndim(); ++d) { count *= d == axis ? 1 : x->shape()[d]; }
  return count;
}

Maybe<void> CheckPaired(const char* op, const TensorPtr& mean, const TensorPtr& variance) {
  if ((mean == nullptr) == (variance == nullptr)) { return Ok(); }
  return RuntimeError("[{}] expects a running mean and a running variance, or neither, got one "
                      "without the other",
                      op);
}

// The running statistics, changed in place towards those of a batch.
Maybe<void> UpdateRunning(const TensorPtr& running_mean, const TensorPtr& running_var,
                          const TensorPtr& mean, const TensorPtr& variance, double momentum,
                          int64_t count) {
  if (running_mean == nullptr || count == 0) { return Ok(); }  // an empty batch tells nothing
  const ScopedGradMode no_grad(false);
  const double correction =
      count > 1 ? static_cast<double>(count) / static_cast<double>(count - 1) : 1.0;
  JUST(update_running_stats_(running_mean, running_var, mean, variance, momentum, correction));
  return Ok();
}

}  // namespace

Maybe<TensorPtr> Normalization(const TensorPtr& x, const TensorPtr& moving_mean,
                               const TensorPtr& moving_variance, const TensorPtr& gamma,
                               const TensorPtr& beta, int64_t axis, double epsilon, double momentum,
                               bool is_training) {
  JUST(CheckFloatingInput("normalization", x));
  JUST(CheckPaired("normalization", moving_mean, moving_variance));
  if (x->ndim() < 2) {
    return RuntimeError("[normalization] expects an input of at least 2 dimensions, got {}",
                        x->shape());
  }
  const int64_t channel = JUST(WrapDim("normalization", axis, x->ndim()));
  const Parameters p = JUST(Fit(gamma, beta, x));
  if (!is_training) {
    if (moving_mean == nullptr) {
      return RuntimeError("[normalization] expects moving_mean and moving_variance where "
                          "is_training is False, got None");
    }
    return batch_normalize_inference(x, moving_mean, moving_variance, p.weight, p.bias, channel,
                                     epsilon);
  }
  const int64_t count = CountOf(x, channel);
  if (count == 1) {
    return ValueError(
        "[normalization] expects at least 2 values in each channel to train with, got "
        "input shape {}",
        x->shape());
  }
  const TensorTuple out = JUST(batch_normalize(x, p.weight, p.bias, channel, epsilon, true));
  JUST(UpdateRunning(moving_mean, moving_variance, out[1], out[2], momentum, count));
  return out[0];
}

Maybe<TensorPtr> NormalizationAddRelu(const TensorPtr& x, const TensorPtr& addend,
                                      const TensorPtr& moving_mean,
                                      const TensorPtr& moving_variance, const TensorPtr& gamma,
                                      const TensorPtr& beta, int64_t axis, double epsilon,
                                      double momentum, bool is_training) {
  TensorPtr y = JUST(Normalization(x, moving_mean, moving_variance, gamma, beta, axis, epsilon,
                                   momentum, is_training));
  if (addend != nullptr) { y = JUST(add(y, addend)); }
  return relu(y);
}

Maybe<TensorPtr> InstanceNorm(const TensorPtr& input, const TensorPtr& running_mean,
                              const TensorPtr& running_var, const TensorPtr& weight,
                              const TensorPtr& bias, bool use_input_stats, double momentum,
                              double eps) {
  JUST(CheckFloatingInput("instance_norm", input));
  JUST(CheckPaired("instance_norm", running_mean, running_var));
  if (!use_input_stats) {
    return Normalization(input, running_mean, running_var, weight, bias, 1, eps, momentum, false);
  }
  if (input->ndim() < 3) {
    return RuntimeError("[instance_norm] expects an input (N, C, ...) of at least 3 dimensions, "
                        "got {}",
                        input->shape());
  }
  const int64_t count =
      input->Count() / std::max<int64_t>(1, input->shape()[0] * input->shape()[1]);
  if (count == 1) {
    return ValueError("[instance_norm] expects at least 2 values in each channel of a sample, got "
                      "input shape {}",
                      input->shape());
  }
  const Parameters p = JUST(Fit(weight, bias, input));
  const TensorTuple out = JUST(group_normalize(input, p.weight, p.bias, input->shape()[1], eps));
  if (running_mean != nullptr) {
    const ScopedGradMode no_grad(false);
    const TensorPtr flat = JUST(reshape(input, Dims{input->shape()[0], input->shape()[1], count}));
    const TensorPtr d = JUST(sub(flat, JUST(unsqueeze(JUST(cast(out[1], input->dtype())), 2))));
    const TensorPtr variance = JUST(mean(JUST(square(d)), Dims{0, 2}));
    JUST(UpdateRunning(running_mean, running_var, JUST(functional::mean(out[1], Dims{0})), variance,
                       momentum, count));
  }
  return out[0];
}

}  // namespace oneflow::functional::composites
