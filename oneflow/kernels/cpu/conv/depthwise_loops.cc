// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/conv/depthwise_loops.h"

#include "oneflow/kernels/cpu/vector_width.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

typedef float Lanes __attribute__((vector_size(kVectorBytes)));
typedef float UnalignedLanes __attribute__((vector_size(kVectorBytes), aligned(4)));
constexpr int64_t kStep = kVectorLanes<float>;
static_assert(kDepthwiseLanes % kStep == 0, "a line is whole registers");

// kTaps 0: as many as `taps` says.
template <int kTaps>
void LineOf(const float* data, const int64_t* offset, const float* weight, int taps, float bias,
            int64_t n, float* out) {
  const int count = kTaps == 0 ? taps : kTaps;
  int64_t i = 0;
  for (; i + 2 * kStep <= n; i += 2 * kStep) {
    Lanes first = Lanes{} + bias;
    Lanes second = first;
#pragma GCC unroll 9
    for (int t = 0; t < count; ++t) {
      const float* from = data + offset[t] + i;
      first += *reinterpret_cast<const UnalignedLanes*>(from) * weight[t];
      second += *reinterpret_cast<const UnalignedLanes*>(from + kStep) * weight[t];
    }
    *reinterpret_cast<UnalignedLanes*>(out + i) = first;
    *reinterpret_cast<UnalignedLanes*>(out + i + kStep) = second;
  }
  if (i < n) {
    Lanes sum = Lanes{} + bias;
#pragma GCC unroll 9
    for (int t = 0; t < count; ++t) {
      sum += *reinterpret_cast<const UnalignedLanes*>(data + offset[t] + i) * weight[t];
    }
    *reinterpret_cast<UnalignedLanes*>(out + i) = sum;
  }
}

void Line(const float* data, const int64_t* offset, const float* weight, int taps, float bias,
          int64_t n, float* out) {
  switch (taps) {
    case 9: return LineOf<9>(data, offset, weight, taps, bias, n, out);
    case 25: return LineOf<25>(data, offset, weight, taps, bias, n, out);
    default: return LineOf<0>(data, offset, weight, taps, bias, n, out);
  }
}

constexpr DepthwiseLoops kLoops = {&Line};

}  // namespace

const DepthwiseLoops& GetDepthwiseLoops() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
