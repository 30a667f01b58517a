// ReducePlan: how the elements of an input fall together into the elements of a dense output.
//
// Two ways to walk. By rows: each output is a sum over runs along the innermost reduced dimension.
// By columns, when the innermost dimension of the input stays: kColumnTile neighbouring outputs are
// summed together, row by row. Either way a unit of work is up to kColumnTile neighbouring outputs.
// Thread safety: a value, const after construction.
#ifndef ONEFLOW_KERNELS_CPU_REDUCE_REDUCE_PLAN_H_
#define ONEFLOW_KERNELS_CPU_REDUCE_REDUCE_PLAN_H_

#include <cstdint>

#include "oneflow/core/dims.h"
#include "oneflow/kernels/attr_types.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

class ReducePlan {
 public:
  enum class Order {
    kAny,      // sums: reduced dimensions are sorted by stride
    kRowMajor  // argmax: reduced elements are visited in the order of their index
  };

  // No dims, or dims not given: reduces all of them.
  ReducePlan(const ArrayView& input, const IntList& dims, Order order);

  bool by_columns() const { return by_columns_; }
  // Units of work: tiles of up to kColumnTile outputs.
  int64_t units() const { return units_; }
  int64_t outputs() const { return outputs_; }
  int64_t reduced() const { return reduced_count_; }  // elements that fall into each output

  struct Unit {
    int64_t input;        // offset of the first element, in elements
    int64_t output;       // offset of the first output
    int64_t columns;      // outputs of the unit
    int64_t input_step;   // between the first elements of neighbouring outputs
    int64_t output_step;  // between the outputs of a unit
  };
  Unit GetUnit(int64_t i) const;

  // Runs along the innermost reduced dimension that make up reduced elements [begin, end):
  // body(offset from the unit's input, length, first reduced index).
  template <typename Body>
  void ForEachRun(int64_t begin, int64_t end, const Body& body) const {
    while (begin < end) {
      const int64_t inside = begin % reduced_[0].size;
      int64_t offset = inside * reduced_[0].input;
      int64_t rest = begin / reduced_[0].size;
      for (int d = 1; d < num_reduced_; ++d) {
        offset += rest % reduced_[d].size * reduced_[d].input;
        rest /= reduced_[d].size;
      }
      const int64_t room = reduced_[0].size - inside;
      const int64_t n = room < end - begin ? room : end - begin;
      body(offset, n, begin);
      begin += n;
    }
  }
  // Whether all reduced elements of an output are one run.
  bool one_run() const { return num_reduced_ == 1; }
  int64_t run_stride() const { return reduced_[0].input; }

 private:
  struct Dim {
    int64_t size;
    int64_t input;   // stride in the input
    int64_t output;  // stride in the output; 0 for a reduced dimension
  };
  void Split(const ArrayView& input, const bool* reduce);
  void SortReduced();
  void ChooseColumns();
  static int Merge(Dim* dims, int count);

  // Innermost first; at least one entry.
  Dim kept_[kMaxDims + 1];
  Dim reduced_[kMaxDims + 1];
  int num_kept_ = 0;
  int num_reduced_ = 0;
  Dim column_ = {1, 0, 0};
  bool by_columns_ = false;
  int64_t tile_ = 1;  // outputs of a unit, but for the last ones
  int64_t tiles_ = 1;
  int64_t units_ = 1;
  int64_t outputs_ = 1;
  int64_t reduced_count_ = 1;
};

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_REDUCE_REDUCE_PLAN_H_
