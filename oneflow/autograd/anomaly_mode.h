// Anomaly mode: whether backward looks for NaN in every gradient, and ops in what they return, and
// name the forward line of the first one.
//
// Thread safety: atomics, for the whole process. Blocking: each check waits for the tensor's value.
#ifndef ONEFLOW_AUTOGRAD_ANOMALY_MODE_H_
#define ONEFLOW_AUTOGRAD_ANOMALY_MODE_H_

#include <atomic>

#include "oneflow/common/maybe.h"
#include "oneflow/tensor/autograd_meta.h"

namespace oneflow {

inline std::atomic<bool> check_gradients{false};
inline std::atomic<bool> check_forward{false};

inline bool ChecksGradients() { return check_gradients.load(std::memory_order_relaxed); }
inline bool ChecksForward() { return check_forward.load(std::memory_order_relaxed); }
void SetAnomalyMode(bool gradients, bool forward);

// False for a null pointer, and for a dtype that has no NaN.
Maybe<bool> HasNan(const TensorPtr& tensor);

// RuntimeError if an output of `op` has a NaN. REQUIRES ChecksForward(); for ops that are recorded.
Maybe<void> CheckForwardNan(const char* op, const TensorPtr* inputs, int num_inputs,
                            const TensorPtr* outputs, int num_outputs);

}  // namespace oneflow

#endif  // ONEFLOW_AUTOGRAD_ANOMALY_MODE_H_
