// Composites of losses; see composites.h. Gradients as in composites_norm.h.
#ifndef ONEFLOW_FUNCTIONAL_COMPOSITES_LOSS_H_
#define ONEFLOW_FUNCTIONAL_COMPOSITES_LOSS_H_

#include <string>

#include "oneflow/common/maybe.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow::functional::composites {

Maybe<TensorPtr> MseLoss(const TensorPtr& input, const TensorPtr& target,
                         const std::string& reduction);
Maybe<TensorPtr> L1Loss(const TensorPtr& input, const TensorPtr& target,
                        const std::string& reduction);
Maybe<TensorPtr> SmoothL1Loss(const TensorPtr& logits, const TensorPtr& label, double beta,
                              const std::string& reduction);
Maybe<TensorPtr> HuberLoss(const TensorPtr& input, const TensorPtr& target,
                           const std::string& reduction, double delta);
Maybe<TensorPtr> KlDivLoss(const TensorPtr& input, const TensorPtr& target, bool log_target,
                           const std::string& reduction);
Maybe<TensorPtr> BceLoss(const TensorPtr& input, const TensorPtr& target, const TensorPtr& weight,
                         const std::string& reduction);
Maybe<TensorPtr> BceWithLogitsLoss(const TensorPtr& input, const TensorPtr& target,
                                   const TensorPtr& weight, const TensorPtr& pos_weight,
                                   const std::string& reduction);
Maybe<TensorPtr> PointwiseLossGrad(const TensorPtr& grad, const TensorPtr& input,
                                   const TensorPtr& target, const TensorPtr& weight,
                                   const TensorPtr& pos_weight, int64_t kind,
                                   const std::string& reduction, double beta, bool by_target);

Maybe<TensorPtr> NllLoss(const TensorPtr& input, const TensorPtr& target, const TensorPtr& weight,
                         int64_t ignore_index, const std::string& reduction);
Maybe<TensorPtr> CrossEntropy(const TensorPtr& input, const TensorPtr& target,
                              const TensorPtr& weight, int64_t ignore_index,
                              const std::string& reduction, double label_smoothing);
Maybe<TensorPtr> CrossEntropyProb(const TensorPtr& input, const TensorPtr& target,
                                  const TensorPtr& weight, const std::string& reduction,
                                  double label_smoothing);
Maybe<TensorPtr> SparseSoftmaxCrossEntropy(const TensorPtr& logits, const TensorPtr& label);
Maybe<TensorPtr> CtcLoss(const TensorPtr& log_probs, const TensorPtr& targets,
                         const TensorPtr& input_lengths, const TensorPtr& target_lengths,
                         int64_t max_target_length, int64_t blank, bool zero_infinity,
                         const std::string& reduction);
Maybe<TensorPtr> SparseCrossEntropy(const TensorPtr& prediction, const TensorPtr& label,
                                    int64_t depth);
Maybe<TensorPtr> SoftmaxCrossEntropy(const TensorPtr& logits, const TensorPtr& label);
Maybe<TensorPtr> SoftmaxLossGrad(const TensorPtr& grad, const TensorPtr& input,
                                 const TensorPtr& target, const TensorPtr& weight,
                                 const TensorPtr& total_weight, const TensorPtr& max,
                                 const TensorPtr& log_sum, int64_t class_dim, int64_t ignore_index,
                                 const std::string& reduction, double label_smoothing);

}  // namespace oneflow::functional::composites

#endif  // ONEFLOW_FUNCTIONAL_COMPOSITES_LOSS_H_
