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

// Rows of the result that are made alike: of rows of the operand that follow each other, or of none.
struct RowRun {
  int64_t source;  // the first of them; -1: all is border
  int64_t rows;
};

RowRun FindRun(const Plan& plan, int64_t row) {
  if (plan.last == 0) { return {0, 1}; }
  const int inner = plan.last - 1;
  const int64_t size = plan.in.shape[inner];
  const int64_t index = row % plan.out.shape[inner] - plan.attrs.before.values[inner];
  const int64_t rest = plan.out.shape[inner] - row % plan.out.shape[inner];
  row /= plan.out.shape[inner];
  int64_t source = 0;
  int64_t step = size;
  for (int d = inner - 1; d >= 0; --d) {
    const int64_t at = row % plan.out.shape[d] - plan.attrs.before.values[d];
    row /= plan.out.shape[d];
    if (at < 0 || at >= plan.in.shape[d]) { return {-1, rest}; }
    source += at * step;
    step *= plan.in.shape[d];
  }
  if (index < 0) { return {-1, std::min(-index, rest)}; }
  if (index >= size) { return {-1, rest}; }
  return {source + index, std::min(size - index, rest)};
}

void PadRows(const Plan& plan, int threads) {
  const auto size = static_cast<int64_t>(SizeOf(plan.out.dtype));
  const ScalarBits value = ToScalarBits(plan.attrs.value, plan.out.dtype);
  const RowLoops& loops = RowLoopsOf(size);
  const int64_t length = plan.out.shape[plan.last] * plan.inner;
  const int64_t before = plan.attrs.before.values[plan.last] * plan.inner;
  const int64_t middle = plan.in.shape[plan.last] * plan.inner;
  const int64_t after = length - before - middle;
  const int64_t grain = std::max<int64_t>(1, StridedLoop::kGrain / length);
  ParallelFor(threads, plan.out.Count() / length, grain, [&](int64_t begin, int64_t end) {
    char* to = plan.out.Data<char>() + begin * length * size;
    while (begin < end) {
      const RowRun run = FindRun(plan, begin);
      const int64_t rows = std::min(run.rows, end - begin);
      if (run.source < 0 || middle == 0) {
        loops.pad(to, nullptr, value.bytes, rows * length, 0, 0);
      } else {
        loops.pad_rows(to, plan.in.Data<char>() + run.source * middle * size, value.bytes, before,
                       middle, after, rows);
      }
      begin += rows;
      to += rows * length * size;
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
