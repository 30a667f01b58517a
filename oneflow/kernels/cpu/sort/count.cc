// The kernels unique and bincount.
#include <algorithm>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_reduce.h"
#include "oneflow/kernels/cpu/dense_call.h"
#include "oneflow/kernels/cpu/sort/radix_sort.h"
#include "oneflow/kernels/cpu/sort/sort_keys.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

// Outputs with room for all n elements: the different ones in order, for each element which of them
// it is, how often each is there; and how many there are. A NaN differs from every other.
template <typename Keys>
Maybe<void> UniqueOf(const KernelCall& call) {
  using Keyed = typename Keys::Keyed;
  using Bits = typename Keys::Bits;
  const ArrayView& input = call.inputs[0];
  const int64_t n = input.Count();
  const int64_t step = n == 0 ? 0 : input.strides[0];
  const Bits* x = input.Data<Bits>();
  auto* room = static_cast<Keyed*>(call.scratch);
  ParallelFor(call.threads, n, 1 << 15, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) { room[i] = Keyed::Of(Keys::Of(x[i * step]), i); }
  });
  const Keyed* sorted = SortKeyed(room, room + n, n, call.threads);
  Bits* values = call.outputs[0].Data<Bits>();
  int64_t* inverse = call.outputs[1].Data<int64_t>();
  int64_t* counts = call.outputs[2].Data<int64_t>();
  int64_t found = 0;
  for (int64_t i = 0; i < n; ++i) {
    const Bits value = x[sorted[i].index() * step];
    if (i == 0 || sorted[i].key() != sorted[i - 1].key() || Keys::IsNan(value)) {
      values[found] = value;
      counts[found++] = 0;
    }
    ++counts[found - 1];
    inverse[sorted[i].index()] = found - 1;
  }
  call.outputs[3].Data<int64_t>()[0] = found;
  return Ok();
}

Maybe<void> RunUnique(const KernelCall& call) {
  return WithSortKeys(call.inputs[0].dtype,
                      [&](auto keys) { return UniqueOf<decltype(keys)>(call); });
}

size_t UniqueScratch(const KernelCall& call) {
  return WithSortKeys(call.inputs[0].dtype, [&](auto keys) {
    return 2 * static_cast<size_t>(call.inputs[0].Count()) * sizeof(typename decltype(keys)::Keyed);
  });
}

const char* AcceptUnique(const KernelCall& call) {
  for (int i = 0; i < call.num_outputs; ++i) {
    if (!call.outputs[i].contiguous) { return "an output is not dense"; }
  }
  return call.inputs[0].Count() <= kMaxSortLength ? nullptr : "2^32 elements or more";
}

// ---- bincount -----------------------------------------------------------------------------------

template <typename Index, typename Out>
Maybe<void> Count(const KernelCall& call) {
  const Index* x = call.inputs[0].Data<Index>();
  const Out* weights = call.HasInput(1) ? call.inputs[1].Data<Out>() : nullptr;
  Out* out = call.outputs[0].Data<Out>();
  const int64_t size = call.outputs[0].Count();
  const int64_t n = call.inputs[0].Count();
  std::fill(out, out + size, Out(0));
  for (int64_t i = 0; i < n; ++i) {
    const auto bin = static_cast<int64_t>(x[i]);
    if (bin < 0 || bin >= size) {
      return RuntimeError("[bincount] expects numbers in [0, {}), got {}", size, bin);
    }
    out[bin] += weights == nullptr ? Out(1) : weights[i];
  }
  return Ok();
}

template <typename Index>
Maybe<void> CountInto(const KernelCall& call) {
  switch (call.outputs[0].dtype) {
    case DataType::kFloat: return Count<Index, float>(call);
    case DataType::kDouble: return Count<Index, double>(call);
    default: return Count<Index, int64_t>(call);
  }
}

Maybe<void> RunBincount(const KernelCall& call) {
  return RunDense(call, [](const KernelCall& dense) {
    return dense.inputs[0].dtype == DataType::kInt32 ? CountInto<int32_t>(dense)
                                                     : CountInto<int64_t>(dense);
  });
}

const char* AcceptBincount(const KernelCall& call) {
  const DataType in = call.inputs[0].dtype;
  const DataType out = call.outputs[0].dtype;
  if (in != DataType::kInt32 && in != DataType::kInt64) { return "an input of another dtype"; }
  const bool known = out == DataType::kInt64 || out == DataType::kFloat || out == DataType::kDouble;
  if (!known) { return "a result of another dtype"; }
  return !call.HasInput(1) || call.inputs[1].dtype == out ? nullptr : "weights of another dtype";
}

size_t DenseScratch(const KernelCall& call) { return DenseCall::ScratchBytes(call); }

double UniqueCost(const KernelCall& call) {
  return 50.0 + 20.0 * static_cast<double>(call.inputs[0].Count());
}
double BincountCost(const KernelCall& call) {
  return 50.0 + static_cast<double>(call.inputs[0].Count() + call.outputs[0].Count());
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(unique, {"unique.cpu.radix", &RunUnique, &AcceptUnique, &UniqueCost,
                                 &UniqueScratch});
ONEFLOW_REGISTER_KERNEL(bincount, {"bincount.cpu.dense", &RunBincount, &AcceptBincount,
                                   &BincountCost, &DenseScratch});

}  // namespace cpu
}  // namespace oneflow
