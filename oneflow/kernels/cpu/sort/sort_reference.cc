// Reference kernels of sort, topk, kthvalue, mode, the median, searchsorted, in_top_k,
// roc_auc_score, unique and bincount.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "oneflow/kernels/attrs_reduce.h"
#include "oneflow/kernels/cpu/reference.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {
namespace reference {

namespace {

struct Element {
  Value value;
  int64_t index;
};
using Elements = std::vector<Element>;

// A NaN is greater than every number.
bool Less(const Value& a, const Value& b) {
  if (!a.is_float) { return a.i < b.i; }
  return std::isnan(b.d) ? !std::isnan(a.d) : a.d < b.d;
}
bool Equal(const Value& a, const Value& b) { return !Less(a, b) && !Less(b, a); }
bool IsNan(const Value& x) { return x.is_float && std::isnan(x.d); }

void Sort(Elements* elements, bool descending) {
  std::stable_sort(elements->begin(), elements->end(), [&](const Element& a, const Element& b) {
    return descending ? Less(b.value, a.value) : Less(a.value, b.value);
  });
}

// body(elements of a vector along the dim, index of its first element); also for vectors of none.
template <typename Body>
void ForEachList(const ArrayView& x, int64_t dim, const Body& body) {
  Dims shape = ShapeOf(x);
  const int64_t n = x.ndim == 0 ? 1 : shape[static_cast<int>(dim)];
  if (x.ndim > 0) { shape[static_cast<int>(dim)] = 1; }
  ForEachIndex(shape, [&](const Dims& start) {
    Elements elements;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t step = x.ndim == 0 ? 0 : i * x.strides[dim];
      elements.push_back({Load(x, OffsetOf(x, start) + step), i});
    }
    body(elements, start);
  });
}

void StoreBoth(const KernelCall& call, int64_t offset, int64_t index_offset, const Element& e) {
  Store(call.outputs[0], offset, e.value);
  Store(call.outputs[1], index_offset, Value::Int(e.index));
}

// The first `count` elements to their places along the dim.
void StoreVector(const KernelCall& call, int64_t dim, const Dims& start, const Elements& elements,
                 int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    int64_t offsets[2];
    for (int k = 0; k < 2; ++k) {
      const ArrayView& out = call.outputs[k];
      offsets[k] = out.ndim == 0 ? 0 : OffsetOf(out, start) + i * out.strides[dim];
    }
    StoreBoth(call, offsets[0], offsets[1], elements[static_cast<size_t>(i)]);
  }
}

Maybe<void> RunSort(const KernelCall& call) {
  const SortAttrs& attrs = call.GetAttrs<SortAttrs>();
  ForEachList(call.inputs[0], attrs.dim, [&](Elements& elements, const Dims& start) {
    Sort(&elements, attrs.descending);
    StoreVector(call, attrs.dim, start, elements, static_cast<int64_t>(elements.size()));
  });
  return Ok();
}

Maybe<void> RunTopk(const KernelCall& call) {
  const TopkAttrs& attrs = call.GetAttrs<TopkAttrs>();
  ForEachList(call.inputs[0], attrs.dim, [&](Elements& elements, const Dims& start) {
    Sort(&elements, attrs.largest);
    StoreVector(call, attrs.dim, start, elements, attrs.k);
  });
  return Ok();
}

const Element& OfRank(Elements* elements, int64_t k, bool nan_wins) {
  Elements& all = *elements;
  for (const Element& e : all) {
    if (nan_wins && IsNan(e.value)) { return e; }
  }
  Sort(elements, false);
  return all[static_cast<size_t>(k)];
}

// The outputs are dense, with or without the dim.
Maybe<void> RunKth(const KernelCall& call) {
  const SelectAttrs& attrs = call.GetAttrs<SelectAttrs>();
  int64_t output = 0;
  ForEachList(call.inputs[0], attrs.dim, [&](Elements& elements, const Dims&) {
    StoreBoth(call, output, output, OfRank(&elements, attrs.k, attrs.nan_wins));
    ++output;
  });
  return Ok();
}

Maybe<void> RunMode(const KernelCall& call) {
  int64_t output = 0;
  ForEachList(call.inputs[0], call.GetAttrs<SelectAttrs>().dim,
              [&](Elements& elements, const Dims&) {
                Sort(&elements, false);
                size_t best = 0;
                size_t longest = 0;
                size_t length = 0;
                for (size_t i = 0; i < elements.size(); ++i) {
                  const bool same = i > 0 && Equal(elements[i].value, elements[i - 1].value);
                  length = same ? length + 1 : 1;
                  const bool last =
                      i + 1 == elements.size() || !Equal(elements[i].value, elements[i + 1].value);
                  if (last && length > longest) {
                    longest = length;
                    best = i;
                  }
                }
                StoreBoth(call, output, output, elements[best]);
                ++output;
              });
  return Ok();
}

Maybe<void> RunMedian(const KernelCall& call) {
  const ArrayView& x = call.inputs[0];
  Elements elements;
  ForEachIndex(ShapeOf(x), [&](const Dims& index) {
    elements.push_back({Load(x, OffsetOf(x, index)), static_cast<int64_t>(elements.size())});
  });
  if (elements.empty()) {
    const int bits = static_cast<int>(SizeOf(x.dtype)) * 8;
    const bool is_signed = !IsBool(x.dtype) && x.dtype != DataType::kUInt8;
    const auto least = static_cast<int64_t>(~uint64_t{0} << (bits - 1));
    Store(call.outputs[0], 0,
          IsFloating(x.dtype) ? Value::Float(NAN) : Value::Int(is_signed ? least : 0));
    return Ok();
  }
  const int64_t middle = static_cast<int64_t>(elements.size() - 1) / 2;
  Store(call.outputs[0], 0, OfRank(&elements, middle, true).value);
  return Ok();
}

Maybe<void> RunSearch(const KernelCall& call) {
  const ArrayView& sequence = call.inputs[0];
  const ArrayView& values = call.inputs[1];
  const SearchAttrs& attrs = call.GetAttrs<SearchAttrs>();
  const int64_t n = sequence.shape[sequence.ndim - 1];
  bool inside = true;
  int64_t output = 0;
  ForEachIndex(ShapeOf(values), [&](const Dims& index) {
    const Value v = Load(values, OffsetOf(values, index));
    int64_t found = 0;
    for (int64_t i = 0; i < n; ++i) {
      Dims at = sequence.ndim == 1 ? Dims{i} : index;
      at[at.size() - 1] = i;
      if (call.HasInput(2)) {
        const int64_t order = Load(call.inputs[2], OffsetOf(call.inputs[2], at)).i;
        inside = inside && order >= 0 && order < n;
        if (!inside) { return; }
        at[at.size() - 1] = order;
      }
      const Value x = Load(sequence, OffsetOf(sequence, at));
      found += (attrs.right ? !Less(v, x) : Less(x, v)) ? 1 : 0;
    }
    Store(call.outputs[0], output++, Value::Int(found));
  });
  if (inside) { return Ok(); }
  return IndexError("[searchsorted] expects a sorter of indices in [0, {})", n);
}

Maybe<void> RunInTopk(const KernelCall& call) {
  const int64_t k = call.GetAttrs<InTopkAttrs>().k;
  ForEachList(call.inputs[1], 1, [&](const Elements& elements, const Dims& start) {
    const int64_t row = start[0];
    const int64_t target = Load(call.inputs[0], row * call.inputs[0].strides[0]).i;
    bool possible = target >= 0 && target < static_cast<int64_t>(elements.size());
    int64_t greater = 0;
    for (const Element& e : elements) {
      possible = possible && std::isfinite(e.value.d);
      if (!possible) { break; }
      greater += e.value.d > elements[static_cast<size_t>(target)].value.d ? 1 : 0;
    }
    Store(call.outputs[0], row, Value::Int(possible && greater < k ? 1 : 0));
  });
  return Ok();
}

// Every pair of a positive and a negative example is looked at.
Maybe<void> RunAuc(const KernelCall& call) {
  const ArrayView& label = call.inputs[0];
  const ArrayView& prediction = call.inputs[1];
  std::vector<double> sides[2];
  ForEachIndex(ShapeOf(label), [&](const Dims& index) {
    const bool positive = Load(label, OffsetOf(label, index)).AsDouble() != 0.0;
    sides[positive ? 1 : 0].push_back(Load(prediction, OffsetOf(prediction, index)).AsDouble());
  });
  double won = 0.0;
  for (double p : sides[1]) {
    for (double n : sides[0]) { won += p > n ? 1.0 : p == n ? 0.5 : 0.0; }
  }
  const double pairs = static_cast<double>(sides[0].size()) * static_cast<double>(sides[1].size());
  Store(call.outputs[0], 0, Value::Float(won / pairs));
  return Ok();
}

Maybe<void> RunUnique(const KernelCall& call) {
  const ArrayView& x = call.inputs[0];
  Elements elements;
  for (int64_t i = 0; i < x.Count(); ++i) {
    elements.push_back({Load(x, OffsetOf(x, Dims{i})), i});
  }
  Sort(&elements, false);
  int64_t found = 0;
  int64_t count = 0;
  for (size_t i = 0; i < elements.size(); ++i) {
    const Element& e = elements[i];
    if (i == 0 || !Equal(e.value, elements[i - 1].value) || IsNan(e.value)) {
      Store(call.outputs[0], found++, e.value);
      count = 0;
    }
    Store(call.outputs[1], e.index, Value::Int(found - 1));
    Store(call.outputs[2], found - 1, Value::Int(++count));
  }
  Store(call.outputs[3], 0, Value::Int(found));
  return Ok();
}

Maybe<void> RunBincount(const KernelCall& call) {
  const ArrayView& x = call.inputs[0];
  const ArrayView& out = call.outputs[0];
  const int64_t size = out.Count();
  std::vector<double> sums(static_cast<size_t>(size), 0.0);
  for (int64_t i = 0; i < x.Count(); ++i) {
    const int64_t bin = Load(x, OffsetOf(x, Dims{i})).i;
    if (bin < 0 || bin >= size) {
      return RuntimeError("[bincount] expects numbers in [0, {}), got {}", size, bin);
    }
    const ArrayView& weights = call.inputs[1];
    sums[static_cast<size_t>(bin)] +=
        call.HasInput(1) ? Load(weights, OffsetOf(weights, Dims{i})).AsDouble() : 1.0;
  }
  for (int64_t i = 0; i < size; ++i) { Store(out, i, Value::Float(sums[static_cast<size_t>(i)])); }
  return Ok();
}

double Cost(const KernelCall& call) { return 200.0 * static_cast<double>(call.inputs[0].Count()); }

}  // namespace

ONEFLOW_REGISTER_KERNEL(sort, {"sort.cpu.reference", &RunSort, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(topk, {"topk.cpu.reference", &RunTopk, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(kthvalue, {"kthvalue.cpu.reference", &RunKth, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(mode, {"mode.cpu.reference", &RunMode, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(median_flat, {"median_flat.cpu.reference", &RunMedian, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(searchsorted, {"searchsorted.cpu.reference", &RunSearch, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(in_top_k, {"in_top_k.cpu.reference", &RunInTopk, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(roc_auc_score, {"roc_auc_score.cpu.reference", &RunAuc, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(unique, {"unique.cpu.reference", &RunUnique, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(bincount, {"bincount.cpu.reference", &RunBincount, nullptr, &Cost});

}  // namespace reference
}  // namespace cpu
}  // namespace oneflow
