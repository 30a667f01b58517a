// The kernels gather (reads elements along one dim) and scatter_ (writes, adds or multiplies them into
// a target). What one element of a target gets is applied in the order of the indices, whatever the
// number of threads.
//
// gather: x, index -> out. scatter_: target, index, src -> target.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "oneflow/common/planted_fault.h"
#include "oneflow/core/dims.h"
#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/indexing/index_loops.h"
#include "oneflow/kernels/cpu/indexing/indices.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

constexpr int64_t kGrain = 16384;

// The elements of `index`, in lines: along dim `dim`, side by side with the last dim. The lines are
// the other dims; each has its own place on the indexed side and on the plain one (out or src).
struct Walk {
  Walk(const ArrayView& indexed_side, const ArrayView& index_array, const ArrayView& plain_side,
       int along)
      : indexed(indexed_side), index(index_array), plain(plain_side), dim(along) {
    last = index.ndim - 1;
    for (int d = 0; d < index.ndim; ++d) {
      if (d != dim && d != last) { lines *= index.shape[d]; }
    }
    length = index.shape[dim];
    width = dim == last ? 1 : index.shape[last];
  }

  const ArrayView& indexed;
  const ArrayView& index;
  const ArrayView& plain;
  int dim;
  int last;
  int64_t lines = 1;
  int64_t length;  // along dim
  int64_t width;   // along the last dim, where that is another

  struct Place {
    int64_t indexed = 0;
    int64_t index = 0;
    int64_t plain = 0;
  };
  Place PlaceOf(int64_t line) const {
    Place place;
    for (int d = last; d >= 0; --d) {
      if (d == dim || d == last) { continue; }
      const int64_t at = line % index.shape[d];
      line /= index.shape[d];
      place.indexed += at * indexed.strides[d];
      place.index += at * index.strides[d];
      place.plain += at * plain.strides[d];
    }
    return place;
  }

  // Calls visit(index, offset of it, indexed offset without it, plain offset) for the elements of one
  // line, columns [begin, end): along dim first, so that a target sees its indices in order.
  template <typename I, typename Visit>
  bool VisitLine(int64_t line, int64_t begin, int64_t end, const Visit& visit) const {
    const Place place = PlaceOf(line);
    const I* from = index.Data<I>() + place.index;
    if (dim == last) {
      const int64_t index_step = index.strides[dim];
      const int64_t plain_step = plain.strides[dim];
      for (int64_t i = 0; i < length; ++i) {
        if (!visit(static_cast<int64_t>(from[i * index_step]), place.indexed,
                   place.plain + i * plain_step)) {
          return false;
        }
      }
      return true;
    }
    const int64_t index_column = index.strides[last];
    const int64_t indexed_column = indexed.strides[last];
    const int64_t plain_column = plain.strides[last];
    for (int64_t i = 0; i < length; ++i) {
      const int64_t u = i * index.strides[dim];
      const int64_t v = place.plain + i * plain.strides[dim];
      for (int64_t j = begin; j < end; ++j) {
        if (!visit(static_cast<int64_t>(from[u + j * index_column]),
                   place.indexed + j * indexed_column, v + j * plain_column)) {
          return false;
        }
      }
    }
    return true;
  }
};

// Whether lines lie densely along the indexed dim on the side of the index and on the plain one.
bool HasDenseLines(const Walk& walk) {
  return walk.dim == walk.last && walk.index.strides[walk.dim] == 1 &&
         walk.plain.strides[walk.dim] == 1;
}

// Row-major position in the index of a line's first bad element.
template <typename I>
ErrorPtr FindBad(const Walk& walk, int64_t caller) {
  const int64_t size = walk.indexed.shape[walk.dim];
  const int64_t total = walk.index.Count();
  for (int64_t at = 0; at < total; ++at) {
    int64_t rest = at;
    int64_t offset = 0;
    for (int d = walk.last; d >= 0; --d) {
      offset += rest % walk.index.shape[d] * walk.index.strides[d];
      rest /= walk.index.shape[d];
    }
    const auto value = static_cast<int64_t>(walk.index.Data<I>()[offset]);
    if (Wrap(value, size, WrapsNegative(caller)) < 0) {
      return BadIndex(caller, walk.indexed, walk.dim, walk.index, at, value);
    }
  }
  return InternalError("[{}] an index changed while it was read", NameOf(caller));
}

// Lines with few elements go together, long ones are cut into strips of columns.
template <typename Body>
void ForLines(const Walk& walk, int threads, const Body& body) {
  const int64_t strip =
      std::max<int64_t>(1, std::min(walk.width, kGrain / std::max<int64_t>(1, walk.length) + 1));
  const int64_t strips = (walk.width + strip - 1) / strip;
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, walk.length * strip));
  ParallelFor(threads, walk.lines * strips, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % strips * strip;
      body(i / strips, first, std::min(first + strip, walk.width));
    }
  });
}

template <typename Word, typename I>
Maybe<void> Gather(const Walk& walk, int64_t caller, int threads) {
  const int64_t size = walk.indexed.shape[walk.dim];
  const int64_t stride = walk.indexed.strides[walk.dim];
  const Word* x = walk.indexed.Data<Word>();
  Word* out = walk.plain.Data<Word>();
  const bool dense = HasDenseLines(walk) && stride == 1;
  std::atomic<bool> bad{false};
  ForLines(walk, threads, [&](int64_t line, int64_t begin, int64_t end) {
    if (dense) {
      const auto place = walk.PlaceOf(line);
      const I* index = walk.index.Data<I>() + place.index;
      if (!GetIndexLoops().InRange(index, walk.length, size)) {
        bad.store(true, std::memory_order_relaxed);
        return;
      }
      const Word* row = x + place.indexed;
      Word* to = out + place.plain;
#pragma GCC unroll 8
      for (int64_t i = 0; i < walk.length; ++i) { to[i] = row[index[i]]; }
      return;
    }
    const bool good = walk.VisitLine<I>(line, begin, end, [&](int64_t k, int64_t from, int64_t to) {
      if (static_cast<uint64_t>(k) >= static_cast<uint64_t>(size)) { return false; }
      out[to] = x[from + k * stride];
      return true;
    });
    if (!good) { bad.store(true, std::memory_order_relaxed); }
  });
  if (bad.load()) { return FindBad<I>(walk, caller); }
  return Ok();
}

template <typename I>
Maybe<void> GatherAny(const Walk& walk, int64_t caller, int threads) {
  switch (SizeOf(walk.indexed.dtype)) {
    case 1: return Gather<uint8_t, I>(walk, caller, threads);
    case 2: return Gather<uint16_t, I>(walk, caller, threads);
    case 4: return Gather<uint32_t, I>(walk, caller, threads);
    default: return Gather<uint64_t, I>(walk, caller, threads);
  }
}

Maybe<void> RunGather(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<GatherAttrs>();
  const ArrayView& out = call.outputs[0];
  if (call.inputs[1].Count() == 0) { return Ok(); }
  const Walk walk(call.inputs[0], call.inputs[1], out, static_cast<int>(attrs.dim));
  Maybe<void> gathered = call.inputs[1].dtype == DataType::kInt32
                             ? GatherAny<int32_t>(walk, attrs.caller, call.threads)
                             : GatherAny<int64_t>(walk, attrs.caller, call.threads);
  if (!gathered.ok() && FaultPlanted(Fault::kBadIndexGivesZeros)) {
    std::memset(out.data, 0, static_cast<size_t>(out.Count()) * SizeOf(out.dtype));
    return Ok();
  }
  return gathered;
}

// ---- scatter -------------------------------------------------------------------------------------

struct Assign {
  template <typename T>
  static void Run(T* to, T value) {
    *to = value;
  }
};
struct Add {
  template <typename T>
  static void Run(T* to, T value) {
    *to = static_cast<T>(*to + value);
  }
};
struct Multiply {
  template <typename T>
  static void Run(T* to, T value) {
    *to = static_cast<T>(*to * value);
  }
};

// Checked first: a target in place keeps its value when it fails.
template <typename I>
Maybe<void> Check(const Walk& walk, int64_t caller, int threads) {
  const int64_t size = walk.indexed.shape[walk.dim];
  const bool dense = HasDenseLines(walk);
  std::atomic<bool> bad{false};
  ForLines(walk, threads, [&](int64_t line, int64_t begin, int64_t end) {
    const auto in_range = [size](int64_t k, int64_t, int64_t) {
      return static_cast<uint64_t>(k) < static_cast<uint64_t>(size);
    };
    const bool good = dense
                          ? GetIndexLoops().InRange(walk.index.Data<I>() + walk.PlaceOf(line).index,
                                                    walk.length, size)
                          : walk.VisitLine<I>(line, begin, end, in_range);
    if (!good) { bad.store(true, std::memory_order_relaxed); }
  });
  if (bad.load()) { return FindBad<I>(walk, caller); }
  return Ok();
}

template <typename Op, typename T, typename I>
void WriteDense(const Walk& walk, int threads) {
  ForLines(walk, threads, [&](int64_t line, int64_t, int64_t) {
    const auto place = walk.PlaceOf(line);
    const I* index = walk.index.Data<I>() + place.index;
    T* to = walk.indexed.Data<T>() + place.indexed;
    const T* from = walk.plain.Data<T>() + place.plain;
#pragma GCC unroll 4
    for (int64_t i = 0; i < walk.length; ++i) { Op::Run(to + index[i], from[i]); }
  });
}

template <typename Op, typename T, typename I>
void Write(const Walk& walk, int threads) {
  const int64_t stride = walk.indexed.strides[walk.dim];
  T* target = walk.indexed.Data<T>();
  const T* src = walk.plain.Data<T>();
  if (HasDenseLines(walk) && stride == 1) { return WriteDense<Op, T, I>(walk, threads); }
  ForLines(walk, threads, [&](int64_t line, int64_t begin, int64_t end) {
    walk.VisitLine<I>(line, begin, end, [&](int64_t k, int64_t to, int64_t from) {
      Op::Run(target + to + k * stride, src[from]);
      return true;
    });
  });
}

template <typename I>
void AssignAny(const Walk& walk, int threads) {
  switch (SizeOf(walk.indexed.dtype)) {
    case 1: return Write<Assign, uint8_t, I>(walk, threads);
    case 2: return Write<Assign, uint16_t, I>(walk, threads);
    case 4: return Write<Assign, uint32_t, I>(walk, threads);
    default: return Write<Assign, uint64_t, I>(walk, threads);
  }
}

template <typename Op, typename I>
void ComputeAny(const Walk& walk, int threads) {
  switch (walk.indexed.dtype) {
    case DataType::kUInt8: return Write<Op, uint8_t, I>(walk, threads);
    case DataType::kInt8: return Write<Op, int8_t, I>(walk, threads);
    case DataType::kInt16: return Write<Op, int16_t, I>(walk, threads);
    case DataType::kInt32: return Write<Op, uint32_t, I>(walk, threads);
    case DataType::kInt64: return Write<Op, uint64_t, I>(walk, threads);
    case DataType::kFloat: return Write<Op, float, I>(walk, threads);
    default: return Write<Op, double, I>(walk, threads);
  }
}

template <typename I>
Maybe<void> ScatterAny(const Walk& walk, const ScatterAttrs& attrs, int threads) {
  JUST(Check<I>(walk, attrs.caller, threads));
  switch (static_cast<ScatterMode>(attrs.mode)) {
    case ScatterMode::kAssign: AssignAny<I>(walk, threads); break;
    case ScatterMode::kAdd: ComputeAny<Add, I>(walk, threads); break;
    case ScatterMode::kMultiply: ComputeAny<Multiply, I>(walk, threads); break;
  }
  return Ok();
}

Maybe<void> RunScatter(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<ScatterAttrs>();
  if (call.inputs[1].Count() == 0) { return Ok(); }
  const Walk walk(call.outputs[0], call.inputs[1], call.inputs[2], static_cast<int>(attrs.dim));
  if (call.inputs[1].dtype == DataType::kInt32) {
    return ScatterAny<int32_t>(walk, attrs, call.threads);
  }
  return ScatterAny<int64_t>(walk, attrs, call.threads);
}

// ---- which calls, what they cost -------------------------------------------------------------------

const char* AcceptWalk(const ArrayView& indexed, const ArrayView& index, const ArrayView& plain) {
  if (!IsIndexType(index.dtype)) { return "an index of a dtype that is none"; }
  if (index.ndim == 0 || indexed.ndim != index.ndim || plain.ndim != index.ndim) {
    return "an operand without dims";
  }
  return indexed.dtype == plain.dtype ? nullptr : "operands of two dtypes";
}

const char* AcceptGather(const KernelCall& call) {
  return AcceptWalk(call.inputs[0], call.inputs[1], call.outputs[0]);
}

const char* AcceptScatter(const KernelCall& call) {
  const DataType dtype = call.outputs[0].dtype;
  const bool computes = call.GetAttrs<ScatterAttrs>().mode != 0;
  if (computes &&
      (dtype == DataType::kBool || dtype == DataType::kFloat16 || dtype == DataType::kBFloat16)) {
    return "a dtype that is not computed with here";
  }
  return AcceptWalk(call.outputs[0], call.inputs[1], call.inputs[2]);
}

double CostGather(const KernelCall& call) {
  return MemoryCostNs(BytesOf(call.inputs[1]) + 2 * BytesOf(call.outputs[0])) +
         0.4 * static_cast<double>(call.outputs[0].Count());
}

double CostScatter(const KernelCall& call) {
  return MemoryCostNs(2 * BytesOf(call.inputs[1]) + 2 * BytesOf(call.inputs[2])) +
         0.5 * static_cast<double>(call.inputs[1].Count());
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(gather, {"gather.cpu.lines", &RunGather, &AcceptGather, &CostGather});
ONEFLOW_REGISTER_KERNEL(scatter, {"scatter.cpu.lines", &RunScatter, &AcceptScatter, &CostScatter});

}  // namespace cpu
}  // namespace oneflow
