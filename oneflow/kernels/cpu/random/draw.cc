#include "oneflow/kernels/cpu/random/draw.h"

#include <cstring>

#include "oneflow/kernels/cpu/elementwise_loops.h"

namespace oneflow {
namespace cpu {

void StoreDrawn(const ArrayView& out, int64_t at, const void* values, DataType from, int64_t n) {
  const auto size = static_cast<int64_t>(SizeOf(out.dtype));
  char* to = out.Data<char>() + at * size;
  if (out.dtype == from) {
    std::memcpy(to, values, static_cast<size_t>(n * size));
    return;
  }
  const auto& cast = GetElementwiseLoops().cast;
  const UnaryLoop direct = cast[static_cast<int>(from)][static_cast<int>(out.dtype)];
  if (direct != nullptr) { return direct(to, values, n); }
  alignas(64) float middle[kDrawChunk];
  cast[static_cast<int>(from)][static_cast<int>(DataType::kFloat)](middle, values, n);
  cast[static_cast<int>(DataType::kFloat)][static_cast<int>(out.dtype)](to, middle, n);
}

const char* AcceptDenseOutput(const KernelCall& call) {
  return call.outputs[0].contiguous ? nullptr : "output is not dense";
}

}  // namespace cpu
}  // namespace oneflow
