#include "oneflow/kernels/cpu/strided_loop.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "oneflow/device/cpu/parallel.h"

namespace oneflow {
namespace cpu {

StridedLoop::StridedLoop(const ArrayView* const* operands, int count) : count_(count) {
  for (int k = 0; k < count_; ++k) {
    data_[k] = operands[k]->Data<char>();
    element_bytes_[k] = static_cast<int64_t>(SizeOf(operands[k]->dtype));
  }
  AddDims(operands);
  Sort();
  Merge();
  if (ndim_ == 0) {  // one element: a dense run of one
    ndim_ = 1;
    sizes_[0] = 1;
    for (int k = 0; k < count_; ++k) { strides_[k][0] = element_bytes_[k]; }
  }
}

void StridedLoop::AddDims(const ArrayView* const* operands) {
  const ArrayView& lead = *operands[0];
  for (int d = lead.ndim - 1; d >= 0; --d) {
    total_ *= lead.shape[d];
    if (lead.shape[d] == 1) { continue; }
    sizes_[ndim_] = lead.shape[d];
    for (int k = 0; k < count_; ++k) {
      const int own = d - (lead.ndim - operands[k]->ndim);
      const bool repeats = own < 0 || operands[k]->shape[own] == 1;
      strides_[k][ndim_] = repeats ? 0 : operands[k]->strides[own] * element_bytes_[k];
    }
    ++ndim_;
  }
}

void StridedLoop::Swap(int a, int b) {
  std::swap(sizes_[a], sizes_[b]);
  for (int k = 0; k < count_; ++k) { std::swap(strides_[k][a], strides_[k][b]); }
}

void StridedLoop::Sort() {
  for (int i = 1; i < ndim_; ++i) {
    for (int j = i; j > 0 && strides_[0][j] < strides_[0][j - 1]; --j) { Swap(j, j - 1); }
  }
}

void StridedLoop::Merge() {
  if (ndim_ == 0) { return; }
  int last = 0;
  for (int d = 1; d < ndim_; ++d) {
    bool dense = true;
    for (int k = 0; k < count_; ++k) {
      dense = dense && strides_[k][d] == strides_[k][last] * sizes_[last];
    }
    if (dense) {
      sizes_[last] *= sizes_[d];
      continue;
    }
    ++last;
    if (last != d) { Swap(last, d); }
  }
  ndim_ = last + 1;
}

void StridedLoop::Run(int threads, LoopBody body, const void* context) const {
  ParallelFor(threads, total_, kGrain,
              [&](int64_t begin, int64_t end) { RunRange(begin, end, body, context); });
}

void StridedLoop::RunRange(int64_t begin, int64_t end, LoopBody body, const void* context) const {
  int64_t index[kMaxDims];
  LoopRun run;
  for (int k = 0; k < count_; ++k) {
    run.data[k] = data_[k];
    run.strides[k] = strides_[k][0];
  }
  int64_t rest = begin;
  for (int d = 0; d < ndim_; ++d) {
    index[d] = rest % sizes_[d];
    rest /= sizes_[d];
    for (int k = 0; k < count_; ++k) { run.data[k] += index[d] * strides_[k][d]; }
  }
  int64_t at = begin;
  while (true) {
    run.n = std::min(sizes_[0] - index[0], end - at);
    body(run, context);
    at += run.n;
    if (at >= end) { return; }
    // The run ended at the end of dimension 0: back to its start, and carry.
    for (int k = 0; k < count_; ++k) { run.data[k] -= index[0] * strides_[k][0]; }
    index[0] = 0;
    for (int d = 1; d < ndim_; ++d) {
      for (int k = 0; k < count_; ++k) { run.data[k] += strides_[k][d]; }
      if (++index[d] < sizes_[d]) { break; }
      for (int k = 0; k < count_; ++k) { run.data[k] -= sizes_[d] * strides_[k][d]; }
      index[d] = 0;
    }
  }
}

namespace {

template <typename Word>
void CopyWords(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    Word word;
    std::memcpy(&word, src + i * src_stride, sizeof(Word));
    std::memcpy(dst + i * dst_stride, &word, sizeof(Word));
  }
}

}  // namespace

void CopyRun(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int size,
             int64_t n) {
  if (dst_stride == size && src_stride == size) {
    if (dst == src) { return; }  // an array copied onto itself: memcpy must not see that
    std::memcpy(dst, src, static_cast<size_t>(n * size));
    return;
  }
  switch (size) {
    case 1: return CopyWords<uint8_t>(dst, dst_stride, src, src_stride, n);
    case 2: return CopyWords<uint16_t>(dst, dst_stride, src, src_stride, n);
    case 4: return CopyWords<uint32_t>(dst, dst_stride, src, src_stride, n);
    default: return CopyWords<uint64_t>(dst, dst_stride, src, src_stride, n);
  }
}

}  // namespace cpu
}  // namespace oneflow
