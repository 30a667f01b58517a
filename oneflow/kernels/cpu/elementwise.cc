#include "oneflow/kernels/cpu/elementwise.h"

#include <algorithm>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/cpu/stream_loops.h"
#include "oneflow/kernels/cpu/strided_loop.h"
#include "oneflow/kernels/cpu/tile.h"

namespace oneflow {
namespace cpu {

namespace {

constexpr int64_t kPackElements = 512;
constexpr int64_t kMaxElementBytes = 8;

struct PackBuffer {
  alignas(64) char bytes[kPackElements * kMaxElementBytes];
};

// One operand of a run: either passed through, or packed block by block.
class RunOperand {
 public:
  RunOperand(const LoopRun& run, int k, DataType dtype)
      : data_(run.data[k]),
        stride_(run.strides[k]),
        size_(static_cast<int>(SizeOf(dtype))),
        dense_(stride_ == size_ || run.n == 1) {}

  bool dense() const { return dense_; }
  bool repeats() const { return stride_ == 0 && !dense_; }
  const char* Read(int64_t at, int64_t n, PackBuffer* buffer) const {
    const char* from = data_ + at * stride_;
    if (dense_ || repeats()) { return from; }
    CopyRun(buffer->bytes, size_, from, stride_, size_, n);
    return buffer->bytes;
  }
  char* WriteTo(int64_t at, PackBuffer* buffer) const {
    return dense_ ? data_ + at * size_ : buffer->bytes;
  }
  void Flush(int64_t at, int64_t n, const PackBuffer& buffer) const {
    if (!dense_) { CopyRun(data_ + at * stride_, stride_, buffer.bytes, size_, size_, n); }
  }

 private:
  char* data_;
  int64_t stride_;
  int size_;
  bool dense_;
};

struct BinaryContext {
  const BinaryLoops* loops;
  const void* param;
  DataType in;
  DataType out;
  int64_t in_size;
  int64_t out_size;
};

BinaryLoop ChooseLoop(const BinaryLoops& loops, bool x_repeats, bool y_repeats) {
  return y_repeats ? loops.vs : x_repeats ? loops.sv : loops.vv;
}

void BinaryBody(const LoopRun& run, const void* context) {
  const auto& c = *static_cast<const BinaryContext*>(context);
  // First what most runs are: rows of a broadcast, of which there may be many, short ones.
  if (run.n > 1 && run.strides[0] == c.out_size && run.strides[1] == c.in_size &&
      (run.strides[2] == c.in_size || run.strides[2] == 0)) {
    const BinaryLoop loop = run.strides[2] == 0 ? c.loops->vs : c.loops->vv;
    return loop(run.data[0], run.data[1], run.data[2], run.n, c.param);
  }
  const RunOperand out(run, 0, c.out);
  const RunOperand x(run, 1, c.in);
  const RunOperand y(run, 2, c.in);
  // Both repeat only when the output's innermost dimension comes from neither: pack x then.
  const bool both = x.repeats() && y.repeats();
  const BinaryLoop loop = ChooseLoop(*c.loops, x.repeats(), y.repeats());
  const bool direct = (x.dense() || x.repeats()) && (y.dense() || y.repeats()) && out.dense();
  if (direct && !both) { return loop(run.data[0], run.data[1], run.data[2], run.n, c.param); }
  PackBuffer buffers[3];
  for (int64_t at = 0; at < run.n; at += kPackElements) {
    const int64_t n = std::min(kPackElements, run.n - at);
    const char* a = x.Read(at, n, &buffers[1]);
    const char* b = y.Read(at, n, &buffers[2]);
    char* to = out.WriteTo(at, &buffers[0]);
    if (both) {
      CopyRun(buffers[1].bytes, static_cast<int64_t>(SizeOf(c.in)), a, 0,
              static_cast<int>(SizeOf(c.in)), n);
      a = buffers[1].bytes;
    }
    loop(to, a, b, n, c.param);
    out.Flush(at, n, buffers[0]);
  }
}

struct UnaryContext {
  UnaryLoop loop;
  DataType in;
  DataType out;
};

void UnaryBody(const LoopRun& run, const void* context) {
  const auto& c = *static_cast<const UnaryContext*>(context);
  const RunOperand out(run, 0, c.out);
  const RunOperand x(run, 1, c.in);
  if (out.dense() && x.dense()) { return c.loop(run.data[0], run.data[1], run.n); }
  PackBuffer buffers[2];
  for (int64_t at = 0; at < run.n; at += kPackElements) {
    const int64_t n = std::min(kPackElements, run.n - at);
    const char* a = x.Read(at, n, &buffers[1]);
    if (x.repeats()) {
      const int size = static_cast<int>(SizeOf(c.in));
      CopyRun(buffers[1].bytes, size, a, 0, size, n);
      a = buffers[1].bytes;
    }
    c.loop(out.WriteTo(at, &buffers[0]), a, n);
    out.Flush(at, n, buffers[0]);
  }
}

// Dense operands, each with as many elements as the output or with one.
struct DenseBinary {
  BinaryLoop loop;
  char* out;
  const char* x;
  const char* y;
  int64_t out_step;
  int64_t x_step;
  int64_t y_step;
  const void* param;

  // `past`: a loop that streams.
  void Run(int64_t begin, int64_t end, bool past) const {
    loop(out + begin * out_step, x + begin * x_step, y + begin * y_step, end - begin, param);
    if (past) { GetStreamLoops().fence(); }
  }
  void RunStreaming(int64_t begin, int64_t end) const {
    const StreamLoops& stream = GetStreamLoops();
    PackBuffer block;
    for (int64_t at = begin; at < end; at += kPackElements) {
      const int64_t n = std::min(kPackElements, end - at);
      loop(block.bytes, x + at * x_step, y + at * y_step, n, param);
      stream.copy(out + at * out_step, block.bytes, n * out_step);
    }
    stream.fence();
  }
};

void RunDense(const BinaryLoops& loops, const ArrayView& out, const ArrayView& x,
              const ArrayView& y, const void* param, int threads) {
  const int64_t n = out.Count();
  const auto out_size = static_cast<int64_t>(SizeOf(out.dtype));
  const auto size = static_cast<int64_t>(SizeOf(x.dtype));
  const bool fresh = out.data != x.data && out.data != y.data;
  const bool x_repeats = x.Count() != n;
  const bool y_repeats = y.Count() != n;
  const int64_t touched = n * (out_size + (x_repeats ? 0 : size) + (y_repeats ? 0 : size));
  const bool streams = fresh && WorthStreaming(out.data, n * out_size, touched);
  const BinaryLoop past =
      streams && !x_repeats ? (y_repeats ? loops.stream_vs : loops.stream_vv) : nullptr;
  const DenseBinary dense = {past != nullptr ? past : ChooseLoop(loops, x_repeats, y_repeats),
                             out.Data<char>(),
                             x.Data<char>(),
                             y.Data<char>(),
                             out_size,
                             x_repeats ? 0 : size,
                             y_repeats ? 0 : size,
                             param};
  const bool by_blocks = streams && past == nullptr;
  ParallelFor(threads, n, StridedLoop::kGrain, [&](int64_t begin, int64_t end) {
    by_blocks ? dense.RunStreaming(begin, end) : dense.Run(begin, end, past != nullptr);
  });
}

// ---- a transposed operand ----------------------------------------------------------------------

// Dense down its columns, and large enough that reading it by rows would miss the caches.
bool IsTransposed(const ArrayView& out, const ArrayView& y) {
  return y.ndim == 2 && y.shape[0] == out.shape[0] && y.shape[1] == out.shape[1] &&
         y.strides[0] == 1 && y.strides[1] >= y.shape[0] && y.shape[0] >= kTile &&
         y.shape[1] >= kTile;
}

struct TransposedCall {
  static constexpr int64_t kColumns = 256;

  BinaryLoop loop;
  const void* param;
  const ArrayView& out;
  const ArrayView& dense;
  const ArrayView& turned;
  bool first;  // x is the transposed one
  int64_t size;
  int64_t out_size;

  // Rows from `row` on, columns from `column` on: turned round in a buffer, then row by row.
  void RunBand(int64_t row, int64_t column, char* buffer) const {
    const int64_t rows = std::min(kTile, out.shape[0] - row);
    const int64_t columns = std::min(kColumns, out.shape[1] - column);
    const int64_t step = turned.strides[1] * size;
    const TileFn tile = ChooseTile(size);
    for (int64_t c = 0; c < columns; c += kTile) {
      tile(buffer + c * size, columns * size,
           turned.Data<char>() + row * size + (column + c) * step, step, rows,
           std::min(kTile, columns - c));
    }
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t at = (row + r) * out.shape[1] + column;
      const char* straight = dense.Data<char>() + at * size;
      const char* packed = buffer + r * columns * size;
      loop(out.Data<char>() + at * out_size, first ? packed : straight, first ? straight : packed,
           columns, param);
    }
  }
};

// x and y, of which one is transposed.
void RunTransposed(BinaryLoop loop, const ArrayView& out, const ArrayView& x, const ArrayView& y,
                   const void* param, int threads) {
  const bool first = !x.contiguous;
  const TransposedCall call = {loop,
                               param,
                               out,
                               first ? y : x,
                               first ? x : y,
                               first,
                               static_cast<int64_t>(SizeOf(x.dtype)),
                               static_cast<int64_t>(SizeOf(out.dtype))};
  ParallelFor(threads, (out.shape[0] + kTile - 1) / kTile, 1, [&](int64_t begin, int64_t end) {
    alignas(64) char buffer[kTile * TransposedCall::kColumns * kMaxElementBytes];
    for (int64_t row = begin * kTile; row < end * kTile; row += kTile) {
      for (int64_t column = 0; column < out.shape[1]; column += TransposedCall::kColumns) {
        call.RunBand(row, column, buffer);
      }
    }
  });
}

}  // namespace

void RunBinary(const BinaryLoops& loops, const ArrayView& out, const ArrayView& x,
               const ArrayView& y, const void* param, int threads) {
  if (x.contiguous && y.contiguous && out.contiguous) {
    const int64_t n = out.Count();
    const int64_t nx = x.Count();
    const int64_t ny = y.Count();
    if ((nx == n || nx == 1) && (ny == n || ny == 1) && (nx == n || ny == n)) {
      const BinaryLoop loop = ChooseLoop(loops, nx != n, ny != n);
      if (n <= StridedLoop::kGrain) {
        if (n > 0) { loop(out.data, x.data, y.data, n, param); }
        return;
      }
      return RunDense(loops, out, x, y, param, threads);
    }
  }
  if (out.ndim == 2 && out.contiguous &&
      ((x.contiguous && x.Count() == out.Count() && IsTransposed(out, y)) ||
       (y.contiguous && y.Count() == out.Count() && IsTransposed(out, x)))) {
    return RunTransposed(loops.vv, out, x, y, param, threads);
  }
  const ArrayView* operands[] = {&out, &x, &y};
  const BinaryContext context{&loops,
                              param,
                              x.dtype,
                              out.dtype,
                              static_cast<int64_t>(SizeOf(x.dtype)),
                              static_cast<int64_t>(SizeOf(out.dtype))};
  StridedLoop(operands, 3).Run(threads, &BinaryBody, &context);
}

void RunUnary(UnaryLoop loop, const ArrayView& out, const ArrayView& x, int threads) {
  if (x.contiguous && out.contiguous) {
    const int64_t n = out.Count();
    if (n <= StridedLoop::kGrain && x.Count() == n) {
      if (n > 0) { loop(out.data, x.data, n); }
      return;
    }
  }
  const ArrayView* operands[] = {&out, &x};
  const UnaryContext context{loop, x.dtype, out.dtype};
  StridedLoop(operands, 2).Run(threads, &UnaryBody, &context);
}

}  // namespace cpu
}  // namespace oneflow
