// The kernel copy: strided to strided, with conversion.
#include "oneflow/kernels/cpu/copy.h"

#include <algorithm>
#include <cstring>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/elementwise.h"
#include "oneflow/kernels/cpu/strided_loop.h"
#include "oneflow/kernels/cpu/tile.h"

namespace oneflow {
namespace cpu {

namespace {

// ---- transposing in tiles --------------------------------------------------------------------

// A call whose fastest dimension differs between input and output touches a new cache line for each
// element, unless it goes tile by tile.
constexpr int64_t kMinTileDim = 8;

// The dimension along which the input is dense; -1 when tiling does not pay.
int FindTileDim(const StridedLoop& loop, int64_t size) {
  if (loop.stride(0, 0) != size || loop.stride(1, 0) == size || loop.stride(1, 0) == 0 ||
      loop.size(0) < kMinTileDim) {
    return -1;
  }
  for (int d = 1; d < loop.ndim(); ++d) {
    if (loop.stride(1, d) == size && loop.size(d) >= kMinTileDim) { return d; }
  }
  return -1;
}

// One band: kTile rows (positions of dimension `d`), every column, at one place of the other dims.
void CopyBand(const StridedLoop& loop, int d, int64_t size, int64_t band) {
  const int64_t bands = (loop.size(d) + kTile - 1) / kTile;
  const int64_t row = band % bands * kTile;
  int64_t rest = band / bands;
  char* to = loop.data(0) + row * loop.stride(0, d);
  const char* from = loop.data(1) + row * size;
  for (int k = 1; k < loop.ndim(); ++k) {
    if (k == d) { continue; }
    to += rest % loop.size(k) * loop.stride(0, k);
    from += rest % loop.size(k) * loop.stride(1, k);
    rest /= loop.size(k);
  }
  const TileFn tile = ChooseTile(size);
  const int64_t rows = std::min(kTile, loop.size(d) - row);
  const int64_t from_step = loop.stride(1, 0);
  for (int64_t c = 0; c < loop.size(0); c += kTile) {
    tile(to + c * size, loop.stride(0, d), from + c * from_step, from_step, rows,
         std::min(kTile, loop.size(0) - c));
  }
}

void CopyTransposed(const StridedLoop& loop, int d, int64_t size, int threads) {
  const int64_t bands_per_plane = (loop.size(d) + kTile - 1) / kTile;
  const int64_t bands = loop.total() / (loop.size(0) * loop.size(d)) * bands_per_plane;
  const int64_t grain = std::max<int64_t>(1, StridedLoop::kGrain / (loop.size(0) * kTile));
  ParallelFor(threads, bands, grain, [&](int64_t begin, int64_t end) {
    for (int64_t band = begin; band < end; ++band) { CopyBand(loop, d, size, band); }
  });
}

// ---- the rest --------------------------------------------------------------------------------

void CopyBody(const LoopRun& run, const void* context) {
  const int size = *static_cast<const int*>(context);
  CopyRun(run.data[0], run.strides[0], run.data[1], run.strides[1], size, run.n);
}

void CopySameType(const ArrayView& to, const ArrayView& from, int threads) {
  const int size = static_cast<int>(SizeOf(to.dtype));
  const ArrayView* operands[] = {&to, &from};
  const StridedLoop loop(operands, 2);
  if (loop.total() == 0) { return; }
  const int tile_dim = FindTileDim(loop, size);
  if (tile_dim >= 0) { return CopyTransposed(loop, tile_dim, size, threads); }
  loop.Run(threads, &CopyBody, &size);
}

// float16 and bfloat16 meet the other types by way of float32.
struct TwoStepContext {
  UnaryLoop to_float;
  UnaryLoop from_float;
  int from_size;
  int to_size;
};

void TwoStepBody(const LoopRun& run, const void* context) {
  constexpr int64_t kBlock = 512;
  const auto& c = *static_cast<const TwoStepContext*>(context);
  alignas(64) char packed[kBlock * 8];
  alignas(64) float middle[kBlock];
  for (int64_t at = 0; at < run.n; at += kBlock) {
    const int64_t n = std::min(kBlock, run.n - at);
    CopyRun(packed, c.from_size, run.data[1] + at * run.strides[1], run.strides[1], c.from_size, n);
    c.to_float(middle, packed, n);
    c.from_float(packed, middle, n);
    CopyRun(run.data[0] + at * run.strides[0], run.strides[0], packed, c.to_size, c.to_size, n);
  }
}

void CopyByFloat(const ArrayView& to, const ArrayView& from, int threads) {
  const auto& cast = GetElementwiseLoops().cast;
  const int middle = static_cast<int>(DataType::kFloat);
  const TwoStepContext context{
      cast[static_cast<int>(from.dtype)][middle], cast[middle][static_cast<int>(to.dtype)],
      static_cast<int>(SizeOf(from.dtype)), static_cast<int>(SizeOf(to.dtype))};
  const ArrayView* operands[] = {&to, &from};
  StridedLoop(operands, 2).Run(threads, &TwoStepBody, &context);
}

Maybe<void> RunCopy(const KernelCall& call) {
  CopyArray(call.outputs[0], call.inputs[0], call.threads);
  return Ok();
}

}  // namespace

void CopyArray(const ArrayView& to, const ArrayView& from, int threads) {
  if (to.dtype == from.dtype) { return CopySameType(to, from, threads); }
  const UnaryLoop loop =
      GetElementwiseLoops().cast[static_cast<int>(from.dtype)][static_cast<int>(to.dtype)];
  if (loop == nullptr) { return CopyByFloat(to, from, threads); }
  RunUnary(loop, to, from, threads);
}

ONEFLOW_REGISTER_KERNEL(copy, {"copy.cpu.vector", &RunCopy, nullptr, &ElementwiseCostNs});

}  // namespace cpu
}  // namespace oneflow
