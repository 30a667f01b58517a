#include "oneflow/autograd/anomaly_mode.h"

#include "oneflow/autograd/grad_mode.h"
#include "oneflow/autograd/node.h"

namespace oneflow {

void SetAnomalyMode(bool gradients, bool forward) {
  check_gradients.store(gradients, std::memory_order_relaxed);
  check_forward.store(forward, std::memory_order_relaxed);
}

Maybe<bool> HasNan(const TensorPtr& tensor) {
  if (tensor == nullptr || !IsFloating(tensor->dtype()) || tensor->Count() == 0) { return false; }
  const ScopedGradMode no_grad(false);
  return GetGradientOps().has_nan(tensor);
}

Maybe<void> CheckForwardNan(const char* op, const TensorPtr* inputs, int num_inputs,
                            const TensorPtr* outputs, int num_outputs) {
  for (int i = 0; i < num_outputs; ++i) {
    if (!JUST(HasNan(outputs[i]))) { continue; }
    std::string source = "no input has one";
    for (int j = 0; j < num_inputs; ++j) {
      if (inputs[j] != outputs[i] && JUST(HasNan(inputs[j]))) {
        source = Format("so has input {}", j);
        break;
      }
    }
    ErrorPtr error = RuntimeError("[{}] anomaly: output {} of shape {} has a NaN; {}", op, i,
                                  outputs[i]->shape(), source);
    error->set_op(op);
    error->set_stack(CurrentStack(), CurrentStackContext());
    return error;
  }
  return Ok();
}

}  // namespace oneflow
