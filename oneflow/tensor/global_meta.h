// GlobalMeta: where a global tensor lies. A local tensor has none.
//
// A tensor's own storage and shape are this rank's part of it; with the one rank that a process knows
// today, the part is the whole.
// Source: Yuan et al., "OneFlow: Redesign the Distributed Deep Learning Framework from Scratch",
// arXiv:2110.15032, section 3.
//
// Thread safety: immutable, shared by tensors.
#ifndef ONEFLOW_TENSOR_GLOBAL_META_H_
#define ONEFLOW_TENSOR_GLOBAL_META_H_

#include <memory>
#include <vector>

#include "oneflow/core/placement.h"
#include "oneflow/core/sbp.h"

namespace oneflow {

struct GlobalMeta {
  Placement placement;
  std::vector<Sbp> sbps;  // one for each dim of the placement's grid
};

using GlobalMetaPtr = std::shared_ptr<const GlobalMeta>;

}  // namespace oneflow

#endif  // ONEFLOW_TENSOR_GLOBAL_META_H_
