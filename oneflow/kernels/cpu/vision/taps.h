// Taps: which elements of one dimension a resampled element is made of, and with what weights.
//
// Thread safety: a value; pure functions.
#ifndef ONEFLOW_KERNELS_CPU_VISION_TAPS_H_
#define ONEFLOW_KERNELS_CPU_VISION_TAPS_H_

#include <cstdint>
#include <vector>

#include "oneflow/kernels/attrs_spatial.h"

namespace oneflow {
namespace cpu {

// Weights of the cubic convolution kernel with a = -0.75, for the elements -1, 0, 1, 2 around a
// point at `t` in [0, 1) behind element 0; and their derivatives by t.
// Source: Keys, "Cubic convolution interpolation for digital image processing", 1981.
void CubicWeights(double t, double weights[4]);
void CubicWeightSlopes(double t, double slopes[4]);

// Taps of one dimension: taps[k] has entries k * out + o.
struct AxisTaps {
  int taps = 1;
  int64_t in = 1, out = 1;
  std::vector<int32_t> index;
  std::vector<double> weight;

  int32_t IndexAt(int k, int64_t o) const { return index[static_cast<size_t>(k * out + o)]; }
  double WeightAt(int k, int64_t o) const { return weight[static_cast<size_t>(k * out + o)]; }
};

// `scale`: result over input as the user gave it; 0 where the sizes say it. `single`: coordinates
// of the nearest element are taken in float32, as for float32 data everywhere else.
AxisTaps MakeTaps(UpsampleMode mode, bool align_corners, int64_t in, int64_t out, double scale,
                  bool single);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_VISION_TAPS_H_
