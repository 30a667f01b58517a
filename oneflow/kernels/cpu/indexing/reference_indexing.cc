// The reference kernels of indexing: plain loops over the indices, any dtype, any strides.
#include "oneflow/core/dims.h"
#include "oneflow/kernels/attrs_indexing.h"
#include "oneflow/kernels/cpu/indexing/indices.h"
#include "oneflow/kernels/cpu/reference.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

using reference::ForEachIndex;
using reference::Load;
using reference::OffsetOf;
using reference::Round;
using reference::ShapeOf;
using reference::Store;
using reference::Value;

Value Plus(const Value& a, const Value& b) {
  return a.is_float ? Value::Float(a.d + b.d) : Value::Int(a.i + b.i);
}
Value Times(const Value& a, const Value& b) {
  return a.is_float ? Value::Float(a.d * b.d) : Value::Int(a.i * b.i);
}

void Combine(const ArrayView& to, int64_t at, const Value& value, ScatterMode mode) {
  Value result = value;
  if (mode == ScatterMode::kAdd) { result = Plus(Load(to, at), value); }
  if (mode == ScatterMode::kMultiply) { result = Times(Load(to, at), value); }
  Store(to, at, Round(to.dtype, result));
}

int64_t RowMajor(const ArrayView& array, const Dims& index) {
  int64_t at = 0;
  for (int d = 0; d < array.ndim; ++d) { at = at * array.shape[d] + index[d]; }
  return at;
}

// ---- index_at and its kin --------------------------------------------------------------------------

// Where element `at` of the plain side (P + B + R) lies on the indexed side; IndexError for a bad one.
Maybe<int64_t> IndexedOffset(const IndexAtAttrs& attrs, const ArrayView& indexed,
                             const ArrayView* indices, int count, const Dims& at) {
  const int dim = static_cast<int>(attrs.dim);
  const int index_ndim = indices[0].ndim;
  Dims b(index_ndim, 0);
  for (int d = 0; d < index_ndim; ++d) { b[d] = at[dim + d]; }
  int64_t offset = 0;
  for (int d = 0; d < dim; ++d) { offset += at[d] * indexed.strides[d]; }
  for (int j = 0; j < count; ++j) {
    const int64_t value = Load(indices[j], OffsetOf(indices[j], b)).i;
    const int64_t wrapped = Wrap(value, indexed.shape[dim + j], WrapsNegative(attrs.caller));
    if (wrapped < 0) {
      return BadIndex(attrs.caller, indexed, dim + j, indices[j], RowMajor(indices[j], b), value);
    }
    offset += wrapped * indexed.strides[dim + j];
  }
  for (int d = dim + count; d < indexed.ndim; ++d) {
    offset += at[d - count + index_ndim] * indexed.strides[d];
  }
  return offset;
}

Maybe<void> CheckAll(const IndexAtAttrs& attrs, const ArrayView& indexed, const ArrayView* indices,
                     int count) {
  ErrorPtr bad;
  ForEachIndex(ShapeOf(indices[0]), [&](const Dims& b) {
    for (int j = 0; j < count && bad == nullptr; ++j) {
      const int dim = static_cast<int>(attrs.dim) + j;
      const int64_t value = Load(indices[j], OffsetOf(indices[j], b)).i;
      if (Wrap(value, indexed.shape[dim], WrapsNegative(attrs.caller)) < 0) {
        bad = BadIndex(attrs.caller, indexed, dim, indices[j], RowMajor(indices[j], b), value);
      }
    }
  });
  if (bad != nullptr) { return bad; }
  return Ok();
}

Maybe<void> RunRead(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<IndexAtAttrs>();
  const ArrayView& x = call.inputs[0];
  const ArrayView& out = call.outputs[0];
  JUST(CheckAll(attrs, x, call.inputs + 1, call.num_inputs - 1));
  ForEachIndex(ShapeOf(out), [&](const Dims& at) {
    const Maybe<int64_t> from = IndexedOffset(attrs, x, call.inputs + 1, call.num_inputs - 1, at);
    if (from.ok()) { Store(out, OffsetOf(out, at), Load(x, from.value())); }
  });
  return Ok();
}

Maybe<void> Write(const IndexAtAttrs& attrs, const ArrayView& target, const ArrayView& values,
                  const ArrayView* indices, int count, bool adds) {
  JUST(CheckAll(attrs, target, indices, count));
  ForEachIndex(ShapeOf(values), [&](const Dims& at) {
    const Maybe<int64_t> to = IndexedOffset(attrs, target, indices, count, at);
    if (!to.ok()) { return; }
    Combine(target, to.value(), Load(values, OffsetOf(values, at)),
            adds ? ScatterMode::kAdd : ScatterMode::kAssign);
  });
  return Ok();
}

Maybe<void> RunPut(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<IndexAtAttrs>();
  return Write(attrs, call.outputs[0], call.inputs[1], call.inputs + 2, call.num_inputs - 2,
               attrs.accumulate);
}

void StoreZeros(const ArrayView& out) {
  ForEachIndex(ShapeOf(out), [&](const Dims& at) {
    Store(out, OffsetOf(out, at), Round(out.dtype, Value::Int(0)));
  });
}

Maybe<void> RunBackward(const KernelCall& call) {
  StoreZeros(call.outputs[0]);
  return Write(call.GetAttrs<IndexAtAttrs>(), call.outputs[0], call.inputs[0], call.inputs + 1,
               call.num_inputs - 1, true);
}

// ---- gather and scatter ----------------------------------------------------------------------------

// Where element `at` of an index points: along `dim` as the index says, else where `at` stands.
Maybe<int64_t> Along(const ArrayView& indexed, const ArrayView& index, const Dims& at, int dim,
                     int64_t caller) {
  const int64_t value = Load(index, OffsetOf(index, at)).i;
  const int64_t size = indexed.ndim == 0 ? 1 : indexed.shape[dim];
  if (Wrap(value, size, WrapsNegative(caller)) < 0) {
    if (indexed.ndim == 0) {
      return IndexError("[{}] expects index 0 for a tensor without dims, got {}", NameOf(caller),
                        value);
    }
    return BadIndex(caller, indexed, dim, index, RowMajor(index, at), value);
  }
  int64_t offset = 0;
  for (int d = 0; d < indexed.ndim; ++d) {
    offset += (d == dim ? value : at[d]) * indexed.strides[d];
  }
  return offset;
}

// Calls body(at, offset on the indexed side) for each element of the index, once all are checked.
template <typename Body>
Maybe<void> ForEachAlong(const ArrayView& indexed, const ArrayView& index, int64_t dim,
                         int64_t caller, const Body& body) {
  ErrorPtr bad;
  const int along = static_cast<int>(dim);
  ForEachIndex(ShapeOf(index), [&](const Dims& at) {
    const Maybe<int64_t> offset = Along(indexed, index, at, along, caller);
    if (!offset.ok() && bad == nullptr) { bad = offset.error(); }
  });
  if (bad != nullptr) { return bad; }
  ForEachIndex(ShapeOf(index), [&](const Dims& at) {
    const Maybe<int64_t> offset = Along(indexed, index, at, along, caller);
    if (offset.ok()) { body(at, offset.value()); }
  });
  return Ok();
}

Maybe<void> RunGather(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<GatherAttrs>();
  const ArrayView& x = call.inputs[0];
  const ArrayView& out = call.outputs[0];
  return ForEachAlong(
      x, call.inputs[1], attrs.dim, attrs.caller,
      [&](const Dims& at, int64_t from) { Store(out, OffsetOf(out, at), Load(x, from)); });
}

Maybe<void> RunScatter(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<ScatterAttrs>();
  const ArrayView& out = call.outputs[0];
  const ArrayView& src = call.inputs[2];
  return ForEachAlong(out, call.inputs[1], attrs.dim, attrs.caller,
                      [&](const Dims& at, int64_t to) {
                        int64_t from = 0;
                        for (int d = 0; d < src.ndim; ++d) { from += at[d] * src.strides[d]; }
                        Combine(out, to, Load(src, from), static_cast<ScatterMode>(attrs.mode));
                      });
}

// ---- nonzero and masks -----------------------------------------------------------------------------

bool IsTrue(const ArrayView& x, const Dims& at) {
  const Value value = Load(x, OffsetOf(x, at));
  return value.is_float ? value.d != 0.0 : value.i != 0;
}

int64_t CountTrue(const ArrayView& x) {
  int64_t count = 0;
  ForEachIndex(ShapeOf(x), [&](const Dims& at) { count += IsTrue(x, at) ? 1 : 0; });
  return count;
}

Maybe<void> RunCount(const KernelCall& call) {
  *call.outputs[0].Data<int64_t>() = CountTrue(call.inputs[0]);
  return Ok();
}

Maybe<void> RunRows(const KernelCall& call) {
  const ArrayView& x = call.inputs[0];
  if (CountTrue(x) != call.GetAttrs<CountAttrs>().count) {
    return RuntimeError("[nonzero] expects a tensor that nobody changes meanwhile");
  }
  auto* to = call.outputs[0].Data<int64_t>();
  ForEachIndex(ShapeOf(x), [&](const Dims& at) {
    for (int d = 0; d < x.ndim && IsTrue(x, at); ++d) { *to++ = at[d]; }
  });
  return Ok();
}

Maybe<void> RunTake(const KernelCall& call) {
  const ArrayView& x = call.inputs[0];
  const ArrayView& out = call.outputs[0];
  if (CountTrue(call.inputs[1]) != out.Count()) {
    return RuntimeError("[masked_select] expects a mask that nobody changes meanwhile");
  }
  int64_t next = 0;
  ForEachIndex(ShapeOf(x), [&](const Dims& at) {
    if (IsTrue(call.inputs[1], at)) { Store(out, next++, Load(x, OffsetOf(x, at))); }
  });
  return Ok();
}

Maybe<void> RunUntake(const KernelCall& call) {
  const ArrayView& dy = call.inputs[0];
  const ArrayView& dx = call.outputs[0];
  if (CountTrue(call.inputs[1]) != dy.Count()) {
    return RuntimeError("[masked_select] expects a mask that nobody changes meanwhile");
  }
  int64_t next = 0;
  StoreZeros(dx);
  ForEachIndex(ShapeOf(dx), [&](const Dims& at) {
    if (!IsTrue(call.inputs[1], at)) { return; }
    Store(dx, OffsetOf(dx, at), Load(dy, next++ * dy.strides[0]));
  });
  return Ok();
}

double Slow(const KernelCall& call) {
  double elements = 0;
  for (int i = 0; i < call.num_inputs; ++i) {
    elements += static_cast<double>(call.inputs[i].Count());
  }
  return 30.0 * elements;
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(index_at, {"index_at.cpu.reference", &RunRead, nullptr, &Slow});
ONEFLOW_REGISTER_KERNEL(index_at_put, {"index_at_put.cpu.reference", &RunPut, nullptr, &Slow});
ONEFLOW_REGISTER_KERNEL(index_at_backward,
                        {"index_at_backward.cpu.reference", &RunBackward, nullptr, &Slow});
ONEFLOW_REGISTER_KERNEL(gather, {"gather.cpu.reference", &RunGather, nullptr, &Slow});
ONEFLOW_REGISTER_KERNEL(scatter, {"scatter.cpu.reference", &RunScatter, nullptr, &Slow});
ONEFLOW_REGISTER_KERNEL(nonzero_count, {"nonzero_count.cpu.reference", &RunCount, nullptr, &Slow});
ONEFLOW_REGISTER_KERNEL(nonzero_rows, {"nonzero_rows.cpu.reference", &RunRows, nullptr, &Slow});
ONEFLOW_REGISTER_KERNEL(masked_take, {"masked_take.cpu.reference", &RunTake, nullptr, &Slow});
ONEFLOW_REGISTER_KERNEL(masked_untake, {"masked_untake.cpu.reference", &RunUntake, nullptr, &Slow});

}  // namespace cpu
}  // namespace oneflow
