// The attribute structs of the optimizers' steps over lists of parameters.
//
// Thread safety: plain values, copied by memcpy.
#ifndef ONEFLOW_KERNELS_ATTRS_OPTIM_H_
#define ONEFLOW_KERNELS_ATTRS_OPTIM_H_

#include <cstdint>
#include <type_traits>

namespace oneflow {

// One struct for all optimizers: each reads what it knows. p is an element of a parameter, d of its
// gradient; g = scale * d + l2 * p. Every step ends with - lr * weight_decay * p.
struct ListUpdateAttrs {
  int32_t states = 0;  // how many tensors of state each parameter has
  double lr = 0.0;
  double scale = 1.0;
  double l2 = 0.0;
  double weight_decay = 0.0;
  double beta1 = 0.0;  // decay of the first average: momentum, beta1, rho or alpha
  double beta2 = 0.0;  // of the second one; SGD: dampening
  double epsilon = 0.0;
  double bias_correction1 = 1.0;
  double bias_correction2 = 1.0;
  bool nesterov = false;
  bool maximize = false;
  bool centered = false;
  // Whether the last operand holds lr and the two corrections, three float64: a graph's learning rate
  // changes from run to run, while its attributes stay.
  bool numbers = false;
};

// The norm of all elements together: p may be infinite; 0 counts the tensors that are not all zero.
struct ListNormAttrs {
  double p = 2.0;
};

// Elements times min(1, max_norm / (norm + epsilon)).
struct ListClipAttrs {
  double max_norm = 0.0;
  double epsilon = 1e-6;
};

struct ListScaleAttrs {
  double factor = 1.0;
};

// Elements kept from `low` to `high`; NaN stays.
struct ListClampAttrs {
  double low = 0.0;
  double high = 0.0;
};

static_assert(std::is_trivially_copyable_v<ListUpdateAttrs> &&
                  std::is_trivially_copyable_v<ListNormAttrs> &&
                  std::is_trivially_copyable_v<ListClipAttrs> &&
                  std::is_trivially_copyable_v<ListScaleAttrs> &&
                  std::is_trivially_copyable_v<ListClampAttrs>,
              "an instruction copies attributes by memcpy");

}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_ATTRS_OPTIM_H_
