// Hands the lower layers the few ops that they need: the tape adds gradients up, the dispatcher
// casts. Runs during static initialisation; linked whole.
#include <cstring>

#include "oneflow/autograd/node.h"
#include "oneflow/functional/dispatch.h"
#include "oneflow/functional/generated/functional.h"
#include "oneflow/vm/vm.h"

namespace oneflow::functional {

namespace {

Maybe<TensorPtr> AddGradients(const TensorPtr& a, const TensorPtr& b) { return add(a, b); }

Maybe<void> AddInPlace(const TensorPtr& target, const TensorPtr& b) {
  JUST(accumulate_grad_(target, b));
  return Ok();
}

Maybe<TensorPtr> OnesOf(const TensorPtr& t) { return ones_like(t); }

// NaN alone is not equal to itself.
Maybe<bool> HasNan(const TensorPtr& t) {
  const TensorPtr same = JUST(eq(t, t));
  const TensorPtr count = JUST(sum(same, std::nullopt, false, DataType::kInt64));
  JUST(Vm::Get()->SyncRead(count->storage()));
  int64_t value = 0;
  std::memcpy(&value, count->data(), sizeof(value));
  return value != t->Count();
}

const bool registered = [] {
  SetCast(&cast);
  SetGradientOps(GradientOps{&AddGradients, &AddInPlace, &copy, &OnesOf, &HasNan});
  return true;
}();

}  // namespace

}  // namespace oneflow::functional
