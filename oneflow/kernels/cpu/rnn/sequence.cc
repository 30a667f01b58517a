#include "oneflow/kernels/cpu/rnn/sequence.h"

#include <algorithm>

namespace oneflow {
namespace cpu {

namespace {

Maybe<std::vector<int64_t>> StepSizes(const char* op, const ArrayView& sizes, int64_t rows,
                                      int64_t batch) {
  std::vector<int64_t> out;
  if (!sizes.given) {
    if (batch > 0) { out.assign(static_cast<size_t>(rows / batch), batch); }
    return out;
  }
  out.assign(sizes.Data<int64_t>(), sizes.Data<int64_t>() + sizes.shape[0]);
  int64_t most = batch;
  int64_t left = rows;
  for (const int64_t size : out) {
    if (size < 0 || size > most) {
      return ValueError("[{}] expects batch sizes that start at {} at most and never grow, got {} "
                        "after {}",
                        op, batch, size, most);
    }
    most = size;
    left -= size;
  }
  if (left != 0) {
    return ValueError("[{}] expects batch sizes that add up to {} rows, got {}", op, rows,
                      rows - left);
  }
  return out;
}

}  // namespace

Maybe<Sequence> Sequence::Make(const char* op, const ArrayView& sizes, int64_t rows, int64_t batch,
                               bool reverse) {
  const std::vector<int64_t> counts = JUST(StepSizes(op, sizes, rows, batch));
  Sequence out;
  out.rows_ = rows;
  int64_t first = 0;
  for (const int64_t count : counts) {
    SequenceStep step;
    step.first = first;
    step.rows = count;
    out.steps_.push_back(step);
    first += count;
  }
  if (reverse) { std::reverse(out.steps_.begin(), out.steps_.end()); }
  for (size_t i = 1; i < out.steps_.size(); ++i) {
    const SequenceStep& before = out.steps_[i - 1];
    out.steps_[i].old_first = before.first;
    out.steps_[i].old_rows = std::min(before.rows, out.steps_[i].rows);
  }
  return out;
}

}  // namespace cpu
}  // namespace oneflow
