// The kernels blocked_max_pool: x -> y, numbers; and blocked_max_pool_backward: dy, numbers -> dx. Arrays are
// (N, C / 16, H, W, 16), float32 or bfloat16; a number says which element of its window is the maximum.
//
// The gradient is added up in float32, a row at a time, and rounded once.
#include <algorithm>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_spatial.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/pool/blocked_pool_loops.h"
#include "oneflow/kernels/cpu/thread_index.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

PoolWindows WindowsOf(const PoolAttrs& attrs, int d, int64_t in) {
  return {in, attrs.kernel[d], attrs.stride[d], attrs.padding[d], attrs.dilation[d]};
}

bool IsBrief(const ArrayView& view) { return view.dtype == DataType::kBFloat16; }

// Elements of a plane of 16 channels, and of a row of it.
int64_t PlaneOf(const ArrayView& view) { return view.shape[2] * view.shape[3] * kChannelBlock; }
int64_t RowOf(const ArrayView& view) { return view.shape[3] * kChannelBlock; }

// Calls body(plane, row) for each row of the array.
template <typename Body>
void ForEachRow(const KernelCall& call, const ArrayView& array, const Body& body) {
  const int64_t high = array.shape[2];
  ParallelFor(call.threads, array.shape[0] * array.shape[1] * high, 8,
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) { body(i / high, i % high); }
              });
}

template <typename T>
void Maxima(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<PoolAttrs>();
  const ArrayView& x = call.inputs[0];
  const ArrayView& y = call.outputs[0];
  const PoolWindows rows = WindowsOf(attrs, 0, x.shape[2]);
  const PoolWindows columns = WindowsOf(attrs, 1, x.shape[3]);
  ForEachRow(call, y, [&](int64_t plane, int64_t row) {
    const int64_t at = plane * PlaneOf(y) + row * RowOf(y);
    GetBlockedPoolLoopsOf<T>().max_row(x.Data<T>() + plane * PlaneOf(x), rows, columns, row,
                                       y.shape[3], y.Data<T>() + at,
                                       call.outputs[1].Data<uint8_t>() + at);
  });
}

template <typename T>
void Gradient(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<PoolAttrs>();
  const ArrayView& dy = call.inputs[0];
  const ArrayView& dx = call.outputs[0];
  const PoolWindows rows = WindowsOf(attrs, 0, dx.shape[2]);
  const PoolWindows columns = WindowsOf(attrs, 1, dx.shape[3]);
  ForEachRow(call, dx, [&](int64_t plane, int64_t row) {
    float* line = static_cast<float*>(call.scratch) + ThreadIndex() * RowOf(dx);
    const int64_t from = plane * PlaneOf(dy);
    GetBlockedPoolLoopsOf<T>().gradient_row(
        dy.Data<T>() + from, call.inputs[1].Data<uint8_t>() + from, rows, columns, row, dy.shape[2],
        dy.shape[3], line, dx.Data<T>() + plane * PlaneOf(dx) + row * RowOf(dx));
  });
}

Maybe<void> RunMax(const KernelCall& call) {
  IsBrief(call.inputs[0]) ? Maxima<uint16_t>(call) : Maxima<float>(call);
  return Ok();
}

Maybe<void> RunMaxBackward(const KernelCall& call) {
  IsBrief(call.inputs[0]) ? Gradient<uint16_t>(call) : Gradient<float>(call);
  return Ok();
}

size_t BackwardScratch(const KernelCall& call) {
  return static_cast<size_t>(RowOf(call.outputs[0]) * std::max(call.threads, 1)) * sizeof(float);
}

const char* Accept(const KernelCall& call) {
  if (call.inputs[0].dtype != DataType::kFloat && !IsBrief(call.inputs[0])) {
    return "a dtype that is neither float32 nor bfloat16";
  }
  for (int i = 0; i < call.num_inputs; ++i) {
    if (!call.inputs[i].contiguous) { return "an operand that is not dense"; }
  }
  return nullptr;
}

double Cost(const KernelCall& call) {
  return ElementwiseCostNs(call) + 0.5 * static_cast<double>(call.outputs[0].Count());
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(blocked_max_pool, {"blocked_max_pool.cpu.vector", &RunMax, &Accept, &Cost});
ONEFLOW_REGISTER_KERNEL(blocked_max_pool_backward,
                        {"blocked_max_pool_backward.cpu.vector", &RunMaxBackward, &Accept, &Cost,
                         &BackwardScratch});

}  // namespace cpu
}  // namespace oneflow
