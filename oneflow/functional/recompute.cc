#include "oneflow/functional/recompute.h"

#include "oneflow/autograd/engine.h"
#include "oneflow/autograd/grad_mode.h"
#include "oneflow/functional/generated/functional.h"

namespace oneflow::functional {

Maybe<TensorTuple> RecomputedGradients(
    const std::function<Maybe<TensorTuple>(const TensorTuple&)>& f, const TensorTuple& inputs,
    const TensorTuple& dys) {
  const ScopedGradMode recorded(true);
  // Each input gets a place of its own on the tape: one tensor may be given twice.
  TensorTuple places, wanted;
  for (const TensorPtr& input : inputs) {
    const bool needed = input != nullptr && input->requires_grad();
    places.push_back(needed ? JUST(expand(input, input->shape())) : input);
    if (needed) { wanted.push_back(places.back()); }
  }
  const TensorTuple results = JUST(f(places));
  TensorTuple roots, grads;
  for (size_t i = 0; i < dys.size(); ++i) {
    if (dys[i] == nullptr || !results[i]->requires_grad()) { continue; }
    roots.push_back(results[i]);
    grads.push_back(dys[i]);
  }
  TensorTuple out(inputs.size());
  if (roots.empty() || wanted.empty()) { return out; }
  BackwardOptions options;
  options.retain_graph = options.create_graph = true;
  const TensorTuple found = JUST(Gradients(roots, wanted, grads, options, /*allow_unused=*/true));
  size_t next = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] != nullptr && inputs[i]->requires_grad()) { out[i] = found[next++]; }
  }
  return out;
}

}  // namespace oneflow::functional
