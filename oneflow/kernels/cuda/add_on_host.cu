#include "oneflow/kernels/cuda/add_on_host.h"

#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/cuda/add.cuh"
#include "oneflow/kernels/cuda/elementwise.cuh"

namespace oneflow {
namespace cuda {

Maybe<void> AddOnHost(const KernelCall& call) {
  const ArrayView* operands[] = {&call.outputs[0], &call.inputs[0], &call.inputs[1]};
  const StridedPlan plan = MakeStridedPlan(operands, 3);
  const auto& attrs = call.GetAttrs<AddAttrs>();
  return WithAdd(call.inputs[0].dtype, attrs.alpha, [&](auto op, auto zero) -> Maybe<void> {
    using T = decltype(zero);
    for (int64_t i = 0; i < plan.total; ++i) {
      const ElementOffsets at = OffsetsAt<uint64_t>(plan, static_cast<uint64_t>(i));
      operands[0]->Data<T>()[at.of[0]] =
          op(operands[1]->Data<T>()[at.of[1]], operands[2]->Data<T>()[at.of[2]]);
    }
    return Ok();
  });
}

}  // namespace cuda
}  // namespace oneflow
