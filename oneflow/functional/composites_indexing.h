// The ops that read and write where indices say, as composites; and what Python's indexing is made of.
//
// Thread safety: as functional calls. Blocking: those marked so wait for a value of the device's; they
// release the host's lock meanwhile and look at signals.
#ifndef ONEFLOW_FUNCTIONAL_COMPOSITES_INDEXING_H_
#define ONEFLOW_FUNCTIONAL_COMPOSITES_INDEXING_H_

#include <optional>
#include <string>
#include <vector>

#include "oneflow/common/maybe.h"
#include "oneflow/functional/call_types.h"
#include "oneflow/kernels/attr_types.h"
#include "oneflow/kernels/attrs_indexing.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow::functional {

// The value of an int64 tensor of one element. Blocking. The one way in which an op (marked `syncs` in
// the table) learns a shape from data.
Maybe<int64_t> ReadInt(const TensorPtr& tensor);

// Attributes of as_strided_view.
Maybe<IntList> ShapeOf(const char* op, const TensorPtr& input);
Maybe<IntList> StridesOf(const char* op, const TensorPtr& input);
Maybe<int64_t> OffsetOf(const char* op, const TensorPtr& input);

// The elements of `dy` (of the shape of `base`) that lie where `view`, a view of base, has its own.
Maybe<TensorPtr> TakeView(const TensorPtr& dy, const TensorMeta& base, const TensorMeta& view);
// A copy of dy with `part` in their place.
Maybe<TensorPtr> PutView(const TensorPtr& dy, const TensorPtr& part, const TensorMeta& base,
                         const TensorMeta& view);

// Indices for some dims of a tensor, the others null: integers, and masks (bool or uint8), each for as
// many dims as it has. They broadcast together. Blocking where there is a mask.
// Reading: the dims that indices make stand where the indexed ones stood, or in front if those were no
// neighbours.
Maybe<TensorPtr> IndexWith(const TensorPtr& input, const TensorTuple& indices, IndexCaller caller);
// Writing: `values` broadcasts to what reading would give, and is cast to input's dtype.
Maybe<void> PutWith(const TensorPtr& input, const TensorTuple& indices, const TensorPtr& values,
                    bool accumulate, IndexCaller caller);

}  // namespace oneflow::functional

namespace oneflow::functional::composites {

using OptString = std::optional<std::string>;

Maybe<TensorChoice> Nonzero(const TensorPtr& input, bool as_tuple);            // blocking
Maybe<TensorTuple> WhereIndices(const TensorPtr& condition);                   // blocking
Maybe<TensorPtr> Argwhere(const TensorPtr& input, DataType dtype);             // blocking
Maybe<TensorPtr> MaskedSelect(const TensorPtr& input, const TensorPtr& mask);  // blocking
Maybe<TensorPtr> MaskedTakeLike(const TensorPtr& dy, const TensorPtr& mask, const Dims& like);

Maybe<TensorPtr> AsStrided(const TensorPtr& input, const Dims& size, const Dims& stride,
                           int64_t storage_offset);
Maybe<TensorPtr> AsStridedAgain(const TensorPtr& dy, const Dims& size, const Dims& stride,
                                int64_t offset, const Dims& input_shape, const Dims& input_stride,
                                int64_t input_offset);

Maybe<TensorPtr> IndexAtPutInputGrad(const TensorPtr& dy, const TensorTuple& indices, int64_t dim,
                                     bool accumulate, int64_t caller);
Maybe<TensorPtr> GatherBackward(const TensorPtr& dy, const TensorPtr& index, const Dims& shape,
                                int64_t dim);
Maybe<TensorPtr> ScatterInputGrad(const TensorPtr& dy, const TensorPtr& index, int64_t dim,
                                  int64_t mode);
Maybe<TensorPtr> ScatterSrcGrad(const TensorPtr& dy, const TensorPtr& index, int64_t dim,
                                int64_t mode, const Dims& shape);

Maybe<TensorPtr> AxisGather(const TensorPtr& x, const TensorPtr& indices, int64_t axis);
Maybe<TensorPtr> BatchGather(const TensorPtr& in, const TensorPtr& indices);
Maybe<TensorPtr> GatherNd(const TensorPtr& input, const TensorPtr& indices);
Maybe<TensorPtr> ScatterNd(const TensorPtr& indices, const TensorPtr& updates, const Dims& shape);
Maybe<TensorPtr> ScatterNdLike(const TensorPtr& like, const TensorPtr& updates,
                               const TensorPtr& indices);
Maybe<TensorPtr> TensorScatterNdUpdate(const TensorPtr& tensor, const TensorPtr& indices,
                                       const TensorPtr& updates, bool inplace);
Maybe<TensorPtr> Scatter(const TensorPtr& input, int64_t dim, const TensorPtr& index,
                         const TensorPtr& src, const OptString& reduce);
Maybe<TensorPtr> ScatterScalar(const TensorPtr& input, int64_t dim, const TensorPtr& index,
                               Scalar src, const OptString& reduce);
Maybe<TensorPtr> ScatterInto(const TensorPtr& input, int64_t dim, const TensorPtr& index,
                             const TensorPtr& src, const OptString& reduce);
Maybe<TensorPtr> ScatterScalarInto(const TensorPtr& input, int64_t dim, const TensorPtr& index,
                                   Scalar src, const OptString& reduce);
Maybe<TensorPtr> ScatterAdd(const TensorPtr& input, int64_t dim, const TensorPtr& index,
                            const TensorPtr& src);
Maybe<TensorPtr> ScatterAddInto(const TensorPtr& input, int64_t dim, const TensorPtr& index,
                                const TensorPtr& src);
Maybe<TensorPtr> IndexSelect(const TensorPtr& input, int64_t dim, const TensorPtr& index);
Maybe<TensorPtr> IndexAdd(const TensorPtr& input, int64_t dim, const TensorPtr& index,
                          const TensorPtr& source, Scalar alpha);
Maybe<TensorPtr> IndexAddInto(const TensorPtr& input, int64_t dim, const TensorPtr& index,
                              const TensorPtr& source, Scalar alpha);
Maybe<TensorPtr> IndexFill(const TensorPtr& input, int64_t dim, const TensorPtr& index,
                           Scalar value);
Maybe<TensorPtr> IndexFillInto(const TensorPtr& input, int64_t dim, const TensorPtr& index,
                               Scalar value);
Maybe<TensorPtr> IndexCopy(const TensorPtr& input, int64_t dim, const TensorPtr& index,
                           const TensorPtr& source);
Maybe<TensorPtr> IndexCopyInto(const TensorPtr& input, int64_t dim, const TensorPtr& index,
                               const TensorPtr& source);
Maybe<TensorPtr> IndexPut(const TensorPtr& input, const TensorTuple& indices,
                          const TensorPtr& values, bool accumulate);
Maybe<TensorPtr> IndexPutInto(const TensorPtr& input, const TensorTuple& indices,
                              const TensorPtr& values, bool accumulate);
Maybe<TensorPtr> Take(const TensorPtr& input, const TensorPtr& index);
Maybe<TensorPtr> UnsortedSegmentSum(const TensorPtr& x, const TensorPtr& segment_ids, int64_t axis,
                                    int64_t num_segments);
Maybe<TensorPtr> SliceSteps(const TensorPtr& x, const Dims& start, const Dims& stop,
                            const Dims& step, std::optional<bool> enable_view_slice);
Maybe<TensorPtr> SliceUpdate(const TensorPtr& ref, const TensorPtr& value, const Dims& start,
                             const Dims& stop, const Dims& step, bool inplace);

}  // namespace oneflow::functional::composites

#endif  // ONEFLOW_FUNCTIONAL_COMPOSITES_INDEXING_H_
