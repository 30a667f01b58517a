// Sequence: the order of a recurrent layer's steps, and where each step's rows are.
//
// Rows of all steps lie one after another. Without sizes each step has `batch` rows; with them (a
// packed sequence) step t has sizes[t], and no step has more rows than the one before it.
//
// Thread safety: a value; const members from anywhere.
#ifndef ONEFLOW_KERNELS_CPU_RNN_SEQUENCE_H_
#define ONEFLOW_KERNELS_CPU_RNN_SEQUENCE_H_

#include <cstdint>
#include <vector>

#include "oneflow/common/maybe.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

struct SequenceStep {
  int64_t first = 0;      // row where the step begins
  int64_t rows = 0;       // how many
  int64_t old_first = 0;  // where the step before it, in the order of computation, begins
  int64_t old_rows =
      0;  // rows that were in that step; those after them start from the initial state
};

class Sequence {
 public:
  // `sizes` is a dense int64 array, or not given. ValueError for sizes that do not fit.
  static Maybe<Sequence> Make(const char* op, const ArrayView& sizes, int64_t rows, int64_t batch,
                              bool reverse);

  // In the order of computation.
  const std::vector<SequenceStep>& steps() const { return steps_; }
  int64_t rows() const { return rows_; }

 private:
  std::vector<SequenceStep> steps_;
  int64_t rows_ = 0;
};

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_RNN_SEQUENCE_H_
