// Hands the lower layers the few ops that they need: the tape adds gradients up, the dispatcher
// casts. Runs during static initialisation; linked whole.
#include <cstring>

#include "oneflow/autograd/node.h"
#include "oneflow/functional/composites_indexing.h"
#include "oneflow/functional/dispatch.h"
#include "oneflow/functional/generated/functional.h"
#include "oneflow/functional/generated/functional_ops.h"
#include "oneflow/functional/graph_trace.h"
#include "oneflow/functional/view_change_node.h"
#include "oneflow/vm/vm.h"

namespace oneflow::functional {

namespace {

Maybe<TensorPtr> AddGradients(const TensorPtr& a, const TensorPtr& b) { return add(a, b); }

Maybe<void> AddInto(const TensorPtr& sum, const TensorPtr& b) {
  const FreshTargets fresh;
  JUST(add_(sum, b));
  return Ok();
}

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

NodePtr ViewNode(const TensorPtr& base, const TensorMeta& view) {
  AsStridedAttrs attrs;
  attrs.size = IntList(view.shape);
  attrs.stride = IntList(view.strides);
  attrs.offset = view.offset;
  attrs.input_shape = IntList(base->shape());
  attrs.input_stride = IntList(base->strides());
  attrs.input_offset = base->meta().offset;
  return MakeIntrusive<OpNode>(&kAsStridedViewOp, &base, 1, &attrs);
}

Maybe<TensorPtr> PutPart(const TensorPtr& dy, const TensorPtr& part, const TensorMeta& base,
                         const TensorMeta& view) {
  if (part != nullptr) { return PutView(dy, part, base, view); }
  return PutView(dy, JUST(zeros(Dims(), dy->dtype(), dy->device())), base, view);
}

const bool registered = [] {
  SetCast(&cast);
  GraphTrace::SetCopyOp(kCopyOp.def);
  SetViewOps(ViewOps{&TakeView, &PutPart});
  SetGradientOps(
      GradientOps{&ViewNode, &AddGradients, &AddInto, &AddInPlace, &copy, &OnesOf, &cast, &HasNan});
  return true;
}();

}  // namespace

}  // namespace oneflow::functional
