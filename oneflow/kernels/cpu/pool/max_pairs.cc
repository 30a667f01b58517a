// The kernel of max_pool for windows of two by two that lie side by side, in float32: the usual ones
// between small images, which a kernel for all windows prepares for longer than it computes.
#include <algorithm>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_spatial.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/pool/max_pairs_loops.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

constexpr int64_t kGrainElements = 1 << 15;
constexpr int64_t kWidest = 64;
constexpr int64_t kMostPixels = 1 << 14;

const char* Accept(const KernelCall& call) {
  const ArrayView& image = call.inputs[0];
  if (image.dtype != DataType::kFloat) { return "dtype is not float32"; }
  if (!image.contiguous || !call.outputs[0].contiguous || !call.outputs[1].contiguous) {
    return "an operand is not dense";
  }
  const auto& attrs = call.GetAttrs<PoolAttrs>();
  if (attrs.kernel.count != 2) { return "not 2-d"; }
  for (int d = 0; d < 2; ++d) {
    if (attrs.kernel[d] != 2 || attrs.stride[d] != 2 || attrs.padding[d] != 0 ||
        attrs.dilation[d] != 1) {
      return "windows are not two by two, side by side";
    }
    // With ceil_mode the last window may reach beyond the image.
    if (2 * call.outputs[0].shape[2 + d] > image.shape[2 + d]) { return "windows reach outside"; }
  }
  if (image.shape[3] > kWidest || image.shape[2] * image.shape[3] > kMostPixels) {
    return "large images";
  }
  return nullptr;
}

Maybe<void> Run(const KernelCall& call) {
  const ArrayView& image = call.inputs[0];
  const ArrayView& pooled = call.outputs[0];
  const int64_t width = image.shape[3];
  const int64_t pixels = image.shape[2] * width;
  const int64_t out_height = pooled.shape[2], out_width = pooled.shape[3];
  const int64_t out_pixels = out_height * out_width;
  if (pooled.Count() == 0) { return Ok(); }
  ParallelFor(call.threads, image.shape[0] * image.shape[1],
              std::max<int64_t>(1, kGrainElements / pixels), [&](int64_t begin, int64_t end) {
                const MaxPairsLoops& loops = GetMaxPairsLoops();
                for (int64_t i = begin; i < end; ++i) {
                  loops.plane(image.Data<float>() + i * pixels, width, out_height, out_width,
                              pooled.Data<float>() + i * out_pixels,
                              call.outputs[1].Data<int64_t>() + i * out_pixels);
                }
              });
  return Ok();
}

double Cost(const KernelCall& call) {
  const double bytes =
      BytesOf(call.inputs[0]) + BytesOf(call.outputs[0]) + BytesOf(call.outputs[1]);
  return 100.0 + MemoryCostNs(bytes) + 0.3 * static_cast<double>(call.outputs[0].Count());
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(max_pool, {"max_pool.cpu.pairs", &Run, &Accept, &Cost, nullptr});

}  // namespace cpu
}  // namespace oneflow
