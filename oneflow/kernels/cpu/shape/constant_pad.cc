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

  // The operand's row that goes to row `row` of the result; -1 if that is all border.
  int64_t SourceRow(int64_t row) const {
    int64_t source = 0;
    int64_t step = 1;
    for (int d = last - 1; d >= 0; --d) {
      const int64_t index = row % out.shape[d] - attrs.before.values[d];
      row /= out.shape[d];
      if (index < 0 || index >= in.shape[d]) { return -1; }
      source += index * step;
      step *= in.shape[d];
    }
    return source;
  }
};

void PadRows(const Plan& plan, int threads) {
  const auto size = static_cast<int64_t>(SizeOf(plan.out.dtype));
  const ScalarBits value = ToScalarBits(plan.attrs.value, plan.out.dtype);
  const FillFn fill = ChooseFill(static_cast<size_t>(size));
  const int64_t length = plan.out.shape[plan.last] * plan.inner;
  const int64_t before = plan.attrs.before.values[plan.last] * plan.inner;
  const int64_t middle = plan.in.shape[plan.last] * plan.inner;
  const int64_t grain = std::max<int64_t>(1, StridedLoop::kGrain / length);
  ParallelFor(threads, plan.out.Count() / length, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      char* to = plan.out.Data<char>() + row * length * size;
      const int64_t source = plan.SourceRow(row);
      if (source < 0 || middle == 0) {
        fill(to, value, length);
        continue;
      }
      fill(to, value, before);
      std::memcpy(to + before * size, plan.in.Data<char>() + source * middle * size,
                  static_cast<size_t>(middle * size));
      fill(to + (before + middle) * size, value, length - before - middle);
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
