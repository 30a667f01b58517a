// Fused ops of OneFlow's, written in other ops. See composites.h.
//
// Thread safety: as functional calls.
#ifndef ONEFLOW_FUNCTIONAL_COMPOSITES_FUSED_H_
#define ONEFLOW_FUNCTIONAL_COMPOSITES_FUSED_H_

#include <string>
#include <vector>

#include "oneflow/common/maybe.h"
#include "oneflow/core/generator.h"
#include "oneflow/core/scalar.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow::functional::composites {

// composites_fused.cc
Maybe<TensorPtr> FusedScaleTril(const TensorPtr& x, int64_t diagonal, Scalar fill_value,
                                Scalar scale);
Maybe<TensorPtr> FusedScaleMaskSoftmax(const TensorPtr& x, const TensorPtr& mask, double fill_value,
                                       double scale);
Maybe<TensorTuple> FusedScaleMaskSoftmaxDropout(const TensorPtr& x, const TensorPtr& mask,
                                                double fill_value, double scale, double p,
                                                bool training, const GeneratorPtr& generator);
Maybe<TensorTuple> FusedBiasAddScaleMaskSoftmaxDropout(const TensorPtr& x, const TensorPtr& bias,
                                                       const TensorPtr& mask, double fill_value,
                                                       double scale, double p, bool training,
                                                       const GeneratorPtr& generator);
Maybe<TensorTuple> FusedScaleTrilSoftmaxMaskScale(const TensorPtr& a, double p, int64_t diagonal,
                                                  double tril_scale_value, double tril_fill_value,
                                                  const GeneratorPtr& generator);
Maybe<TensorPtr> FusedBiasAddDropout(const TensorPtr& a, const TensorPtr& b, double p, int64_t axis,
                                     const GeneratorPtr& generator);
Maybe<TensorPtr> FusedMatmulBiasAddReluDropout(const TensorPtr& x, const TensorTuple& weights,
                                               const TensorTuple& biases,
                                               bool skip_final_activation,
                                               const std::vector<double>& dropout_rate_list,
                                               const GeneratorPtr& generator);
Maybe<TensorPtr> FusedFastGeluMul(const TensorPtr& x, const TensorPtr& multiplier);
Maybe<TensorPtr> FusedBiasAddGelu(const TensorPtr& a, const TensorPtr& b, int64_t axis);
Maybe<TensorPtr> FusedGlu(const TensorPtr& x, const TensorPtr& w, const TensorPtr& b,
                          const TensorPtr& v, const TensorPtr& c, const std::string& activation);
Maybe<TensorPtr> FusedWeightedSum(const TensorTuple& in, const std::vector<double>& weights,
                                  double alpha);
Maybe<TensorTuple> FusedSelfAttention(const TensorPtr& hidden_states, int64_t head_size,
                                      double alpha);
Maybe<TensorPtr> FusedMultiHeadAttentionInference(
    const TensorPtr& query, const TensorPtr& key, const TensorPtr& value, int64_t num_heads,
    bool causal, int64_t query_hidden_slice_start, int64_t query_hidden_slice_end,
    int64_t key_hidden_slice_start, int64_t key_hidden_slice_end, int64_t value_hidden_slice_start,
    int64_t value_hidden_slice_end);
Maybe<TensorPtr> FusedCrossFeatureInteraction(const TensorPtr& x, const TensorPtr& weight,
                                              const TensorPtr& x_0, const TensorPtr& bias,
                                              const std::string& interaction_mode);
Maybe<TensorPtr> FusedDotFeatureInteraction(const TensorTuple& features,
                                            const TensorPtr& output_concat, bool self_interaction,
                                            int64_t output_padding, const std::string& pooling);

// composites_boxes.cc: boxes by centre and size, or by edges (b1_x1 to b1_x2, b1_y1 to b1_y2).
Maybe<TensorTuple> BoxEdges(const TensorPtr& x1, const TensorPtr& y1, const TensorPtr& w1,
                            const TensorPtr& h1, const TensorPtr& x2, const TensorPtr& y2,
                            const TensorPtr& w2, const TensorPtr& h2);
Maybe<TensorPtr> BoxIntersection(const TensorPtr& b1_x1, const TensorPtr& b1_x2,
                                 const TensorPtr& b2_x1, const TensorPtr& b2_x2,
                                 const TensorPtr& b1_y1, const TensorPtr& b1_y2,
                                 const TensorPtr& b2_y1, const TensorPtr& b2_y2);
Maybe<TensorPtr> BoxIou(const TensorPtr& w1, const TensorPtr& h1, const TensorPtr& w2,
                        const TensorPtr& h2, const TensorPtr& inter, double eps);
Maybe<TensorPtr> BoxHullDiagonal(const TensorPtr& b1_x1, const TensorPtr& b1_x2,
                                 const TensorPtr& b2_x1, const TensorPtr& b2_x2,
                                 const TensorPtr& b1_y1, const TensorPtr& b1_y2,
                                 const TensorPtr& b2_y1, const TensorPtr& b2_y2, double eps);
Maybe<TensorPtr> BoxCenterDistance(const TensorPtr& b1_x1, const TensorPtr& b1_x2,
                                   const TensorPtr& b2_x1, const TensorPtr& b2_x2,
                                   const TensorPtr& b1_y1, const TensorPtr& b1_y2,
                                   const TensorPtr& b2_y1, const TensorPtr& b2_y2);
Maybe<TensorPtr> CiouDiagonalAngle(const TensorPtr& w1, const TensorPtr& h1, const TensorPtr& w2,
                                   const TensorPtr& h2, double eps);
Maybe<TensorTuple> CiouResult(const TensorPtr& v, const TensorPtr& iou, const TensorPtr& rho2,
                              const TensorPtr& c2, double eps);

}  // namespace oneflow::functional::composites

#endif  // ONEFLOW_FUNCTIONAL_COMPOSITES_FUSED_H_
