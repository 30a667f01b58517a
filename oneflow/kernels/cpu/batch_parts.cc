#include "oneflow/kernels/cpu/batch_parts.h"

#include <algorithm>

#include "oneflow/kernels/cpu/cache_size.h"

namespace oneflow {
namespace cpu {

namespace {

const ArrayView& ArrayAt(const KernelCall& call, int i) {
  return i < call.num_inputs ? call.inputs[i] : call.outputs[i - call.num_inputs];
}

}  // namespace

int64_t CountBatchParts(const KernelCall& call) {
  const int total = call.num_inputs + call.num_outputs;
  if (!DenseCall::Copies(call) || total > DenseCall::kMaxArrays) { return 1; }
  const ArrayView& first = call.inputs[0];
  const int64_t batch = first.ndim == 0 ? 0 : first.shape[0];
  for (int i = 0; i < total; ++i) {
    const ArrayView& view = ArrayAt(call, i);
    if (!view.given || !view.contiguous || view.ndim == 0 || view.shape[0] != batch) { return 1; }
  }
  constexpr size_t kWorthwhile = 2000000;  // bytes; less does not keep threads busy
  const auto most = static_cast<size_t>(LastCacheBytes() / 4);
  const size_t bytes = DenseCall::ScratchBytes(call);
  int64_t parts = 1;
  while (parts < batch && (batch % parts != 0 || bytes / static_cast<size_t>(parts) > most)) {
    ++parts;
  }
  // A batch of prime length has no other parts than single ones.
  if (bytes / static_cast<size_t>(std::max<int64_t>(1, parts)) < kWorthwhile) { return 1; }
  return std::max<int64_t>(1, parts);
}

BatchPart::BatchPart(const KernelCall& call, int64_t parts, int64_t part) : call_(call) {
  const int total = call.num_inputs + call.num_outputs;
  for (int i = 0; i < total; ++i) {
    ArrayView& view = views_[i] = ArrayAt(call, i);
    std::copy(view.shape, view.shape + view.ndim, sizes_[i]);
    sizes_[i][0] /= parts;
    view.shape = sizes_[i];
    if (view.data == nullptr) { continue; }
    view.data = view.Data<char>() + part * view.Count() * static_cast<int64_t>(SizeOf(view.dtype));
  }
  call_.inputs = views_;
  call_.outputs = views_ + call.num_inputs;
}

}  // namespace cpu
}  // namespace oneflow
