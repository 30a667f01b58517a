// The kernels that count and collect what is true: nonzero_count, nonzero_rows, masked_take, and its
// gradient masked_untake. All operands are dense.
//
// Work is cut into blocks; each block's count comes first, then each block knows where it writes.
#include <algorithm>
#include <cstring>
#include <vector>

#include "oneflow/core/dims.h"
#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_indexing.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/indexing/index_loops.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

constexpr int64_t kBlock = 32768;

template <typename T>
int64_t CountTrue(const ArrayView& x, int64_t begin, int64_t end) {
  const T* data = x.Data<T>();
  int64_t count = 0;
  for (int64_t i = begin; i < end; ++i) { count += data[i] != T(0) ? 1 : 0; }
  return count;
}

// The sign does not make a zero true: of the halves, all bits but that are looked at.
int64_t CountHalves(const ArrayView& x, int64_t begin, int64_t end) {
  const auto* data = x.Data<uint16_t>();
  int64_t count = 0;
  for (int64_t i = begin; i < end; ++i) { count += (data[i] & 0x7fff) != 0 ? 1 : 0; }
  return count;
}

int64_t CountIn(const ArrayView& x, int64_t begin, int64_t end) {
  switch (x.dtype) {
    case DataType::kFloat16:
    case DataType::kBFloat16: return CountHalves(x, begin, end);
    case DataType::kFloat: return CountTrue<float>(x, begin, end);
    case DataType::kDouble: return CountTrue<double>(x, begin, end);
    case DataType::kInt16: return CountTrue<int16_t>(x, begin, end);
    case DataType::kInt32: return CountTrue<int32_t>(x, begin, end);
    case DataType::kInt64: return CountTrue<int64_t>(x, begin, end);
    default: return GetIndexLoops().count_bytes(x.Data<uint8_t>() + begin, end - begin);
  }
}

// Calls found(first, places, count) for stretches of the elements: what is true lies at first + places[0],
// first + places[1], ... Places are collected without a branch for each element, which would be
// foretold wrongly.
template <typename Find, typename Found>
void FindStretches(int64_t begin, int64_t end, const Find& find, const Found& found) {
  constexpr int64_t kStretch = 2048;
  uint16_t places[kStretch + 1];
  for (; begin < end; begin += kStretch) {
    found(begin, places, find(begin, std::min(kStretch, end - begin), places));
  }
}

template <typename T, typename Found>
void FindTrue(const ArrayView& x, int64_t begin, int64_t end, const Found& found) {
  const T* data = x.Data<T>();
  const auto find = [data](int64_t first, int64_t n, uint16_t* places) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; ++i) {
      places[count] = static_cast<uint16_t>(i);
      count += data[first + i] != T(0) ? 1 : 0;
    }
    return count;
  };
  FindStretches(begin, end, find, found);
}

template <typename Found>
void FindBytes(const ArrayView& x, int64_t begin, int64_t end, const Found& found) {
  const auto* data = x.Data<uint8_t>();
  const auto find = [data](int64_t first, int64_t n, uint16_t* places) {
    return GetIndexLoops().find_bytes(data + first, n, places);
  };
  FindStretches(begin, end, find, found);
}

template <typename Found>
void FindHalves(const ArrayView& x, int64_t begin, int64_t end, const Found& found) {
  const auto* data = x.Data<uint16_t>();
  const auto find = [data](int64_t first, int64_t n, uint16_t* places) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; ++i) {
      places[count] = static_cast<uint16_t>(i);
      count += (data[first + i] & 0x7fff) != 0 ? 1 : 0;
    }
    return count;
  };
  FindStretches(begin, end, find, found);
}

template <typename Found>
void FindIn(const ArrayView& x, int64_t begin, int64_t end, const Found& found) {
  switch (x.dtype) {
    case DataType::kFloat16:
    case DataType::kBFloat16: return FindHalves(x, begin, end, found);
    case DataType::kFloat: return FindTrue<float>(x, begin, end, found);
    case DataType::kDouble: return FindTrue<double>(x, begin, end, found);
    case DataType::kInt16: return FindTrue<int16_t>(x, begin, end, found);
    case DataType::kInt32: return FindTrue<int32_t>(x, begin, end, found);
    case DataType::kInt64: return FindTrue<int64_t>(x, begin, end, found);
    default: return FindBytes(x, begin, end, found);
  }
}

// How many are true before each block, and at the end in all.
std::vector<int64_t> CountsBefore(const ArrayView& x, int threads) {
  const int64_t total = x.Count();
  std::vector<int64_t> before(static_cast<size_t>((total + kBlock - 1) / kBlock) + 1, 0);
  ParallelFor(threads, total, kBlock, [&](int64_t begin, int64_t end) {
    before[static_cast<size_t>(begin / kBlock) + 1] = CountIn(x, begin, end);
  });
  for (size_t i = 1; i < before.size(); ++i) { before[i] += before[i - 1]; }
  return before;
}

Maybe<void> RunCount(const KernelCall& call) {
  *call.outputs[0].Data<int64_t>() = CountsBefore(call.inputs[0], call.threads).back();
  return Ok();
}

// The count was taken by an op before this one; another thread may have written since.
Maybe<void> CheckCount(const char* op, int64_t expected, int64_t found) {
  if (expected == found) { return Ok(); }
  return RuntimeError("[{}] expects a tensor that nobody changes meanwhile, got {} true elements "
                      "after {} had been counted",
                      op, found, expected);
}

// ---- nonzero_rows: x -> (count, ndim) indices -------------------------------------------------------

// Writes the index of element `i`, then counts on.
class IndexWriter {
 public:
  IndexWriter(const ArrayView& x, int64_t i) : x_(x) {
    for (int d = x.ndim - 1; d >= 0; --d) {
      index_[d] = i % x.shape[d];
      i /= x.shape[d];
    }
  }
  void Advance(int64_t steps) {
    for (int d = x_.ndim - 1; d >= 0 && steps > 0; --d) {
      index_[d] += steps;
      if (index_[d] < x_.shape[d]) { return; }
      steps = index_[d] / x_.shape[d];
      index_[d] %= x_.shape[d];
    }
  }
  void Write(int64_t* to) const {
    for (int d = 0; d < x_.ndim; ++d) { to[d] = index_[d]; }
  }

 private:
  const ArrayView& x_;
  int64_t index_[kMaxDims] = {};
};

Maybe<void> RunRows(const KernelCall& call) {
  const ArrayView& x = call.inputs[0];
  auto* out = call.outputs[0].Data<int64_t>();
  const std::vector<int64_t> before = CountsBefore(x, call.threads);
  JUST(CheckCount("nonzero", call.GetAttrs<CountAttrs>().count, before.back()));
  ParallelFor(call.threads, x.Count(), kBlock, [&](int64_t begin, int64_t end) {
    IndexWriter writer(x, begin);
    int64_t at = begin;
    int64_t* to = out + before[static_cast<size_t>(begin / kBlock)] * x.ndim;
    FindIn(x, begin, end, [&](int64_t first, const uint16_t* places, int64_t count) {
      if (x.ndim == 1) {
        for (int64_t k = 0; k < count; ++k) { to[k] = first + places[k]; }
        to += count;
        return;
      }
      for (int64_t k = 0; k < count; ++k, to += x.ndim) {
        writer.Advance(first + places[k] - at);
        writer.Write(to);
        at = first + places[k];
      }
    });
  });
  return Ok();
}

// ---- masked_take: x, mask -> (count,); masked_untake: dy, mask -> dx -------------------------------

template <typename Word, bool kTake>
void Move(const ArrayView& all, const ArrayView& mask, const ArrayView& some,
          const std::vector<int64_t>& before, int threads) {
  auto* whole = all.Data<Word>();
  auto* packed = some.Data<Word>();
  const auto* wanted = mask.Data<uint8_t>();
  ParallelFor(threads, mask.Count(), kBlock, [&](int64_t begin, int64_t end) {
    Word* next = packed + before[static_cast<size_t>(begin / kBlock)];
    Word* const stop = packed + before[static_cast<size_t>(begin / kBlock) + 1];
    for (int64_t i = begin; i < end; ++i) {
      if (kTake) {
        if (next == stop) { break; }
        *next = whole[i];  // overwritten by the one that is wanted
        next += wanted[i] != 0 ? 1 : 0;
      } else {
        whole[i] = wanted[i] != 0 ? *next++ : Word(0);
      }
    }
  });
}

template <bool kTake>
Maybe<void> RunMove(const char* op, const KernelCall& call, const ArrayView& all,
                    const ArrayView& some) {
  const ArrayView& mask = call.inputs[1];
  const std::vector<int64_t> before = CountsBefore(mask, call.threads);
  JUST(CheckCount(op, some.Count(), before.back()));
  switch (SizeOf(all.dtype)) {
    case 1: Move<uint8_t, kTake>(all, mask, some, before, call.threads); break;
    case 2: Move<uint16_t, kTake>(all, mask, some, before, call.threads); break;
    case 4: Move<uint32_t, kTake>(all, mask, some, before, call.threads); break;
    default: Move<uint64_t, kTake>(all, mask, some, before, call.threads); break;
  }
  return Ok();
}

Maybe<void> RunTake(const KernelCall& call) {
  return RunMove<true>("masked_select", call, call.inputs[0], call.outputs[0]);
}
Maybe<void> RunUntake(const KernelCall& call) {
  return RunMove<false>("masked_select", call, call.outputs[0], call.inputs[0]);
}

const char* AcceptDense(const KernelCall& call) {
  for (int i = 0; i < call.num_inputs; ++i) {
    if (!call.inputs[i].contiguous) { return "an operand is not dense"; }
  }
  return nullptr;
}

const char* AcceptMove(const KernelCall& call) {
  if (call.inputs[1].dtype != DataType::kBool) { return "a mask that is not bool"; }
  if (call.inputs[0].dtype != call.outputs[0].dtype) { return "a result of another dtype"; }
  return AcceptDense(call);
}

double CostOfCount(const KernelCall& call) { return MemoryCostNs(BytesOf(call.inputs[0])); }
double CostOfRows(const KernelCall& call) {
  const double each = call.inputs[0].ndim == 1 ? 0.25 : 1.0;
  return 2 * CostOfCount(call) + each * static_cast<double>(call.outputs[0].Count()) +
         0.35 * static_cast<double>(call.inputs[0].Count());
}
double CostOfMove(const KernelCall& call) {
  return ElementwiseCostNs(call) + static_cast<double>(call.inputs[1].Count()) / 2;
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(nonzero_count,
                        {"nonzero_count.cpu.blocks", &RunCount, &AcceptDense, &CostOfCount});
ONEFLOW_REGISTER_KERNEL(nonzero_rows,
                        {"nonzero_rows.cpu.blocks", &RunRows, &AcceptDense, &CostOfRows});
ONEFLOW_REGISTER_KERNEL(masked_take,
                        {"masked_take.cpu.blocks", &RunTake, &AcceptMove, &CostOfMove});
ONEFLOW_REGISTER_KERNEL(masked_untake,
                        {"masked_untake.cpu.blocks", &RunUntake, &AcceptMove, &CostOfMove});

}  // namespace cpu
}  // namespace oneflow
