// The kernel searchsorted.
#include <cstring>
#include <type_traits>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_reduce.h"
#include "oneflow/kernels/cpu/dense_call.h"
#include "oneflow/kernels/cpu/sort/sort_keys.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

// How many of n elements in order are `before(i)`. Without a branch that depends on what is compared:
// half of them would be foretold wrongly.
template <typename Before>
int64_t Bisect(int64_t n, const Before& before) {
  if (n == 0) { return 0; }
  int64_t low = 0;
  while (n > 1) {
    const int64_t half = n / 2;
    low += half & -static_cast<int64_t>(before(low + half - 1));
    n -= half;
  }
  return low + static_cast<int64_t>(before(low));
}

// How many elements of a sorted row go before `key`; `right`: or are equal to it.
template <typename Keys, bool kRight>
int64_t Search(const typename Keys::Bits* row, const int64_t* order, int64_t n,
               typename Keys::Key key) {
  const auto before = [&](int64_t i) {
    const auto x = Keys::Of(row[order == nullptr ? i : order[i]]);
    return kRight ? x <= key : x < key;
  };
  return Bisect(n, before);
}

// The same for floats that are no NaN, in a row without a sorter: their own order, which the
// processor knows, instead of that of keys.
template <typename Float, bool kRight>
int64_t SearchFloat(const Float* row, int64_t n, Float value) {
  return Bisect(n, [=](int64_t i) { return kRight ? row[i] <= value : row[i] < value; });
}

template <typename Keys, bool kRight>
int64_t Find(const typename Keys::Bits* row, const int64_t* order, int64_t n,
             typename Keys::Bits value) {
  if constexpr (Keys::kIsFloat && sizeof(value) >= 4) {
    using Float = std::conditional_t<sizeof(value) == 4, float, double>;
    if (order == nullptr && !Keys::IsNan(value)) {
      Float number;
      std::memcpy(&number, &value, sizeof(number));
      return SearchFloat<Float, kRight>(reinterpret_cast<const Float*>(row), n, number);
    }
  }
  return Search<Keys, kRight>(row, order, n, Keys::Of(value));
}

template <typename Keys>
Maybe<void> SearchSorted(const KernelCall& call) {
  using Bits = typename Keys::Bits;
  const ArrayView& sequence = call.inputs[0];
  const SearchAttrs& attrs = call.GetAttrs<SearchAttrs>();
  const auto* sorted = sequence.Data<Bits>();
  const auto* values = call.inputs[1].Data<Bits>();
  const auto* order = call.HasInput(2) ? call.inputs[2].Data<int64_t>() : nullptr;
  const int64_t n = sequence.shape[sequence.ndim - 1];
  const ArrayView& out = call.outputs[0];
  const int64_t total = out.Count();
  // One sequence for all values, or one for each row of them.
  const int64_t per_row = sequence.ndim == 1 ? total : out.shape[out.ndim - 1];
  for (int64_t i = 0; order != nullptr && i < sequence.Count(); ++i) {
    if (order[i] < 0 || order[i] >= n) {
      return IndexError("[searchsorted] expects a sorter of indices in [0, {}), got {}", n,
                        order[i]);
    }
  }
  ParallelFor(call.threads, total, 2048, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = sequence.ndim == 1 ? 0 : i / per_row * n;
      const int64_t* by = order == nullptr ? nullptr : order + row;
      const int64_t found = attrs.right ? Find<Keys, true>(sorted + row, by, n, values[i])
                                        : Find<Keys, false>(sorted + row, by, n, values[i]);
      if (attrs.dtype == DataType::kInt32) {
        out.Data<int32_t>()[i] = static_cast<int32_t>(found);
      } else {
        out.Data<int64_t>()[i] = found;
      }
    }
  });
  return Ok();
}

Maybe<void> RunSearchSorted(const KernelCall& call) {
  return RunDense(call, [](const KernelCall& dense) {
    return WithSortKeys(dense.inputs[0].dtype,
                        [&](auto keys) { return SearchSorted<decltype(keys)>(dense); });
  });
}

size_t Scratch(const KernelCall& call) { return DenseCall::ScratchBytes(call); }

double SearchCost(const KernelCall& call) {
  return 50.0 + 30.0 * static_cast<double>(call.outputs[0].Count());
}

const char* AcceptDense(const KernelCall& call) {
  return call.outputs[0].contiguous ? nullptr : "output is not dense";
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(searchsorted, {"searchsorted.cpu.bisect", &RunSearchSorted, &AcceptDense,
                                       &SearchCost, &Scratch});

}  // namespace cpu
}  // namespace oneflow
