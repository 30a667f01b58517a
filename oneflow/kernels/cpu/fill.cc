// The kernels fill and arange.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/scalar_bits.h"
#include "oneflow/kernels/cpu/stream_loops.h"
#include "oneflow/kernels/cpu/strided_loop.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

template <typename Word>
void FillDense(char* out, const ScalarBits& value, int64_t n) {
  Word word;
  std::memcpy(&word, value.bytes, sizeof(Word));
  std::fill_n(reinterpret_cast<Word*>(out), n, word);
}

struct FillContext {
  ScalarBits value;
  int size;
};

// As zero is: the value is one byte, repeated.
bool OfOneByte(const FillContext& c) {
  for (int i = 1; i < c.size; ++i) {
    if (c.value.bytes[i] != c.value.bytes[0]) { return false; }
  }
  return true;
}

void FillBody(const LoopRun& run, const void* context) {
  const auto& c = *static_cast<const FillContext*>(context);
  if (run.strides[0] != c.size) {
    const char* from = reinterpret_cast<const char*>(c.value.bytes);
    return CopyRun(run.data[0], run.strides[0], from, 0, c.size, run.n);
  }
  if (OfOneByte(c)) {
    std::memset(run.data[0], static_cast<unsigned char>(c.value.bytes[0]),
                static_cast<size_t>(run.n * c.size));
    return;
  }
  switch (c.size) {
    case 1: return FillDense<uint8_t>(run.data[0], c.value, run.n);
    case 2: return FillDense<uint16_t>(run.data[0], c.value, run.n);
    case 4: return FillDense<uint32_t>(run.data[0], c.value, run.n);
    default: return FillDense<uint64_t>(run.data[0], c.value, run.n);
  }
}

// Past the caches, from a block that holds the value many times.
void FillStreaming(const ArrayView& out, const FillContext& c, int threads) {
  constexpr int64_t kBlockBytes = 4096;
  constexpr int64_t kGrainBytes = int64_t{512} << 10;
  alignas(64) char block[kBlockBytes];
  LoopRun run;
  run.data[0] = block;
  run.strides[0] = c.size;
  run.n = kBlockBytes / c.size;
  FillBody(run, &c);
  char* const to = out.Data<char>();
  ParallelFor(threads, out.Count() * c.size, kGrainBytes, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; at += kBlockBytes) {
      GetStreamLoops().copy(to + at, block, std::min(kBlockBytes, end - at));
    }
    GetStreamLoops().fence();
  });
}

Maybe<void> RunFill(const KernelCall& call) {
  const ArrayView& out = call.outputs[0];
  const FillContext context{ToScalarBits(call.GetAttrs<FillAttrs>().value, out.dtype),
                            static_cast<int>(SizeOf(out.dtype))};
  const int64_t bytes = out.Count() * context.size;
  if (out.contiguous && WorthStreaming(out.data, bytes, bytes)) {
    FillStreaming(out, context, call.threads);
    return Ok();
  }
  const ArrayView* operands[] = {&out};
  StridedLoop(operands, 1).Run(call.threads, &FillBody, &context);
  return Ok();
}

// `Wide` is double for floats and uint64_t, which wraps, for integers.
template <typename T, typename Wide>
void ArangeDense(const KernelCall& call, Wide start, Wide step) {
  T* out = call.outputs[0].Data<T>();
  ParallelFor(call.threads, call.outputs[0].Count(), StridedLoop::kGrain,
              [&](int64_t begin, int64_t end) {
                if constexpr (std::is_integral_v<Wide>) {  // no vector multiplies 64 bits
                  Wide value = start + static_cast<Wide>(begin) * step;
                  for (int64_t i = begin; i < end; ++i, value += step) {
                    out[i] = static_cast<T>(value);
                  }
                } else {
                  for (int64_t i = begin; i < end; ++i) {
                    out[i] = static_cast<T>(start + static_cast<Wide>(i) * step);
                  }
                }
              });
}

template <typename T>
void ArangeIntegers(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<ArangeAttrs>();
  if (attrs.start.is_float() || attrs.step.is_float()) {
    // Through int64: the range was checked when the op was issued.
    const double start = attrs.start.To<double>();
    const double step = attrs.step.To<double>();
    T* out = call.outputs[0].Data<T>();
    const int64_t n = call.outputs[0].Count();
    for (int64_t i = 0; i < n; ++i) {
      const ScalarBits bits =
          ToScalarBits(Scalar(start + static_cast<double>(i) * step), call.outputs[0].dtype);
      std::memcpy(&out[i], bits.bytes, sizeof(T));
    }
    return;
  }
  ArangeDense<T, uint64_t>(call, static_cast<uint64_t>(attrs.start.To<int64_t>()),
                           static_cast<uint64_t>(attrs.step.To<int64_t>()));
}

const char* AcceptArange(const KernelCall& call) {
  if (!call.outputs[0].contiguous) { return "output is not dense"; }
  switch (call.outputs[0].dtype) {
    case DataType::kFloat16:
    case DataType::kBFloat16:
    case DataType::kBool: return "dtype not supported";
    default: return nullptr;
  }
}

Maybe<void> RunArange(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<ArangeAttrs>();
  switch (call.outputs[0].dtype) {
    case DataType::kDouble:
      ArangeDense<double>(call, attrs.start.To<double>(), attrs.step.To<double>());
      break;
    case DataType::kFloat:
      ArangeDense<float>(call, attrs.start.To<double>(), attrs.step.To<double>());
      break;
    case DataType::kInt64: ArangeIntegers<int64_t>(call); break;
    case DataType::kInt32: ArangeIntegers<int32_t>(call); break;
    case DataType::kInt16: ArangeIntegers<int16_t>(call); break;
    case DataType::kInt8: ArangeIntegers<int8_t>(call); break;
    default: ArangeIntegers<uint8_t>(call); break;
  }
  return Ok();
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(fill, {"fill.cpu.vector", &RunFill, nullptr, &ElementwiseCostNs});
ONEFLOW_REGISTER_KERNEL(arange,
                        {"arange.cpu.vector", &RunArange, &AcceptArange, &ElementwiseCostNs});

}  // namespace cpu
}  // namespace oneflow
