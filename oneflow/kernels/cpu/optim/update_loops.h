// The dense inner loops of the optimizers' steps, one table for each instruction set.
//
// Thread safety: constants.
#ifndef ONEFLOW_KERNELS_CPU_OPTIM_UPDATE_LOOPS_H_
#define ONEFLOW_KERNELS_CPU_OPTIM_UPDATE_LOOPS_H_

#include <cstdint>

#include "oneflow/kernels/attrs_optim.h"
#include "oneflow/kernels/cpu/isa.h"

namespace oneflow {
namespace cpu {

inline constexpr int kMaxUpdateStates = 3;

enum class UpdateRule : int {
  kSgd,
  kMomentum,
  kAdam,
  kAdagrad,
  kAdadelta,
  kRmsprop,
  kLambMoments,  // changes the averages only
  kLambParam,    // then the parameter; lr holds the trust ratio too
};
inline constexpr int kNumUpdateRules = 8;

// Updates n elements: targets[0] is the parameter, the others its state. No two overlap.
using UpdateFn = void (*)(void* const* targets, const void* grad, int64_t n,
                          const ListUpdateAttrs& attrs);
// Adds to sums[0] the squares of a parameter, to sums[1] those of LAMB's step before its trust ratio.
using LambNormFn = void (*)(void* const* targets, int64_t n, const ListUpdateAttrs& attrs,
                            double* sums);

struct UpdateLoopsOf {
  UpdateFn update[kNumUpdateRules];
  LambNormFn lamb_norms;
  void (*scale)(void* x, int64_t n, double factor);
  void (*clamp)(void* x, int64_t n, double low, double high);
  double (*sum_of_squares)(const void* x, int64_t n);
};

struct UpdateLoops {
  UpdateLoopsOf for_float;
  UpdateLoopsOf for_double;
};

ONEFLOW_DECLARE_ISA_TABLE(UpdateLoops, GetUpdateLoops);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_OPTIM_UPDATE_LOOPS_H_
