// Composites of distances between vectors, and of losses made of them; see composites.h.
#ifndef ONEFLOW_FUNCTIONAL_COMPOSITES_DISTANCE_H_
#define ONEFLOW_FUNCTIONAL_COMPOSITES_DISTANCE_H_

#include <string>

#include "oneflow/common/maybe.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow::functional::composites {

Maybe<TensorPtr> Normalize(const TensorPtr& input, double p, int64_t dim, double eps,
                           bool /*kernel*/);
Maybe<TensorPtr> CosineSimilarity(const TensorPtr& x, const TensorPtr& y, int64_t dim, double eps);
Maybe<TensorPtr> PairwiseDistance(const TensorPtr& x1, const TensorPtr& x2, double p, double eps,
                                  bool keepdim);
Maybe<TensorPtr> MarginRankingLoss(const TensorPtr& input_1, const TensorPtr& input_2,
                                   const TensorPtr& target, double margin,
                                   const std::string& reduction);
Maybe<TensorPtr> TripletMarginLoss(const TensorPtr& anchor, const TensorPtr& positive,
                                   const TensorPtr& negative, double margin, double p, double eps,
                                   bool swap, const std::string& reduction);
Maybe<TensorPtr> CombinedMarginLoss(const TensorPtr& x, const TensorPtr& label, double m1,
                                    double m2, double m3);

}  // namespace oneflow::functional::composites

#endif  // ONEFLOW_FUNCTIONAL_COMPOSITES_DISTANCE_H_
