// The kernels blocked_max_pool: x -> y, index; and blocked_max_pool_backward: dy, index -> dx. Arrays are
// (N, C / 16, H, W, 16), float32; an index is a pixel of the plane, int32.
#include <cstring>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_spatial.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/pool/blocked_pool_loops.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

PoolWindows WindowsOf(const PoolAttrs& attrs, int d, int64_t in) {
  return {in, attrs.kernel[d], attrs.stride[d], attrs.padding[d], attrs.dilation[d]};
}

Maybe<void> RunMax(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<PoolAttrs>();
  const ArrayView& x = call.inputs[0];
  const ArrayView& y = call.outputs[0];
  const PoolWindows rows = WindowsOf(attrs, 0, x.shape[2]);
  const PoolWindows columns = WindowsOf(attrs, 1, x.shape[3]);
  const int64_t plane = x.shape[2] * x.shape[3] * kChannelBlock;
  const int64_t line = y.shape[3] * kChannelBlock;
  const int64_t lines = y.shape[0] * y.shape[1] * y.shape[2];
  ParallelFor(call.threads, lines, 8, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      GetBlockedPoolLoops().max_row(x.Data<float>() + i / y.shape[2] * plane, rows, columns,
                                    i % y.shape[2], y.shape[3], y.Data<float>() + i * line,
                                    call.outputs[1].Data<int32_t>() + i * line);
    }
  });
  return Ok();
}

Maybe<void> RunMaxBackward(const KernelCall& call) {
  const ArrayView& dy = call.inputs[0];
  const ArrayView& dx = call.outputs[0];
  const int64_t plane = dx.shape[2] * dx.shape[3] * kChannelBlock;
  const int64_t pooled = dy.shape[2] * dy.shape[3] * kChannelBlock;
  ParallelFor(call.threads, dx.shape[0] * dx.shape[1], 1, [&](int64_t i, int64_t) {
    float* to = dx.Data<float>() + i * plane;
    const float* from = dy.Data<float>() + i * pooled;
    const int32_t* index = call.inputs[1].Data<int32_t>() + i * pooled;
    std::memset(to, 0, static_cast<size_t>(plane) * sizeof(float));
    for (int64_t p = 0; p < pooled; p += kChannelBlock) {
      for (int64_t c = 0; c < kChannelBlock; ++c) {
        to[index[p + c] * kChannelBlock + c] += from[p + c];
      }
    }
  });
  return Ok();
}

const char* Accept(const KernelCall& call) {
  if (call.inputs[0].dtype != DataType::kFloat) { return "a dtype that is not float32"; }
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
                        {"blocked_max_pool_backward.cpu.vector", &RunMaxBackward, &Accept, &Cost});

}  // namespace cpu
}  // namespace oneflow
