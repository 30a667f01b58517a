// What the results of ops on global tensors are: global, with an sbp that follows from the operands'.
//
// Each op has a rule that lists the ways in which its operands may lie over ranks (op_def.h, SbpFn). For
// each dim of the placement's grid the way is taken that changes the fewest operands, the first of
// them where several do. With one rank no operand has to move for that.
// Source: Yuan et al., "OneFlow: Redesign the Distributed Deep Learning Framework from Scratch",
// arXiv:2110.15032, section 3.2.
//
// Thread safety: callable from any thread; blocks on nothing.
#ifndef ONEFLOW_FUNCTIONAL_GLOBAL_RESULTS_H_
#define ONEFLOW_FUNCTIONAL_GLOBAL_RESULTS_H_

#include "oneflow/op/op_def.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow {

// Marks `def.num_outputs` results. REQUIRES that an operand is global; local ones count as broadcast.
// RuntimeError if two operands lie on different ranks; of two grids of the same ranks, the first
// operand's is the results'.
Maybe<void> MakeResultsGlobal(const OpDef& def, const TensorPtr* inputs, int num_inputs,
                              const void* attrs, const TensorPtr* outputs);

// A result that was made of a global operand's shape alone (zeros_like): it lies as `like` does if it
// has its shape, else each rank has all of it.
void MakeGlobalLike(const TensorPtr& result, const Tensor& like);

// How what ops without operands make on this thread lies; nullptr for local tensors. A result that lacks
// the dim to split is broadcast.
const GlobalMetaPtr& SourceGlobal();
void SetSourceGlobal(GlobalMetaPtr global);
void MarkSource(const TensorPtr& result);

}  // namespace oneflow

#endif  // ONEFLOW_FUNCTIONAL_GLOBAL_RESULTS_H_
