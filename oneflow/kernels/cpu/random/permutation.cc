// The kernels randperm and multinomial: choices that depend on each other.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "oneflow/kernels/attrs_random.h"
#include "oneflow/kernels/cpu/random/draw.h"
#include "oneflow/kernels/cpu/random_loops.h"

namespace oneflow {
namespace cpu {

namespace {

// ---- randperm

// Fisher and Yates's shuffle, from the front.
template <typename Int>
void Shuffle(std::vector<Int>* order, const RandomSlot& slot) {
  const auto n = static_cast<int64_t>(order->size());
  std::iota(order->begin(), order->end(), Int{0});
  Int* data = order->data();
  uint64_t drawn[kDrawChunk];
  for (int64_t at = 0; at < n; at += kDrawChunk) {
    const int64_t count = std::min(kDrawChunk, n - at);
    GetRandomLoops().bits(drawn, count, slot.seed, slot.offset + static_cast<uint64_t>(at / 2));
    // The places first: all are then on their way from memory when the first is needed.
    for (int64_t i = 0; i < count; ++i) {
      const int64_t k = at + i;
      drawn[i] = static_cast<uint64_t>(k) + BelowRange(drawn[i], static_cast<uint64_t>(n - k));
      __builtin_prefetch(data + drawn[i], 1);
    }
    for (int64_t i = 0; i < count; ++i) { std::swap(data[at + i], data[drawn[i]]); }
  }
}

void StoreAll(const ArrayView& out, const std::vector<int32_t>& order) {
  const auto count = static_cast<int64_t>(order.size());
  if (out.dtype == DataType::kInt64) {
    std::copy(order.begin(), order.end(), out.Data<int64_t>());
    return;
  }
  int64_t values[kDrawChunk];
  for (int64_t at = 0; at < count; at += kDrawChunk) {
    const int64_t n = std::min(kDrawChunk, count - at);
    for (int64_t i = 0; i < n; ++i) { values[i] = order[static_cast<size_t>(at + i)]; }
    StoreDrawn(out, at, values, DataType::kInt64, n);
  }
}

Maybe<void> RunRandperm(const KernelCall& call) {
  const ArrayView& out = call.outputs[0];
  // Half as wide, so that twice as much stays in the cache. The rule keeps n below 2^31.
  std::vector<int32_t> order(static_cast<size_t>(out.Count()));
  Shuffle(&order, call.GetAttrs<RandpermAttrs>().slot);
  StoreAll(out, order);
  return Ok();
}

double RandpermCost(const KernelCall& call) {
  return 100.0 + 3.0 * static_cast<double>(call.outputs[0].Count());
}

// ---- multinomial

class Uniforms {
 public:
  Uniforms(const RandomSlot& slot, int64_t row)
      : slot_(slot), stream_(static_cast<uint64_t>(row) + 1) {}
  // Number i of the row, in [0, 1).
  double At(int64_t i) const {
    const PhiloxBlock block =
        Philox4x32(slot_.seed, slot_.offset, stream_ << 32 | static_cast<uint64_t>(i / 2));
    const int first = static_cast<int>(i % 2) * 2;
    return PhiloxUniform(block.v[first], block.v[first + 1]);
  }

 private:
  RandomSlot slot_;
  uint64_t stream_;
};

template <typename T>
void ReadRow(const ArrayView& in, int64_t row, int64_t n, std::vector<double>* out) {
  const T* from = in.Data<T>() + row * n;
  out->assign(from, from + n);
}

// How many categories can be drawn; an error for weights that are none.
Maybe<int64_t> CheckWeights(const std::vector<double>& weights) {
  int64_t possible = 0;
  for (double w : weights) {
    if (!(w >= 0.0) || std::isinf(w)) {
      return RuntimeError("[multinomial] expects weights that are finite and not negative, got {}",
                          w);
    }
    possible += w > 0.0 ? 1 : 0;
  }
  if (possible == 0) {
    return RuntimeError("[multinomial] expects a weight above 0 in each row, got none");
  }
  return possible;
}

void DrawAgain(const std::vector<double>& weights, const Uniforms& uniforms, int64_t samples,
               int64_t* out) {
  std::vector<double> ends(weights.size());
  std::partial_sum(weights.begin(), weights.end(), ends.begin());
  for (int64_t i = 0; i < samples; ++i) {
    const double at = uniforms.At(i) * ends.back();
    auto found = std::upper_bound(ends.begin(), ends.end(), at);
    if (found == ends.end()) { --found; }
    // Rounding may reach the end of the last category that has a weight.
    while (weights[static_cast<size_t>(found - ends.begin())] == 0.0) { --found; }
    out[i] = found - ends.begin();
  }
}

// Efraimidis and Spirakis, "Weighted random sampling with a reservoir" (2006): the order of
// exponential waiting times, each at its weight's rate, is that of drawing without putting back.
void DrawOnce(const std::vector<double>& weights, const Uniforms& uniforms, int64_t samples,
              int64_t* out) {
  const auto n = static_cast<int64_t>(weights.size());
  std::vector<double> times(weights.size());
  std::vector<int64_t> order(weights.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  for (int64_t i = 0; i < n; ++i) {
    const double w = weights[static_cast<size_t>(i)];
    const double wait = -std::log1p(-uniforms.At(i));
    times[static_cast<size_t>(i)] = w > 0.0 ? wait / w : INFINITY;
  }
  std::partial_sort(order.begin(), order.begin() + samples, order.end(), [&](int64_t a, int64_t b) {
    const double x = times[static_cast<size_t>(a)], y = times[static_cast<size_t>(b)];
    return x != y ? x < y : a < b;
  });
  std::copy_n(order.begin(), samples, out);
}

Maybe<void> RunMultinomial(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<MultinomialAttrs>();
  const ArrayView& in = call.inputs[0];
  const int64_t n = in.shape[in.ndim - 1];
  const int64_t rows = in.ndim == 1 ? 1 : in.shape[0];
  std::vector<double> weights;
  for (int64_t row = 0; row < rows; ++row) {
    if (in.dtype == DataType::kDouble) {
      ReadRow<double>(in, row, n, &weights);
    } else {
      ReadRow<float>(in, row, n, &weights);
    }
    const int64_t possible = JUST(CheckWeights(weights));
    if (!attrs.replacement && possible < attrs.num_samples) {
      return RuntimeError(
          "[multinomial] without replacement expects at least {} weights above 0 in "
          "each row, got {}",
          attrs.num_samples, possible);
    }
    int64_t* out = call.outputs[0].Data<int64_t>() + row * attrs.num_samples;
    const Uniforms uniforms(attrs.slot, row);
    if (attrs.replacement) {
      DrawAgain(weights, uniforms, attrs.num_samples, out);
    } else {
      DrawOnce(weights, uniforms, attrs.num_samples, out);
    }
  }
  return Ok();
}

const char* AcceptMultinomial(const KernelCall& call) {
  const ArrayView& in = call.inputs[0];
  if (in.dtype != DataType::kDouble && in.dtype != DataType::kFloat) {
    return "dtype not supported";
  }
  return in.contiguous && call.outputs[0].contiguous ? nullptr : "not dense";
}

double MultinomialCost(const KernelCall& call) {
  return 200.0 + 10.0 * static_cast<double>(call.inputs[0].Count()) +
         50.0 * static_cast<double>(call.outputs[0].Count());
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(randperm,
                        {"randperm.cpu.shuffle", &RunRandperm, &AcceptDenseOutput, &RandpermCost});
ONEFLOW_REGISTER_KERNEL(multinomial, {"multinomial.cpu.philox", &RunMultinomial, &AcceptMultinomial,
                                      &MultinomialCost});

}  // namespace cpu
}  // namespace oneflow
