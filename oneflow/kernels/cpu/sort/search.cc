// The kernel searchsorted.
#include <algorithm>
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

constexpr int kAbreast = 16;

// The same for kAbreast floats, none of them NaN, in a row without a sorter: by their own order, which
// the processor knows, instead of that of keys. All take their steps together, since the steps of one
// wait for each other.
template <typename Float, bool kRight>
void SearchAbreast(const Float* row, int64_t n, const Float* values, int64_t* found) {
  for (int l = 0; l < kAbreast; ++l) { found[l] = 0; }
  for (; n > 1; n -= n / 2) {
    const int64_t half = n / 2;
    const Float* middle = row + half - 1;
    for (int l = 0; l < kAbreast; ++l) {
      const Float x = middle[found[l]];
      const bool before = kRight ? x <= values[l] : x < values[l];
      found[l] += half & -static_cast<int64_t>(before);
    }
  }
  for (int l = 0; l < kAbreast && n == 1; ++l) {
    const Float x = row[found[l]];
    found[l] += (kRight ? x <= values[l] : x < values[l]) ? 1 : 0;
  }
}

// Searches for values[0..count), count <= kAbreast.
template <typename Keys, bool kRight>
void Find(const typename Keys::Bits* row, const int64_t* order, int64_t n,
          const typename Keys::Bits* values, int64_t count, int64_t* found) {
  if constexpr (Keys::kIsFloat && sizeof(*values) >= 4) {
    using Float = std::conditional_t<sizeof(*values) == 4, float, double>;
    bool numbers = order == nullptr && count == kAbreast;
    for (int64_t i = 0; i < count; ++i) { numbers = numbers && !Keys::IsNan(values[i]); }
    if (numbers) {
      Float floats[kAbreast];
      std::memcpy(floats, values, sizeof(floats));
      return SearchAbreast<Float, kRight>(reinterpret_cast<const Float*>(row), n, floats, found);
    }
  }
  for (int64_t i = 0; i < count; ++i) {
    found[i] = Search<Keys, kRight>(row, order, n, Keys::Of(values[i]));
  }
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
    int64_t count = 0;
    for (int64_t i = begin; i < end; i += count) {
      count = std::min<int64_t>({kAbreast, end - i, per_row - i % per_row});
      const int64_t row = sequence.ndim == 1 ? 0 : i / per_row * n;
      const int64_t* by = order == nullptr ? nullptr : order + row;
      int64_t found[kAbreast];
      attrs.right ? Find<Keys, true>(sorted + row, by, n, values + i, count, found)
                  : Find<Keys, false>(sorted + row, by, n, values + i, count, found);
      for (int64_t k = 0; k < count; ++k) {
        if (attrs.dtype == DataType::kInt32) {
          out.Data<int32_t>()[i + k] = static_cast<int32_t>(found[k]);
        } else {
          out.Data<int64_t>()[i + k] = found[k];
        }
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
