// SplitNode: the tape's node of an op that cuts a tensor into views, any number of them.
//
// One node for all pieces, so that backward joins their gradients once; a slice for each piece would
// make zeros of the whole for each, and add them up.
//
// Thread safety: as Node.
#ifndef ONEFLOW_FUNCTIONAL_SPLIT_NODE_H_
#define ONEFLOW_FUNCTIONAL_SPLIT_NODE_H_

#include "oneflow/autograd/node.h"

namespace oneflow {

class SplitNode : public Node {
 public:
  // Pieces along `dim`, of these shapes; `drops_dim`: each is one index of it, without the dim.
  SplitNode(const char* name, const TensorPtr& input, int dim, bool drops_dim,
            std::vector<Dims> shapes);

  const char* name() const override { return name_; }
  Maybe<void> Apply(const TensorTuple& dys, TensorTuple* dxs) override;

 private:
  const char* const name_;
  const int dim_;
  const bool drops_dim_;
  const std::vector<Dims> shapes_;
  const DataType dtype_;
  const Device device_;
};

// Gives the pieces their history, where `input` has one. REQUIRES that they were made without.
void SetSplitHistory(const char* name, const TensorPtr& input, int dim, bool drops_dim,
                     const TensorTuple& pieces);

}  // namespace oneflow

#endif  // ONEFLOW_FUNCTIONAL_SPLIT_NODE_H_
