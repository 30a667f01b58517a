#include "oneflow/kernels/attrs_indexing.h"

namespace oneflow {

const char* NameOf(int64_t caller) {
  switch (static_cast<IndexCaller>(caller)) {
    case IndexCaller::kGetitem: return "getitem";
    case IndexCaller::kSetitem: return "setitem";
    case IndexCaller::kIndexSelect: return "index_select";
    case IndexCaller::kIndexAdd: return "index_add";
    case IndexCaller::kTake: return "take";
    case IndexCaller::kGather: return "gather";
    case IndexCaller::kScatter: return "scatter";
    case IndexCaller::kScatterAdd: return "scatter_add";
    case IndexCaller::kGatherNd: return "gather_nd";
    case IndexCaller::kScatterNd: return "scatter_nd";
    case IndexCaller::kBatchGather: return "batch_gather";
    case IndexCaller::kSegmentSum: return "unsorted_segment_sum";
    case IndexCaller::kIndexPut: return "index_put_";
    case IndexCaller::kIndexFill: return "index_fill";
    case IndexCaller::kMaskedSelect: return "masked_select";
    case IndexCaller::kNonzero: return "nonzero";
    case IndexCaller::kIndexCopy: return "index_copy";
    case IndexCaller::kTensorScatterNdUpdate: return "tensor_scatter_nd_update";
  }
  return "index";
}

bool WrapsNegative(int64_t caller) {
  switch (static_cast<IndexCaller>(caller)) {
    case IndexCaller::kGetitem:
    case IndexCaller::kSetitem:
    case IndexCaller::kTake:
    case IndexCaller::kIndexPut: return true;
    default: return false;
  }
}

}  // namespace oneflow
