#include "oneflow/functional/autocast.h"

#include <string_view>
#include <unordered_map>

#include "oneflow/autograd/grad_mode.h"

namespace oneflow {
namespace autocast {

namespace {

// By the names that errors say.
const std::unordered_map<std::string_view, Kind>& Lists() {
  static const auto* lists = new std::unordered_map<std::string_view, Kind>{
      {"matmul", Kind::kShort},
      {"linear", Kind::kShort},
      {"convolution", Kind::kShort},
      {"convolution_input_grad", Kind::kShort},  // transposed convolutions; in backward all is off
      {"scaled_dot_product_attention", Kind::kShort},
      {"layer_norm", Kind::kFloat},
      {"group_norm", Kind::kFloat},
      {"softmax", Kind::kFloat},
      {"log_softmax", Kind::kFloat},
      {"cross_entropy", Kind::kFloat},
      {"nll_loss", Kind::kFloat},
      {"pointwise_loss", Kind::kFloat},
      {"lstm", Kind::kFloat},
      {"gru", Kind::kFloat},
      {"rnn", Kind::kFloat},
  };
  return *lists;
}

struct CachedCast {
  TensorPtr source;  // kept alive: its address is the key
  uint32_t version;
  TensorPtr cast;
};

struct State {
  bool enabled = false;
  bool cache_enabled = true;
  DataType short_dtype[kNumDeviceTypes] = {DataType::kBFloat16, DataType::kFloat16};
  std::unordered_map<const Tensor*, CachedCast> cache;
};

// Never destroyed: a thread may end without the host's lock, which releasing a tensor needs.
State& Own() {
  thread_local State* state = new State;
  return *state;
}

Maybe<TensorPtr> CastOf(const TensorPtr& tensor, DataType dtype, CastFn cast) {
  State& state = Own();
  // Parameters are used again before they change; the rest is not.
  const bool keeps = state.cache_enabled && tensor->requires_grad() && tensor->is_leaf();
  if (!keeps) { return cast(tensor, dtype); }
  const auto found = state.cache.find(tensor.get());
  if (found != state.cache.end()) {
    const CachedCast& kept = found->second;
    if (kept.cast->dtype() == dtype && kept.version == tensor->storage()->version() &&
        kept.cast->requires_grad() == GradModeEnabled()) {
      return kept.cast;
    }
  }
  const TensorPtr made = JUST(cast(tensor, dtype));
  state.cache[tensor.get()] = {tensor, tensor->storage()->version(), made};
  return made;
}

bool Changes(Kind kind, DataType from, DataType to) {
  if (from == to || !IsFloating(from) || from == DataType::kDouble) { return false; }
  return kind == Kind::kShort || from != DataType::kFloat;
}

}  // namespace

Kind KindOf(const char* op) {
  const auto found = Lists().find(op);
  return found == Lists().end() ? Kind::kAsGiven : found->second;
}

bool Enabled() { return MayBeOn() && Own().enabled; }

void SetEnabled(bool enabled) {
  if (Own().enabled == enabled) { return; }
  Own().enabled = enabled;
  threads_with_it_on.fetch_add(enabled ? 1 : -1, std::memory_order_relaxed);
}

DataType ShortDtype(DeviceType device) { return Own().short_dtype[static_cast<int>(device)]; }

void SetShortDtype(DeviceType device, DataType dtype) {
  Own().short_dtype[static_cast<int>(device)] = dtype;
}

bool CacheEnabled() { return Own().cache_enabled; }
void SetCacheEnabled(bool enabled) { Own().cache_enabled = enabled; }
void ClearCache() { Own().cache.clear(); }

Maybe<void> CastOperands(const char* op, const TensorPtr* operands, int count, CastFn cast,
                         TensorTuple* replaced) {
  if (!Own().enabled) { return Ok(); }
  const Kind kind = KindOf(op);
  if (kind == Kind::kAsGiven) { return Ok(); }
  for (int i = 0; i < count; ++i) {
    if (operands[i] == nullptr) { continue; }
    const DataType wanted =
        kind == Kind::kFloat ? DataType::kFloat : ShortDtype(operands[i]->device().type());
    if (!Changes(kind, operands[i]->dtype(), wanted)) { continue; }
    if (replaced->empty()) { replaced->assign(operands, operands + count); }
    (*replaced)[static_cast<size_t>(i)] = JUST(CastOf(operands[i], wanted, cast));
  }
  return Ok();
}

Pause::Pause(bool pauses) {
  if (__builtin_expect(MayBeOn(), 0) && pauses && Own().enabled) {
    was_on_ = true;
    SetEnabled(false);
  }
}

Pause::~Pause() {
  if (was_on_) { SetEnabled(true); }
}

}  // namespace autocast
}  // namespace oneflow
