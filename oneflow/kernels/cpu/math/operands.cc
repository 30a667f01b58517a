#include "oneflow/kernels/cpu/math/operands.h"

#include <limits>

#include "oneflow/kernels/attrs.h"

namespace oneflow {
namespace cpu {

namespace {

bool IsHalf(DataType dtype) { return dtype == DataType::kFloat16 || dtype == DataType::kBFloat16; }

// A number beside halves is not rounded to one.
DataType NumberDtype(DataType dtype) { return IsHalf(dtype) ? DataType::kFloat : dtype; }

ArrayView NumberView(ScalarBits* bits, const Scalar& value, DataType dtype) {
  *bits = ToScalarBits(value, dtype);
  ArrayView view;
  view.data = bits->bytes;
  view.dtype = dtype;
  view.contiguous = true;
  return view;
}

template <typename T>
Scalar Extreme(bool high) {
  using Limits = std::numeric_limits<T>;
  return Scalar(static_cast<int64_t>(high ? Limits::max() : Limits::lowest()));
}

// What no element is below, or above.
Scalar NoBound(DataType dtype, bool high) {
  switch (dtype) {
    case DataType::kBool: return Scalar(high);
    case DataType::kUInt8: return Extreme<uint8_t>(high);
    case DataType::kInt8: return Extreme<int8_t>(high);
    case DataType::kInt16: return Extreme<int16_t>(high);
    case DataType::kInt32: return Extreme<int32_t>(high);
    case DataType::kInt64: return Extreme<int64_t>(high);
    default:
      return Scalar(high ? std::numeric_limits<double>::infinity()
                         : -std::numeric_limits<double>::infinity());
  }
}

void GatherBounds(const KernelCall& call, Operands* out) {
  const auto& attrs = call.GetAttrs<ClampAttrs>();
  const DataType dtype = NumberDtype(call.inputs[0].dtype);
  out->views[0] = call.inputs[0];
  out->views[1] =
      NumberView(&out->numbers[0], attrs.has_low ? attrs.low : NoBound(dtype, false), dtype);
  out->views[2] =
      NumberView(&out->numbers[1], attrs.has_high ? attrs.high : NoBound(dtype, true), dtype);
  out->count = 3;
}

}  // namespace

void Gather(const KernelCall& call, Form form, Operands* out) {
  if (form == Form::kBounds) { return GatherBounds(call, out); }
  const bool has_number = form != Form::kTensors && form != Form::kNumbers;
  // The condition of `where` is of another dtype than the rest.
  const DataType own = call.inputs[0].dtype;
  const DataType dtype = form == Form::kFill ? own : NumberDtype(own);
  ArrayView number;
  if (has_number) {
    number = NumberView(&out->numbers[0], call.GetAttrs<ScalarAttrs>().value, dtype);
  }
  if (form == Form::kFill) {
    out->views[0] = call.inputs[1];
    out->views[1] = number;
    out->views[2] = call.inputs[0];
    out->count = 3;
    return;
  }
  if (form == Form::kNumbers) { out->attrs = call.GetAttrs<MathAttrs>(); }
  if (form == Form::kNumberFirst) { out->views[out->count++] = number; }
  for (int i = 0; i < call.num_inputs; ++i) { out->views[out->count++] = call.inputs[i]; }
  if (form == Form::kNumberLast) { out->views[out->count++] = number; }
}

DataType LoopDtype(MathOp op, DataType operand) {
  return op == MathOp::kWhere ? operand : NumberDtype(operand);
}

const char* AcceptMath(MathOp op, Form form, const KernelCall& call) {
  const bool selects = op == MathOp::kWhere;
  const int value = selects && form == Form::kTensors ? 1 : 0;
  const int mask = selects ? 1 - value : -1;
  const DataType dtype = call.inputs[value].dtype;
  for (int i = 0; i < call.num_inputs; ++i) {
    const DataType expected = i == mask ? DataType::kBool : dtype;
    if (call.inputs[i].dtype != expected) { return "operands of different dtypes"; }
  }
  const DataType expected = GivesBool(op) ? DataType::kBool : dtype;
  if (call.outputs[0].dtype != expected) { return "an output of another dtype"; }
  return FindMathLoop(op, LoopDtype(op, dtype)) == nullptr ? "dtype not supported" : nullptr;
}

}  // namespace cpu
}  // namespace oneflow
