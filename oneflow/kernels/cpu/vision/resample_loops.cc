// Compiled once for each instruction set: see isa.h.
#include "oneflow/kernels/cpu/vision/resample_loops.h"

namespace oneflow {
namespace cpu {
namespace ONEFLOW_ISA {

namespace {

template <typename T>
void Scale(const T* row, T factor, T* line, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) { line[i] = row[i] * factor; }
}

template <typename T>
void AddScaled(const T* row, T factor, T* line, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) { line[i] += row[i] * factor; }
}

template <typename T>
void Gather(const T* line, const LineTaps<T>& t, T* out) {
#pragma GCC ivdep
  for (int64_t o = 0; o < t.out; ++o) { out[o] = line[t.index[o]] * t.weight[o]; }
  for (int k = 1; k < t.taps; ++k) {
    const int32_t* index = t.index + k * t.out;
    const T* weight = t.weight + k * t.out;
#pragma GCC ivdep
    for (int64_t o = 0; o < t.out; ++o) { out[o] += line[index[o]] * weight[o]; }
  }
}

template <typename T>
void Scatter(const T* from, const LineTaps<T>& t, T* line) {
  for (int k = 0; k < t.taps; ++k) {
    const int32_t* index = t.index + k * t.out;
    const T* weight = t.weight + k * t.out;
    for (int64_t o = 0; o < t.out; ++o) { line[index[o]] += from[o] * weight[o]; }
  }
}

template <typename T>
constexpr ResampleLoopsOf<T> LoopsOf() {
  return {&Scale<T>, &AddScaled<T>, &Gather<T>, &Scatter<T>};
}

constexpr ResampleLoops kLoops = {LoopsOf<float>(), LoopsOf<double>()};

}  // namespace

const ResampleLoops& GetResampleLoops() { return kLoops; }

}  // namespace ONEFLOW_ISA
}  // namespace cpu
}  // namespace oneflow
