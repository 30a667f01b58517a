#include "oneflow/functional/composites_indexing.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "oneflow/functional/attr_helpers.h"
#include "oneflow/functional/composites.h"
#include "oneflow/functional/generated/functional.h"
#include "oneflow/vm/vm.h"

namespace oneflow::functional {

Maybe<int64_t> ReadInt(const TensorPtr& tensor) {
  CHECK_OR_RETURN(tensor->dtype() == DataType::kInt64 && tensor->Count() == 1);
  if (const ErrorPtr why = tensor->storage()->traced() ? tensor->storage()->poison() : nullptr) {
    return RuntimeError("{}; the shape of the result depends on data, a graph's may not",
                        why->message());
  }
  JUST(Vm::Get()->SyncRead(tensor->storage()));
  int64_t value = 0;
  std::memcpy(&value, tensor->data(), sizeof(value));
  return value;
}

namespace {

bool IsMask(const TensorPtr& index) {
  return index->dtype() == DataType::kBool || index->dtype() == DataType::kUInt8;
}

Maybe<int64_t> CountTrue(const TensorPtr& dense) { return ReadInt(JUST(nonzero_count(dense))); }

// (count, ndim).
Maybe<TensorPtr> RowsOf(const TensorPtr& input) {
  const TensorPtr dense = JUST(contiguous(input));
  return nonzero_rows(dense, JUST(CountTrue(dense)));
}

// The elements of input where mask, of the same shape, is true.
Maybe<TensorPtr> TakeMasked(const TensorPtr& input, const TensorPtr& mask) {
  const TensorPtr dense = JUST(contiguous(mask));
  const int64_t count = JUST(CountTrue(dense));
  return masked_take(JUST(contiguous(input)), dense, count);
}

// Integer indices for the dims of a tensor: null where there is none.
struct Prepared {
  TensorPtr input;      // its indexed dims next to each other, from `dim` on
  TensorTuple indices;  // of one shape
  int dim = 0;
};

// Appends the index for dim `dim`, or for as many dims as a mask has.
Maybe<void> AppendIndex(const TensorPtr& input, const TensorPtr& index, IndexCaller caller,
                        TensorTuple* out) {
  const char* op = NameOf(static_cast<int64_t>(caller));
  if (!IsMask(index)) {
    if (!IsIntegral(index->dtype())) {
      return IndexError("[{}] expects indices that are integers or bools, got dtype {}", op,
                        DataTypeName(index->dtype()));
    }
    const bool fits = index->dtype() == DataType::kInt64 || index->dtype() == DataType::kInt32;
    out->push_back(fits ? index : JUST(cast(index, DataType::kInt64)));
    return Ok();
  }
  const int dim = static_cast<int>(out->size());
  for (int d = 0; d < index->ndim(); ++d) {
    if (dim + d >= input->ndim() || index->shape()[d] != input->shape()[dim + d]) {
      return IndexError("[{}] expects a mask that matches the dims of shape {} from dim {} on, got "
                        "a mask of shape {}",
                        op, input->shape(), dim, index->shape());
    }
  }
  const TensorPtr rows = JUST(RowsOf(index));
  for (int d = 0; d < index->ndim(); ++d) { out->push_back(JUST(select(rows, 1, d))); }
  return Ok();
}

Maybe<void> BroadcastIndices(IndexCaller caller, TensorTuple* indices) {
  Shape shape;
  for (const TensorPtr& index : *indices) {
    Maybe<Shape> both = BroadcastShapes("index", shape, index->shape());
    if (!both.ok()) {
      return IndexError("[{}] expects indices that broadcast together, got shapes {} and {}",
                        NameOf(static_cast<int64_t>(caller)), shape, index->shape());
    }
    shape = both.value();
  }
  for (TensorPtr& index : *indices) {
    if (index->shape() != shape) { index = JUST(expand(index, shape)); }
  }
  return Ok();
}

Maybe<Prepared> Prepare(const TensorPtr& input, const TensorTuple& given, IndexCaller caller) {
  TensorTuple by_dim;
  for (const TensorPtr& index : given) {
    if (index == nullptr) {
      by_dim.push_back(nullptr);
    } else {
      JUST(AppendIndex(input, index, caller, &by_dim));
    }
  }
  if (static_cast<int>(by_dim.size()) > input->ndim()) {
    return IndexError("[{}] expects indices for at most {} dims, got {}",
                      NameOf(static_cast<int64_t>(caller)), input->ndim(), by_dim.size());
  }
  Prepared out;
  out.input = input;
  Dims order;  // indexed dims first
  int last = -1;
  bool neighbours = true;
  for (size_t d = 0; d < by_dim.size(); ++d) {
    if (by_dim[d] == nullptr) { continue; }
    const int dim = static_cast<int>(d);
    if (out.indices.empty()) { out.dim = dim; }
    neighbours = neighbours && (last < 0 || dim == last + 1);
    last = dim;
    out.indices.push_back(by_dim[d]);
    order.PushBack(dim);
  }
  JUST(BroadcastIndices(caller, &out.indices));
  if (neighbours) { return out; }
  for (int d = 0; d < input->ndim(); ++d) {
    if (std::find(order.begin(), order.end(), d) == order.end()) { order.PushBack(d); }
  }
  out.input = JUST(permute(input, order));
  out.dim = 0;
  return out;
}

Shape PlainShape(const Prepared& prepared) {
  Shape shape;
  const Shape& input = prepared.input->shape();
  for (int d = 0; d < prepared.dim; ++d) { shape.PushBack(input[d]); }
  for (int64_t size : prepared.indices[0]->shape()) { shape.PushBack(size); }
  const int behind = prepared.dim + static_cast<int>(prepared.indices.size());
  for (int d = behind; d < input.size(); ++d) { shape.PushBack(input[d]); }
  return shape;
}

// Dims of size 1 in front are more than is needed, and go.
Maybe<TensorPtr> BroadcastValues(const TensorPtr& values, const Shape& shape, IndexCaller caller) {
  Shape own = values->shape();
  while (own.size() > shape.size() && own[0] == 1) { own.Erase(0); }
  bool fits = own.size() <= shape.size();
  for (int d = 0; fits && d < own.size(); ++d) {
    const int64_t wanted = shape[d + shape.size() - own.size()];
    fits = own[d] == wanted || own[d] == 1;
  }
  if (!fits) {
    return RuntimeError("[{}] expects values that broadcast to shape {}, got shape {}",
                        NameOf(static_cast<int64_t>(caller)), shape, values->shape());
  }
  const TensorPtr shaped = own == values->shape() ? values : JUST(reshape(values, own));
  return own == shape ? shaped : expand(shaped, shape);
}

// The one index, if it is a mask of all of input.
const TensorPtr* WholeMask(const TensorPtr& input, const TensorTuple& indices) {
  if (indices.size() != 1 || indices[0] == nullptr) { return nullptr; }
  const bool whole = indices[0]->dtype() == DataType::kBool &&
                     indices[0]->shape() == input->shape() && input->ndim() > 0;
  return whole ? &indices[0] : nullptr;
}

}  // namespace

Maybe<TensorPtr> IndexWith(const TensorPtr& input, const TensorTuple& indices, IndexCaller caller) {
  if (const TensorPtr* mask = WholeMask(input, indices)) { return TakeMasked(input, *mask); }
  const Prepared prepared = JUST(Prepare(input, indices, caller));
  return index_at(prepared.input, prepared.indices, prepared.dim, static_cast<int64_t>(caller));
}

Maybe<void> PutWith(const TensorPtr& input, const TensorTuple& indices, const TensorPtr& values,
                    bool accumulate, IndexCaller caller) {
  const Prepared prepared = JUST(Prepare(input, indices, caller));
  const TensorPtr cast_values =
      values->dtype() == input->dtype() ? values : JUST(cast(values, input->dtype()));
  const TensorPtr plain = JUST(BroadcastValues(cast_values, PlainShape(prepared), caller));
  JUST(index_at_put_(prepared.input, plain, prepared.indices, prepared.dim, accumulate,
                     static_cast<int64_t>(caller)));
  return Ok();
}

namespace composites {

Maybe<TensorTuple> WhereIndices(const TensorPtr& condition) {
  const TensorPtr x = condition->ndim() == 0 ? JUST(unsqueeze(condition, 0)) : condition;
  const TensorPtr rows = JUST(RowsOf(x));
  TensorTuple columns;
  for (int d = 0; d < x->ndim(); ++d) { columns.push_back(JUST(select(rows, 1, d))); }
  return columns;
}

Maybe<TensorChoice> Nonzero(const TensorPtr& input, bool as_tuple) {
  if (as_tuple) { return TensorChoice(JUST(WhereIndices(input))); }
  return TensorChoice(JUST(RowsOf(input)));
}

Maybe<TensorPtr> Argwhere(const TensorPtr& input, DataType dtype) {
  const TensorPtr rows = JUST(RowsOf(input));
  return rows->dtype() == dtype ? rows : cast(rows, dtype);
}

Maybe<TensorPtr> MaskedSelect(const TensorPtr& input, const TensorPtr& mask) {
  const TensorPtr truth =
      mask->dtype() == DataType::kBool ? mask : JUST(cast(mask, DataType::kBool));
  const Shape shape = JUST(BroadcastShapes("masked_select", input->shape(), mask->shape()));
  const TensorPtr x = input->shape() == shape ? input : JUST(expand(input, shape));
  return TakeMasked(x, truth->shape() == shape ? truth : JUST(expand(truth, shape)));
}

Maybe<TensorPtr> MaskedTakeLike(const TensorPtr& dy, const TensorPtr& mask, const Dims& like) {
  return masked_take(JUST(contiguous(dy)), mask, like[0]);
}

Maybe<TensorPtr> IndexAtPutInputGrad(const TensorPtr& dy, const TensorTuple& indices, int64_t dim,
                                     bool accumulate, int64_t caller) {
  if (accumulate) { return dy; }
  const TensorPtr dx = JUST(copy(dy));
  Shape shape;
  for (int d = 0; d < dim; ++d) { shape.PushBack(dy->shape()[d]); }
  for (int64_t size : indices[0]->shape()) { shape.PushBack(size); }
  for (int d = static_cast<int>(dim) + static_cast<int>(indices.size()); d < dy->ndim(); ++d) {
    shape.PushBack(dy->shape()[d]);
  }
  const TensorPtr zero = JUST(zeros(Dims(), dy->dtype(), dy->device()));
  return index_at_put_(dx, JUST(expand(zero, shape)), indices, dim, false, caller);
}

}  // namespace composites

}  // namespace oneflow::functional
