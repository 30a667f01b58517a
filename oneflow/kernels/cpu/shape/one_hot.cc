// The kernel one_hot: a row for each index, with one element that differs.
#include <algorithm>
#include <cstring>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_shape.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/scalar_bits.h"
#include "oneflow/kernels/cpu/strided_loop.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

template <typename T>
int64_t Read(const ArrayView& view, int64_t i) {
  return static_cast<int64_t>(view.Data<T>()[i]);
}

using ReadFn = int64_t (*)(const ArrayView&, int64_t);

ReadFn ChooseRead(DataType dtype) {
  switch (dtype) {
    case DataType::kInt64: return &Read<int64_t>;
    case DataType::kInt32: return &Read<int32_t>;
    case DataType::kInt16: return &Read<int16_t>;
    case DataType::kInt8: return &Read<int8_t>;
    case DataType::kUInt8: return &Read<uint8_t>;
    default: return nullptr;
  }
}

const char* Accept(const KernelCall& call) {
  if (ChooseRead(call.inputs[0].dtype) == nullptr) { return "indices are no integers"; }
  return call.inputs[0].contiguous && call.outputs[0].contiguous ? nullptr : "not dense";
}

template <typename Word>
void FillRows(const KernelCall& call, const ScalarBits& on_bits, const ScalarBits& off_bits) {
  const ArrayView& in = call.inputs[0];
  const ReadFn read = ChooseRead(in.dtype);
  const int64_t depth = call.GetAttrs<OneHotAttrs>().depth;
  Word on, off;
  std::memcpy(&on, on_bits.bytes, sizeof(Word));
  std::memcpy(&off, off_bits.bytes, sizeof(Word));
  Word* out = call.outputs[0].Data<Word>();
  const int64_t grain = std::max<int64_t>(1, StridedLoop::kGrain / depth);
  ParallelFor(call.threads, in.Count(), grain, [&](int64_t begin, int64_t end) {
    std::fill(out + begin * depth, out + end * depth, off);
    for (int64_t i = begin; i < end; ++i) { out[i * depth + read(in, i)] = on; }
  });
}

Maybe<void> Run(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<OneHotAttrs>();
  const ArrayView& in = call.inputs[0];
  const ReadFn read = ChooseRead(in.dtype);
  const int64_t n = in.Count();
  for (int64_t i = 0; i < n; ++i) {
    const int64_t index = read(in, i);
    if (index < 0 || index >= attrs.depth) {
      return IndexError("[one_hot] expects indices in [0, {}), got {}", attrs.depth, index);
    }
  }
  const DataType dtype = call.outputs[0].dtype;
  const ScalarBits on = ToScalarBits(attrs.on, dtype);
  const ScalarBits off = ToScalarBits(attrs.off, dtype);
  if (n == 0 || attrs.depth == 0) { return Ok(); }
  switch (SizeOf(dtype)) {
    case 1: FillRows<uint8_t>(call, on, off); break;
    case 2: FillRows<uint16_t>(call, on, off); break;
    case 4: FillRows<uint32_t>(call, on, off); break;
    default: FillRows<uint64_t>(call, on, off); break;
  }
  return Ok();
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(one_hot, {"one_hot.cpu.rows", &Run, &Accept, &ElementwiseCostNs});

}  // namespace cpu
}  // namespace oneflow
