// The kernels randint, bernoulli, exponential: each element by itself.
#include "oneflow/kernels/attrs_random.h"
#include "oneflow/kernels/cpu/elementwise_loops.h"
#include "oneflow/kernels/cpu/random/draw.h"
#include "oneflow/kernels/cpu/random_loops.h"
#include "oneflow/kernels/cpu/reference.h"

namespace oneflow {
namespace cpu {

namespace {

Maybe<void> RunRandint(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<RandintAttrs>();
  const auto low = static_cast<uint64_t>(attrs.low);
  const auto make = [&attrs, low](int64_t* values, int64_t at, int64_t n) {
    for (int64_t i = 0; i < n; i += 2) {
      const uint64_t counter = attrs.slot.offset + static_cast<uint64_t>((at + i) / 2);
      const PhiloxBlock block = Philox4x32(attrs.slot.seed, counter, 0);
      for (int k = 0; k < 2 && i + k < n; ++k) {
        const uint64_t bits = DrawnBits(block, k);
        const uint64_t drawn = attrs.range == 0 ? bits : BelowRange(bits, attrs.range);
        values[i + k] = static_cast<int64_t>(low + drawn);
      }
    }
  };
  DrawInto<int64_t>(call.outputs[0], DataType::kInt64, call.threads, make);
  return Ok();
}

// Offset of element i, in row-major order.
int64_t OffsetOfElement(const ArrayView& in, int64_t i) {
  int64_t offset = 0;
  for (int d = in.ndim - 1; d >= 0; --d) {
    offset += i % in.shape[d] * in.strides[d];
    i /= in.shape[d];
  }
  return offset;
}

// Elements at, at + 1, ... of an array of any floating dtype.
void ReadChunk(const ArrayView& in, int64_t at, int64_t n, double* out) {
  if (!in.contiguous) {
    for (int64_t i = 0; i < n; ++i) {
      out[i] = reference::Load(in, OffsetOfElement(in, at + i)).AsDouble();
    }
    return;
  }
  const auto& cast = GetElementwiseLoops().cast;
  const char* from = in.Data<char>() + at * static_cast<int64_t>(SizeOf(in.dtype));
  const int to = static_cast<int>(DataType::kDouble);
  const UnaryLoop direct = cast[static_cast<int>(in.dtype)][to];
  if (in.dtype == DataType::kDouble) {
    for (int64_t i = 0; i < n; ++i) { out[i] = reinterpret_cast<const double*>(from)[i]; }
  } else if (direct != nullptr) {
    direct(out, from, n);
  } else {
    alignas(64) float middle[kDrawChunk];
    cast[static_cast<int>(in.dtype)][static_cast<int>(DataType::kFloat)](middle, from, n);
    cast[static_cast<int>(DataType::kFloat)][to](out, middle, n);
  }
}

// Before anything is written: the op may run in place.
Maybe<void> CheckProbabilities(const ArrayView& in) {
  double values[kDrawChunk];
  const int64_t count = in.Count();
  for (int64_t at = 0; at < count; at += kDrawChunk) {
    const int64_t n = count - at < kDrawChunk ? count - at : kDrawChunk;
    ReadChunk(in, at, n, values);
    for (int64_t i = 0; i < n; ++i) {
      if (!(values[i] >= 0.0 && values[i] <= 1.0)) {
        return RuntimeError("[bernoulli] expects probabilities in [0, 1], got {}", values[i]);
      }
    }
  }
  return Ok();
}

Maybe<void> RunBernoulli(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<BernoulliAttrs>();
  if (!attrs.has_p) { JUST(CheckProbabilities(call.inputs[0])); }
  const RandomFn uniform = GetRandomLoops().uniform[static_cast<int>(DataType::kDouble)];
  const auto make = [&](double* values, int64_t at, int64_t n) {
    double p[kDrawChunk];
    if (!attrs.has_p) { ReadChunk(call.inputs[0], at, n, p); }
    uniform(values, n, attrs.slot.seed, attrs.slot.offset + static_cast<uint64_t>(at / 2), 0.0,
            1.0);
    for (int64_t i = 0; i < n; ++i) { values[i] = values[i] < (attrs.has_p ? attrs.p : p[i]); }
  };
  DrawInto<double>(call.outputs[0], DataType::kDouble, call.threads, make);
  return Ok();
}

Maybe<void> RunExponential(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<ExponentialAttrs>();
  const ArrayView& out = call.outputs[0];
  const RandomFn same = GetRandomLoops().exponential[static_cast<int>(out.dtype)];
  const RandomFn wide = GetRandomLoops().exponential[static_cast<int>(DataType::kDouble)];
  if (same == nullptr) {
    DrawInto<double>(out, DataType::kDouble, call.threads,
                     [&](double* values, int64_t at, int64_t n) {
                       wide(values, n, attrs.slot.seed,
                            attrs.slot.offset + static_cast<uint64_t>(at / 2), attrs.rate, 0.0);
                     });
    return Ok();
  }
  const auto size = static_cast<int64_t>(SizeOf(out.dtype));
  ParallelFor(call.threads, out.Count(), kDrawGrain, [&](int64_t begin, int64_t end) {
    same(out.Data<char>() + begin * size, end - begin, attrs.slot.seed,
         attrs.slot.offset + static_cast<uint64_t>(begin / 2), attrs.rate, 0.0);
  });
  return Ok();
}

double Cost(const KernelCall& call) {
  return 100.0 + 3.0 * static_cast<double>(call.outputs[0].Count());
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(randint, {"randint.cpu.philox", &RunRandint, &AcceptDenseOutput, &Cost});
ONEFLOW_REGISTER_KERNEL(bernoulli,
                        {"bernoulli.cpu.philox", &RunBernoulli, &AcceptDenseOutput, &Cost});
ONEFLOW_REGISTER_KERNEL(exponential,
                        {"exponential.cpu.philox", &RunExponential, &AcceptDenseOutput, &Cost});

}  // namespace cpu
}  // namespace oneflow
