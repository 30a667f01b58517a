#include "oneflow/kernels/cpu/math/engine.h"

#include <algorithm>
#include <cstring>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/cpu/elementwise_loops.h"
#include "oneflow/kernels/cpu/stream_loops.h"
#include "oneflow/kernels/cpu/strided_loop.h"

namespace oneflow {
namespace cpu {

namespace {

constexpr int64_t kBlock = kStreamBlock;

struct Block {
  alignas(64) char bytes[kBlock * 8];
};

struct Context {
  MathLoop loop;
  const MathAttrs* attrs;
  int count;                              // of operands, without the output
  int sizes[kMaxMathOperands + 1];        // bytes of an element; 0 is the output
  UnaryLoop casts[kMaxMathOperands + 1];  // from (of the output: to) a half type; nullptr: none
  bool streams = false;                   // the output goes past the caches, by way of a block
  bool fences = false;                    // the same, straight from the loop
};

// One operand of a run, block by block.
class Source {
 public:
  void Init(const LoopRun& run, int k, const Context& c) {
    data_ = run.data[k];
    size_ = c.sizes[k];
    stride_ = run.n == 1 ? size_ : run.strides[k];
    cast_ = c.casts[k];
    direct_ = stride_ == size_ && cast_ == nullptr;
    constant_ = stride_ == 0;
    if (constant_) { Load(0, std::min(run.n, kBlock)); }
  }
  bool direct() const { return direct_; }

  const char* Read(int64_t at, int64_t n) {
    if (direct_) { return data_ + at * size_; }
    if (!constant_) { Load(at, n); }
    return block_.bytes;
  }

 private:
  void Load(int64_t at, int64_t n) {
    const char* from = data_ + at * stride_;
    if (cast_ == nullptr) { return CopyRun(block_.bytes, size_, from, stride_, size_, n); }
    if (stride_ != size_) {
      CopyRun(packed_, size_, from, stride_, size_, n);
      from = packed_;
    }
    cast_(block_.bytes, from, n);
  }

  const char* data_;
  int64_t stride_;
  int size_;
  bool direct_;
  bool constant_;
  UnaryLoop cast_;
  Block block_;
  alignas(64) char packed_[kBlock * 2];  // of a half type
};

// The output of a run, block by block.
class Sink {
 public:
  Sink(const LoopRun& run, const Context& c)
      : data_(run.data[0]),
        size_(c.sizes[0]),
        stride_(run.n == 1 ? size_ : run.strides[0]),
        cast_(c.casts[0]),
        streams_(c.streams) {}
  bool direct() const { return stride_ == size_ && cast_ == nullptr && !streams_; }
  char* Place(int64_t at) { return direct() ? data_ + at * size_ : block_.bytes; }
  void Flush(int64_t at, int64_t n) {
    if (direct()) { return; }
    const char* from = block_.bytes;
    if (streams_) { return GetStreamLoops().copy(data_ + at * size_, from, n * size_); }
    if (cast_ != nullptr) {
      if (stride_ == size_) { return cast_(data_ + at * size_, from, n); }
      cast_(packed_, from, n);
      from = packed_;
    }
    CopyRun(data_ + at * stride_, stride_, from, size_, size_, n);
  }

 private:
  char* data_;
  int size_;
  int64_t stride_;
  UnaryLoop cast_;
  bool streams_;
  Block block_;
  alignas(64) char packed_[kBlock * 2];
};

bool AllDirect(const LoopRun& run, const Context& c) {
  if (c.streams) { return false; }
  for (int k = 0; k <= c.count; ++k) {
    if (c.casts[k] != nullptr || (run.strides[k] != c.sizes[k] && run.n > 1)) { return false; }
  }
  return true;
}

void InBlocks(const LoopRun& run, const Context& c) {
  Sink out(run, c);
  Source sources[kMaxMathOperands];
  for (int k = 0; k < c.count; ++k) { sources[k].Init(run, k + 1, c); }
  for (int64_t at = 0; at < run.n; at += kBlock) {
    const int64_t n = std::min(kBlock, run.n - at);
    const char* in[kMaxMathOperands] = {};
    for (int k = 0; k < c.count; ++k) { in[k] = sources[k].Read(at, n); }
    c.loop(out.Place(at), in[0], in[1], in[2], n, *c.attrs);
    out.Flush(at, n);
  }
}

void Body(const LoopRun& run, const void* context) {
  const auto& c = *static_cast<const Context*>(context);
  if (AllDirect(run, c)) {
    const void* y = c.count > 1 ? run.data[2] : nullptr;
    const void* z = c.count > 2 ? run.data[3] : nullptr;
    c.loop(run.data[0], run.data[1], y, z, run.n, *c.attrs);
  } else {
    InBlocks(run, c);
  }
  if (c.streams || c.fences) { GetStreamLoops().fence(); }
}

bool IsHalf(DataType dtype) { return dtype == DataType::kFloat16 || dtype == DataType::kBFloat16; }

void Describe(const ArrayView& view, int k, bool moves, Context* c) {
  c->sizes[k] = static_cast<int>(SizeOf(view.dtype));
  c->casts[k] = nullptr;
  if (moves || !IsHalf(view.dtype)) { return; }
  const auto& cast = GetElementwiseLoops().cast;
  const int half = static_cast<int>(view.dtype);
  const int single = static_cast<int>(DataType::kFloat);
  c->casts[k] = k == 0 ? cast[single][half] : cast[half][single];
}

// Dense operands of the output's size, or of one element, are one run; false: they are not.
bool AsOneRun(const ArrayView& out, const ArrayView* operands, const Context& c, LoopRun* run) {
  if (!out.contiguous) { return false; }
  run->n = out.Count();
  run->data[0] = out.Data<char>();
  run->strides[0] = c.sizes[0];
  for (int k = 0; k < c.count; ++k) {
    const int64_t n = operands[k].Count();
    if (!operands[k].contiguous || (n != run->n && n != 1)) { return false; }
    run->data[k + 1] = operands[k].Data<char>();
    run->strides[k + 1] = n == run->n ? c.sizes[k + 1] : 0;
  }
  return true;
}

struct ZeroSearch {
  int size;
  bool* found;
};

void SearchZero(const LoopRun& run, const void* context) {
  const auto& search = *static_cast<const ZeroSearch*>(context);
  const int64_t zero = 0;
  for (int64_t i = 0; i < run.n && !*search.found; ++i) {
    const char* at = run.data[0] + i * run.strides[0];
    *search.found = std::memcmp(at, &zero, static_cast<size_t>(search.size)) == 0;
  }
}

}  // namespace

void RunMath(MathLoop loop, bool moves, const ArrayView& out, const ArrayView* operands, int count,
             const MathAttrs& attrs, int threads, MathLoop streaming) {
  Context c;
  c.loop = loop;
  c.attrs = &attrs;
  c.count = count;
  Describe(out, 0, moves, &c);
  for (int k = 0; k < count; ++k) { Describe(operands[k], k + 1, moves, &c); }
  LoopRun whole;
  if (!AsOneRun(out, operands, c, &whole)) {
    const ArrayView* views[kMaxMathOperands + 1] = {&out};
    for (int k = 0; k < count; ++k) { views[k + 1] = &operands[k]; }
    return StridedLoop(views, count + 1).Run(threads, &Body, &c);
  }
  if (whole.n <= StridedLoop::kGrain) {
    if (whole.n > 0) { Body(whole, &c); }
    return;
  }
  int64_t touched = whole.n * c.sizes[0];
  for (int k = 0; k < count; ++k) {
    touched += whole.strides[k + 1] == 0 ? 0 : whole.n * c.sizes[k + 1];
  }
  c.streams = c.casts[0] == nullptr && WorthStreaming(out.data, whole.n * c.sizes[0], touched);
  for (int k = 0; k < count; ++k) { c.streams = c.streams && operands[k].data != out.data; }
  if (c.streams && streaming != nullptr) {
    c.loop = streaming;
    c.streams = false;
    c.fences = true;
  }
  ParallelFor(threads, whole.n, StridedLoop::kGrain, [&](int64_t begin, int64_t end) {
    LoopRun part = whole;
    part.n = end - begin;
    for (int k = 0; k <= count; ++k) { part.data[k] += begin * whole.strides[k]; }
    Body(part, &c);
  });
}

bool HasZero(const ArrayView& x) {
  bool found = false;
  const ZeroSearch search{static_cast<int>(SizeOf(x.dtype)), &found};
  const ArrayView* views[] = {&x};
  StridedLoop(views, 1).Run(1, &SearchZero, &search);
  return found;
}

}  // namespace cpu
}  // namespace oneflow
