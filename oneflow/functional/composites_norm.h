// Composites of norms; see composites.h.
//
// A gradient is computed by one fused kernel, or, where its own gradient may be asked for (grad mode
// is on in backward), from ops that have one.
#ifndef ONEFLOW_FUNCTIONAL_COMPOSITES_NORM_H_
#define ONEFLOW_FUNCTIONAL_COMPOSITES_NORM_H_

#include <string>

#include "oneflow/common/maybe.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow::functional::composites {

Maybe<TensorPtr> LayerNorm(const TensorPtr& x, int64_t begin_norm_axis, int64_t begin_params_axis,
                           double epsilon);
Maybe<TensorPtr> LayerNormAffine(const TensorPtr& x, const TensorPtr& gamma, const TensorPtr& beta,
                                 int64_t begin_norm_axis, int64_t begin_params_axis,
                                 double epsilon);
Maybe<TensorPtr> LayerNormOverShape(const TensorPtr& input, const Dims& normalized_shape,
                                    const TensorPtr& weight, const TensorPtr& bias, double eps);
Maybe<TensorTuple> LayerNormalizeGrad(const TensorPtr& grad, const TensorPtr& input,
                                      const TensorPtr& weight, const TensorPtr& mean,
                                      const TensorPtr& inv_std, int64_t begin_axis, double epsilon,
                                      bool center);
Maybe<TensorPtr> RmsNorm(const TensorPtr& x, const TensorPtr& weight, const Dims& normalized_shape,
                         double epsilon);
Maybe<TensorPtr> RmsLayerNorm(const TensorPtr& hidden_states, const TensorPtr& weight,
                              double variance_epsilon);

Maybe<TensorPtr> L2Normalize(const TensorPtr& input, int64_t axis, double epsilon);

Maybe<TensorPtr> Normalization(const TensorPtr& x, const TensorPtr& moving_mean,
                               const TensorPtr& moving_variance, const TensorPtr& gamma,
                               const TensorPtr& beta, int64_t axis, double epsilon, double momentum,
                               bool is_training);
Maybe<TensorPtr> NormalizationAddRelu(const TensorPtr& x, const TensorPtr& addend,
                                      const TensorPtr& moving_mean,
                                      const TensorPtr& moving_variance, const TensorPtr& gamma,
                                      const TensorPtr& beta, int64_t axis, double epsilon,
                                      double momentum, bool is_training);
Maybe<TensorTuple> BatchNormalizeGrad(const TensorPtr& grad, const TensorPtr& input,
                                      const TensorPtr& weight, const TensorPtr& mean,
                                      const TensorPtr& variance, int64_t axis, double epsilon,
                                      bool training);

Maybe<TensorPtr> GroupNorm(const TensorPtr& x, const TensorPtr& gamma, const TensorPtr& beta,
                           bool affine, int64_t num_groups, double epsilon,
                           const std::string& data_format, const std::string& activation);
Maybe<TensorPtr> GroupNormOf(const TensorPtr& input, int64_t num_groups, const TensorPtr& weight,
                             const TensorPtr& bias, double eps);
Maybe<TensorTuple> GroupNormalizeGrad(const TensorPtr& grad, const TensorPtr& input,
                                      const TensorPtr& weight, const TensorPtr& mean,
                                      const TensorPtr& inv_std, int64_t groups, double epsilon);
Maybe<TensorPtr> InstanceNorm(const TensorPtr& input, const TensorPtr& running_mean,
                              const TensorPtr& running_var, const TensorPtr& weight,
                              const TensorPtr& bias, bool use_input_stats, double momentum,
                              double eps);

// What synchronised batch normalisation is made of.
Maybe<TensorTuple> BatchNormStats(const TensorPtr& input, int64_t axis, double eps);
Maybe<TensorTuple> BatchNormGatherStats(const TensorPtr& input, const TensorPtr& mean,
                                        const TensorPtr& invstd, const TensorPtr& running_mean,
                                        const TensorPtr& running_var, double momentum, double eps,
                                        const TensorPtr& counts);
Maybe<TensorPtr> BatchNormElemt(const TensorPtr& input, const TensorPtr& weight,
                                const TensorPtr& bias, const TensorPtr& mean,
                                const TensorPtr& invstd, int64_t axis, double eps);
Maybe<TensorTuple> BatchNormBackwardReduce(const TensorPtr& grad_out, const TensorPtr& input,
                                           const TensorPtr& mean, const TensorPtr& invstd,
                                           int64_t axis);
Maybe<TensorPtr> BatchNormBackwardElemt(const TensorPtr& grad_out, const TensorPtr& input,
                                        const TensorPtr& mean, const TensorPtr& invstd,
                                        const TensorPtr& weight, const TensorPtr& sum_dy,
                                        const TensorPtr& sum_dy_xmu, const TensorPtr& count,
                                        int64_t axis);

}  // namespace oneflow::functional::composites

#endif  // ONEFLOW_FUNCTIONAL_COMPOSITES_NORM_H_
