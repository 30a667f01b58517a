// The kernel constant_pad: the operand, with a border of one value.
#include <algorithm>
#include <cstring>

#include "oneflow/core/dims.h"
#include "oneflow/core/shape.h"
#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_shape.h"
#include "oneflow/kernels/cpu/copy.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/scalar_bits.h"
#include "oneflow/kernels/cpu/shape/row_loops.h"
#include "oneflow/kernels/cpu/strided_loop.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

// The last dim that grows; all behind it move with it. 0 where none does.
int LastPadded(const ConstantPadAttrs& attrs) {
  for (int d = attrs.before.count - 1; d > 0; --d) {
    if (attrs.before.values[d] != 0 || attrs.after.values[d] != 0) { return d; }
  }
  return 0;
}

template <typename Word>
void FillWords(char* to, const ScalarBits& value, int64_t n) {
  Word word;
  std::memcpy(&word, value.bytes, sizeof(Word));
  std::fill_n(reinterpret_cast<Word*>(to), n, word);
}

using FillFn = void (*)(char*, const ScalarBits&, int64_t);

FillFn ChooseFill(size_t size) {
  switch (size) {
    case 1: return &FillWords<uint8_t>;
    case 2: return &FillWords<uint16_t>;
    case 4: return &FillWords<uint32_t>;
    default: return &FillWords<uint64_t>;
  }
}

// A call in rows: dims up to `last` are walked, the rest is one run of `inner` elements.
struct Plan {
  const ConstantPadAttrs& attrs;
  const ArrayView& in;
  const ArrayView& out;
  int last;
  int64_t inner = 1;
};

// Walks the rows of the result, and knows the operand's row that goes to each.
class RowWalk {
 public:
  RowWalk(const Plan& plan, int64_t row) : plan_(plan) {
    for (int d = plan.last - 1; d >= 0; --d) {
      index_[d] = row % plan.out.shape[d];
      row /= plan.out.shape[d];
    }
    Find();
  }

  // -1 where all is border.
  int64_t source() const { return source_; }

  void Next() {
    if (plan_.last == 0) { return; }  // there is one row only
    int d = plan_.last - 1;
    for (; d >= 0 && ++index_[d] == plan_.out.shape[d]; --d) { index_[d] = 0; }
    const int inner = plan_.last - 1;
    if (d == inner && source_ >= 0 &&
        index_[d] - plan_.attrs.before.values[d] < plan_.in.shape[d]) {
      ++source_;
    } else {
      Find();
    }
  }

 private:
  void Find() {
    source_ = 0;
    for (int d = 0; d < plan_.last; ++d) {
      const int64_t index = index_[d] - plan_.attrs.before.values[d];
      if (index < 0 || index >= plan_.in.shape[d]) {
        source_ = -1;
        return;
      }
      source_ = source_ * plan_.in.shape[d] + index;
    }
  }

  const Plan& plan_;
  int64_t index_[kMaxDims] = {};
  int64_t source_ = 0;
};

void PadRows(const Plan& plan, int threads) {
  const auto size = static_cast<int64_t>(SizeOf(plan.out.dtype));
  const ScalarBits value = ToScalarBits(plan.attrs.value, plan.out.dtype);
  const auto pad = RowLoopsOf(size).pad;
  const int64_t length = plan.out.shape[plan.last] * plan.inner;
  const int64_t before = plan.attrs.before.values[plan.last] * plan.inner;
  const int64_t middle = plan.in.shape[plan.last] * plan.inner;
  const int64_t after = length - before - middle;
  const int64_t grain = std::max<int64_t>(1, StridedLoop::kGrain / length);
  ParallelFor(threads, plan.out.Count() / length, grain, [&](int64_t begin, int64_t end) {
    RowWalk walk(plan, begin);
    char* to = plan.out.Data<char>() + begin * length * size;
    for (int64_t row = begin; row < end; ++row, to += length * size, walk.Next()) {
      if (walk.source() < 0 || middle == 0) {
        pad(to, nullptr, value.bytes, length, 0, 0);
      } else {
        pad(to, plan.in.Data<char>() + walk.source() * middle * size, value.bytes, before, middle,
            after);
      }
    }
  });
}

// An operand that does not lie densely.
void PadStrided(const Plan& plan, int threads) {
  const auto size = static_cast<int64_t>(SizeOf(plan.out.dtype));
  const ScalarBits value = ToScalarBits(plan.attrs.value, plan.out.dtype);
  ChooseFill(static_cast<size_t>(size))(plan.out.Data<char>(), value, plan.out.Count());
  if (plan.in.Count() == 0) { return; }
  ArrayView part = plan.in;
  int64_t offset = 0;
  for (int d = 0; d < part.ndim; ++d) {
    offset += plan.attrs.before.values[d] * plan.out.strides[d];
  }
  part.data = plan.out.Data<char>() + offset * size;
  part.strides = plan.out.strides;
  part.contiguous = false;
  CopyArray(part, plan.in, threads);
}

Maybe<void> Run(const KernelCall& call) {
  const ConstantPadAttrs& attrs = call.GetAttrs<ConstantPadAttrs>();
  Plan plan{attrs, call.inputs[0], call.outputs[0], LastPadded(attrs)};
  if (plan.out.Count() == 0) { return Ok(); }
  for (int d = plan.last + 1; d < plan.out.ndim; ++d) { plan.inner *= plan.out.shape[d]; }
  if (plan.in.contiguous && plan.out.ndim > 0) {
    PadRows(plan, call.threads);
  } else {
    PadStrided(plan, call.threads);
  }
  return Ok();
}

const char* Accept(const KernelCall& call) {
  return call.outputs[0].contiguous ? nullptr : "output is not dense";
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(constant_pad, {"constant_pad.cpu.rows", &Run, &Accept, &ElementwiseCostNs});

}  // namespace cpu
}  // namespace oneflow
