#include "oneflow/functional/split_node.h"

#include <utility>

#include "oneflow/autograd/grad_mode.h"
#include "oneflow/functional/generated/functional.h"

namespace oneflow {

SplitNode::SplitNode(const char* name, const TensorPtr& input, int dim, bool drops_dim,
                     std::vector<Dims> shapes)
    : Node(static_cast<int>(shapes.size())),
      name_(name),
      dim_(dim),
      drops_dim_(drops_dim),
      shapes_(std::move(shapes)),
      dtype_(input->dtype()),
      device_(input->device()) {
  AddEdge(GradientEdge(input));
}

Maybe<void> SplitNode::Apply(const TensorTuple& dys, TensorTuple* dxs) {
  TensorTuple pieces = dys;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i] == nullptr) { pieces[i] = JUST(functional::zeros(shapes_[i], dtype_, device_)); }
  }
  (*dxs)[0] =
      drops_dim_ ? JUST(functional::stack(pieces, dim_)) : JUST(functional::cat(pieces, dim_));
  return Ok();
}

void SetSplitHistory(const char* name, const TensorPtr& input, int dim, bool drops_dim,
                     const TensorTuple& pieces) {
  if (!GradModeEnabled() || !input->requires_grad() || pieces.empty()) { return; }
  std::vector<Dims> shapes;
  for (const TensorPtr& piece : pieces) { shapes.push_back(piece->shape()); }
  const NodePtr node = MakeIntrusive<SplitNode>(name, input, dim, drops_dim, std::move(shapes));
  for (size_t i = 0; i < pieces.size(); ++i) { SetHistory(pieces[i], node, static_cast<int>(i)); }
}

}  // namespace oneflow
