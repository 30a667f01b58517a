// gather, scatter and their kin.
#include <algorithm>
#include <utility>

#include "oneflow/functional/attr_helpers.h"
#include "oneflow/functional/composites.h"
#include "oneflow/functional/composites_indexing.h"
#include "oneflow/functional/dispatch.h"
#include "oneflow/functional/generated/functional.h"

namespace oneflow::functional::composites {

namespace {

constexpr auto kAssign = static_cast<int64_t>(ScatterMode::kAssign);
constexpr auto kAdd = static_cast<int64_t>(ScatterMode::kAdd);

Maybe<int64_t> ModeOf(const OptString& reduce) {
  if (!reduce.has_value()) { return kAssign; }
  if (*reduce == "add") { return kAdd; }
  if (*reduce == "multiply" || *reduce == "mul") {
    return static_cast<int64_t>(ScatterMode::kMultiply);
  }
  return ValueError("[scatter] expects reduce to be None, 'add' or 'multiply', got '{}'", *reduce);
}

Maybe<TensorPtr> ScatterTo(const TensorPtr& target, int64_t dim, const TensorPtr& index,
                           const TensorPtr& src, int64_t mode, IndexCaller caller) {
  const auto number = static_cast<int64_t>(caller);
  const int64_t wrapped = JUST(WrapInputDim(NameOf(number), target, dim));
  return scatter_into_(target, index, src, wrapped, mode, number);
}

Maybe<TensorPtr> NumberLike(const TensorPtr& input, Scalar value, const Dims& shape) {
  return expand(JUST(full(Dims(), value, input->dtype(), input->device())), shape);
}

// index_at_put_ for one dim: the index has at most one dim, the source one entry for each index.
Maybe<TensorPtr> PutAlong(const TensorPtr& target, int64_t dim, const TensorPtr& index,
                          const TensorPtr& source, bool accumulate, IndexCaller caller) {
  const auto number = static_cast<int64_t>(caller);
  if (index->ndim() > 1) {
    return IndexError("[{}] expects an index of one dim, got shape {}", NameOf(number),
                      index->shape());
  }
  const TensorPtr flat = index->ndim() == 1 ? index : JUST(reshape(index, Dims{1}));
  const bool is_number = target->ndim() == 0;
  const TensorPtr whole = is_number ? JUST(view(target, Dims{1})) : target;
  const TensorPtr values =
      source->ndim() == 0 && whole->ndim() == 1 ? JUST(reshape(source, Dims{1})) : source;
  const int64_t wrapped = JUST(WrapInputDim(NameOf(number), whole, dim));
  JUST(index_at_put_(whole, values, {flat}, wrapped, accumulate, number));
  return target;
}

// The shape of what PutAlong takes, for a value that is repeated.
Maybe<Dims> AlongShape(const char* op, const TensorPtr& input, int64_t dim,
                       const TensorPtr& index) {
  Dims shape = input->ndim() == 0 ? Dims{1} : input->shape();
  shape[static_cast<int>(JUST(WrapInputDim(op, input, dim)))] = index->Count();
  return shape;
}

// indices[..., j] for each j.
Maybe<TensorTuple> ColumnsOf(const char* op, const TensorPtr& indices, int at_most) {
  if (indices->ndim() == 0 || indices->shape().back() > at_most || indices->shape().back() < 1) {
    return IndexError("[{}] expects indices whose last dim has 1 to {} entries, got shape {}", op,
                      at_most, indices->shape());
  }
  TensorTuple columns;
  for (int64_t j = 0; j < indices->shape().back(); ++j) {
    columns.push_back(JUST(select(indices, -1, j)));
  }
  return columns;
}

Maybe<TensorPtr> PutColumns(const TensorPtr& target, const TensorPtr& indices,
                            const TensorPtr& updates, bool accumulate, IndexCaller caller) {
  const auto number = static_cast<int64_t>(caller);
  const TensorTuple columns = JUST(ColumnsOf(NameOf(number), indices, target->ndim()));
  return index_at_put_(target, updates, columns, 0, accumulate, number);
}

}  // namespace

// ---- along one dim -------------------------------------------------------------------------------

Maybe<TensorPtr> GatherBackward(const TensorPtr& dy, const TensorPtr& index, const Dims& shape,
                                int64_t dim) {
  const TensorPtr dx = JUST(zeros(shape, dy->dtype(), dy->device()));
  return ScatterTo(dx, dim, index, dy, kAdd, IndexCaller::kGather);
}

Maybe<TensorPtr> ScatterInputGrad(const TensorPtr& dy, const TensorPtr& index, int64_t dim,
                                  int64_t mode) {
  if (mode == kAdd) { return dy; }
  if (mode != kAssign) { return RuntimeError("[scatter] with reduce='multiply' has no gradient"); }
  const TensorPtr zero = JUST(NumberLike(dy, Scalar(0), index->shape()));
  const FreshTargets fresh;
  return ScatterTo(JUST(copy(dy)), dim, index, zero, kAssign, IndexCaller::kScatter);
}

Maybe<TensorPtr> ScatterSrcGrad(const TensorPtr& dy, const TensorPtr& index, int64_t dim,
                                int64_t mode, const Dims& shape) {
  if (mode != kAdd && mode != kAssign) {
    return RuntimeError("[scatter] with reduce='multiply' has no gradient");
  }
  const TensorPtr taken = JUST(gather(dy, dim, index));
  if (index->shape() == shape) { return taken; }
  const TensorPtr dx = JUST(zeros(shape, dy->dtype(), dy->device()));
  TensorPtr part = dx;
  for (int d = 0; d < index->ndim(); ++d) { part = JUST(narrow(part, d, 0, index->shape()[d])); }
  JUST(copy_(part, taken));
  return dx;
}

Maybe<TensorPtr> Scatter(const TensorPtr& input, int64_t dim, const TensorPtr& index,
                         const TensorPtr& src, const OptString& reduce) {
  const FreshTargets fresh;
  return ScatterInto(JUST(copy(input)), dim, index, src, reduce);
}

Maybe<TensorPtr> ScatterScalar(const TensorPtr& input, int64_t dim, const TensorPtr& index,
                               Scalar src, const OptString& reduce) {
  const FreshTargets fresh;
  return ScatterScalarInto(JUST(copy(input)), dim, index, src, reduce);
}

Maybe<TensorPtr> ScatterInto(const TensorPtr& input, int64_t dim, const TensorPtr& index,
                             const TensorPtr& src, const OptString& reduce) {
  return ScatterTo(input, dim, index, src, JUST(ModeOf(reduce)), IndexCaller::kScatter);
}

Maybe<TensorPtr> ScatterScalarInto(const TensorPtr& input, int64_t dim, const TensorPtr& index,
                                   Scalar src, const OptString& reduce) {
  const TensorPtr values = JUST(NumberLike(input, src, index->shape()));
  return ScatterInto(input, dim, index, values, reduce);
}

Maybe<TensorPtr> ScatterAdd(const TensorPtr& input, int64_t dim, const TensorPtr& index,
                            const TensorPtr& src) {
  const FreshTargets fresh;
  return ScatterAddInto(JUST(copy(input)), dim, index, src);
}

Maybe<TensorPtr> ScatterAddInto(const TensorPtr& input, int64_t dim, const TensorPtr& index,
                                const TensorPtr& src) {
  return ScatterTo(input, dim, index, src, kAdd, IndexCaller::kScatterAdd);
}

// ---- rows along one dim --------------------------------------------------------------------------

Maybe<TensorPtr> IndexSelect(const TensorPtr& input, int64_t dim, const TensorPtr& index) {
  if (index->ndim() > 1) {
    return IndexError("[index_select] expects an index of one dim, got shape {}", index->shape());
  }
  const int64_t wrapped = JUST(WrapSliceDim("index_select", input, dim));
  const TensorPtr flat = index->ndim() == 1 ? index : JUST(reshape(index, Dims{1}));
  return index_at(input, {flat}, wrapped, static_cast<int64_t>(IndexCaller::kIndexSelect));
}

Maybe<TensorPtr> IndexAdd(const TensorPtr& input, int64_t dim, const TensorPtr& index,
                          const TensorPtr& source, Scalar alpha) {
  const FreshTargets fresh;
  return IndexAddInto(JUST(copy(input)), dim, index, source, alpha);
}

Maybe<TensorPtr> IndexAddInto(const TensorPtr& input, int64_t dim, const TensorPtr& index,
                              const TensorPtr& source, Scalar alpha) {
  const bool plain = alpha.To<double>() == 1.0;
  const TensorPtr values = plain ? source : JUST(scalar_mul(source, alpha));
  return PutAlong(input, dim, index, values, true, IndexCaller::kIndexAdd);
}

Maybe<TensorPtr> IndexFill(const TensorPtr& input, int64_t dim, const TensorPtr& index,
                           Scalar value) {
  const FreshTargets fresh;
  return IndexFillInto(JUST(copy(input)), dim, index, value);
}

Maybe<TensorPtr> IndexFillInto(const TensorPtr& input, int64_t dim, const TensorPtr& index,
                               Scalar value) {
  const Dims shape = JUST(AlongShape("index_fill", input, dim, index));
  const TensorPtr values = JUST(NumberLike(input, value, shape));
  return PutAlong(input, dim, index, values, false, IndexCaller::kIndexFill);
}

Maybe<TensorPtr> IndexCopy(const TensorPtr& input, int64_t dim, const TensorPtr& index,
                           const TensorPtr& source) {
  const FreshTargets fresh;
  return IndexCopyInto(JUST(copy(input)), dim, index, source);
}

Maybe<TensorPtr> IndexCopyInto(const TensorPtr& input, int64_t dim, const TensorPtr& index,
                               const TensorPtr& source) {
  return PutAlong(input, dim, index, source, false, IndexCaller::kIndexCopy);
}

Maybe<TensorPtr> UnsortedSegmentSum(const TensorPtr& x, const TensorPtr& segment_ids, int64_t axis,
                                    int64_t num_segments) {
  const int dim = static_cast<int>(JUST(WrapSliceDim("unsorted_segment_sum", x, axis)));
  if (num_segments < 0 || dim + segment_ids->ndim() > x->ndim()) {
    return RuntimeError(
        "[unsorted_segment_sum] expects segment_ids for dims of {} from {} on, and a "
        "number of segments, got shape {} and {}",
        x->shape(), dim, segment_ids->shape(), num_segments);
  }
  Dims shape;
  for (int d = 0; d < dim; ++d) { shape.PushBack(x->shape()[d]); }
  shape.PushBack(num_segments);
  for (int d = dim + segment_ids->ndim(); d < x->ndim(); ++d) { shape.PushBack(x->shape()[d]); }
  const TensorPtr out = JUST(zeros(shape, x->dtype(), x->device()));
  const FreshTargets fresh;
  return index_at_put_(out, x, {segment_ids}, dim, true,
                       static_cast<int64_t>(IndexCaller::kSegmentSum));
}

Maybe<TensorPtr> Take(const TensorPtr& input, const TensorPtr& index) {
  return index_at(JUST(reshape(input, Dims{-1})), {index}, 0,
                  static_cast<int64_t>(IndexCaller::kTake));
}

// ---- indices of several dims -----------------------------------------------------------------------

Maybe<TensorPtr> AxisGather(const TensorPtr& x, const TensorPtr& indices, int64_t axis) {
  const int64_t dim = JUST(WrapSliceDim("gather", x, axis));
  return index_at(x, {indices}, dim, static_cast<int64_t>(IndexCaller::kGather));
}

Maybe<TensorPtr> BatchGather(const TensorPtr& in, const TensorPtr& indices) {
  const int batch_dims = indices->ndim() - 1;
  bool fits = batch_dims >= 0 && in->ndim() > batch_dims;
  int64_t batches = 1;
  for (int d = 0; fits && d < batch_dims; ++d) {
    fits = in->shape()[d] == indices->shape()[d];
    batches *= in->shape()[d];
  }
  if (!fits) {
    return RuntimeError("[batch_gather] expects indices whose dims but the last are the first dims "
                        "of the input {}, got {}",
                        in->shape(), indices->shape());
  }
  Dims flat{batches};
  Dims shape = indices->shape();
  for (int d = batch_dims; d < in->ndim(); ++d) { flat.PushBack(in->shape()[d]); }
  for (int d = batch_dims + 1; d < in->ndim(); ++d) { shape.PushBack(in->shape()[d]); }
  const Dims each{batches, indices->shape().back()};
  const TensorPtr rows =
      JUST(arange(Scalar(0), Scalar(batches), Scalar(1), DataType::kInt64, in->device()));
  const TensorPtr row = JUST(expand(JUST(view(rows, Dims{batches, 1})), each));
  const TensorPtr taken =
      JUST(index_at(JUST(reshape(in, flat)), {row, JUST(reshape(indices, each))}, 0,
                    static_cast<int64_t>(IndexCaller::kBatchGather)));
  return reshape(taken, shape);
}

Maybe<TensorPtr> GatherNd(const TensorPtr& input, const TensorPtr& indices) {
  const TensorTuple columns = JUST(ColumnsOf("gather_nd", indices, input->ndim()));
  return index_at(input, columns, 0, static_cast<int64_t>(IndexCaller::kGatherNd));
}

Maybe<TensorPtr> ScatterNd(const TensorPtr& indices, const TensorPtr& updates, const Dims& shape) {
  const TensorPtr out = JUST(zeros(shape, updates->dtype(), updates->device()));
  const FreshTargets fresh;
  return PutColumns(out, indices, updates, true, IndexCaller::kScatterNd);
}

Maybe<TensorPtr> ScatterNdLike(const TensorPtr& like, const TensorPtr& updates,
                               const TensorPtr& indices) {
  return ScatterNd(indices, updates, like->shape());
}

Maybe<TensorPtr> TensorScatterNdUpdate(const TensorPtr& tensor, const TensorPtr& indices,
                                       const TensorPtr& updates, bool inplace) {
  if (inplace) {
    return PutColumns(tensor, indices, updates, false, IndexCaller::kTensorScatterNdUpdate);
  }
  const FreshTargets fresh;
  return PutColumns(JUST(copy(tensor)), indices, updates, false,
                    IndexCaller::kTensorScatterNdUpdate);
}

Maybe<TensorPtr> IndexPut(const TensorPtr& input, const TensorTuple& indices,
                          const TensorPtr& values, bool accumulate) {
  const FreshTargets fresh;
  return IndexPutInto(JUST(copy(input)), indices, values, accumulate);
}

Maybe<TensorPtr> IndexPutInto(const TensorPtr& input, const TensorTuple& indices,
                              const TensorPtr& values, bool accumulate) {
  if (indices.empty()) { return IndexError("[index_put_] expects at least one index, got none"); }
  if (values->dtype() != input->dtype()) {
    return RuntimeError("[index_put_] expects values of input's dtype {}, got {}",
                        DataTypeName(input->dtype()), DataTypeName(values->dtype()));
  }
  JUST(PutWith(input, indices, values, accumulate, IndexCaller::kIndexPut));
  return input;
}

}  // namespace oneflow::functional::composites
