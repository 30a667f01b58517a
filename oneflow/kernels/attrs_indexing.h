// Attributes of the ops that read and write where indices say.
//
// Thread safety: plain values, copied by memcpy.
#ifndef ONEFLOW_KERNELS_ATTRS_INDEXING_H_
#define ONEFLOW_KERNELS_ATTRS_INDEXING_H_

#include <cstdint>
#include <type_traits>

#include "oneflow/kernels/attr_types.h"

namespace oneflow {

// Who asked: the name that errors begin with, since the kernel may run long after the call.
enum class IndexCaller : int64_t {
  kGetitem,
  kSetitem,
  kIndexSelect,
  kIndexAdd,
  kTake,
  kGather,
  kScatter,
  kScatterAdd,
  kGatherNd,
  kScatterNd,
  kBatchGather,
  kSegmentSum,
  kIndexPut,
  kIndexFill,
  kMaskedSelect,
  kNonzero,
  kIndexCopy,
  kTensorScatterNdUpdate,
};
// In attributes as a number.
const char* NameOf(int64_t caller);
// These count an index of -1 from the end, as Python does; for the others it is out of range.
bool WrapsNegative(int64_t caller);

// index_at: a list of index tensors of one shape B, for the dims `dim`, `dim` + 1, ... of the input.
struct IndexAtAttrs {
  int64_t dim = 0;
  int64_t caller = 0;
  bool accumulate = false;  // in index_at_put_: adds
};

// As IndexAtAttrs; the shape of the result comes last.
struct IndexAtBackwardAttrs {
  IndexAtAttrs kernel;
  IntList shape;
};

struct GatherAttrs {
  int64_t dim = 0;
  int64_t caller = 0;
};

enum class ScatterMode : int64_t { kAssign, kAdd, kMultiply };
struct ScatterAttrs {
  int64_t dim = 0;
  int64_t mode = 0;  // a ScatterMode
  int64_t caller = 0;
};

// How many elements are true, counted before.
struct CountAttrs {
  int64_t count = 0;
};

// A view's place in a storage, and that of the tensor that it was made of.
struct AsStridedAttrs {
  IntList size;
  IntList stride;
  int64_t offset = 0;
  IntList input_shape;
  IntList input_stride;
  int64_t input_offset = 0;
};

static_assert(std::is_trivially_copyable_v<IndexAtAttrs> &&
                  std::is_trivially_copyable_v<IndexAtBackwardAttrs> &&
                  std::is_trivially_copyable_v<GatherAttrs> &&
                  std::is_trivially_copyable_v<ScatterAttrs> &&
                  std::is_trivially_copyable_v<CountAttrs> &&
                  std::is_trivially_copyable_v<AsStridedAttrs>,
              "an instruction copies attributes by memcpy");

}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_ATTRS_INDEXING_H_
