// Hands the lower layers the few ops that they need: the tape adds gradients up, the dispatcher
// casts. Runs during static initialisation; linked whole.
#include "oneflow/autograd/node.h"
#include "oneflow/functional/dispatch.h"
#include "oneflow/functional/generated/functional.h"

namespace oneflow::functional {

namespace {

Maybe<TensorPtr> AddGradients(const TensorPtr& a, const TensorPtr& b) { return add(a, b); }

Maybe<void> AddInPlace(const TensorPtr& target, const TensorPtr& b) {
  JUST(accumulate_grad_(target, b));
  return Ok();
}

Maybe<TensorPtr> OnesOf(const TensorPtr& t) { return ones_like(t); }

const bool registered = [] {
  SetCast(&cast);
  SetGradientOps(GradientOps{&AddGradients, &AddInPlace, &copy, &OnesOf});
  return true;
}();

}  // namespace

}  // namespace oneflow::functional
