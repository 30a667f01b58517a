// IndexedRows: the geometry of index_at and index_at_put_.
//
// One side is indexed: its dims are P (before), K (those that the indices point into) and R (behind).
// The other side is plain, of shape P + B + R, where B is the shape of the indices. Moving row (p, b)
// means the R block of the indexed side at p and offsets[b], and that of the plain side at p and b.
//
// Thread safety: const after construction. Ownership: borrows the arrays.
#ifndef ONEFLOW_KERNELS_CPU_INDEXING_INDEXED_ROWS_H_
#define ONEFLOW_KERNELS_CPU_INDEXING_INDEXED_ROWS_H_

#include <cstdint>

#include "oneflow/core/dims.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

class IndexedRows {
 public:
  // `dim`, `count`: the dims K of the indexed side.
  IndexedRows(const ArrayView& indexed, const ArrayView& plain, int dim, int count, int index_ndim);

  // The dims of B lie at equal distances on the plain side; else only the reference kernel serves.
  bool regular() const { return regular_; }
  int64_t prefixes() const { return prefixes_; }
  int64_t indices() const { return indices_; }
  int64_t row() const { return row_; }          // elements of an R block
  int64_t columns() const { return columns_; }  // of the innermost run of R

  // Where prefix p begins, in elements.
  void PrefixAt(int64_t p, int64_t* indexed, int64_t* plain) const;
  int64_t plain_step() const { return plain_step_; }  // from b to b + 1

  // Calls move(indexed offset, plain offset, indexed stride, plain stride, n) for the runs of an R
  // block, columns [begin, end) of each.
  template <typename Move>
  void ForEachRun(int64_t begin, int64_t end, const Move& move) const {
    int64_t at[kMaxDims] = {};
    int64_t a = begin * indexed_strides_[0];
    int64_t b = begin * plain_strides_[0];
    while (true) {
      move(a, b, indexed_strides_[0], plain_strides_[0], end - begin);
      int d = 1;
      for (; d < ndim_; ++d) {
        a += indexed_strides_[d];
        b += plain_strides_[d];
        if (++at[d] < sizes_[d]) { break; }
        a -= sizes_[d] * indexed_strides_[d];
        b -= sizes_[d] * plain_strides_[d];
        at[d] = 0;
      }
      if (d >= ndim_) { return; }
    }
  }

 private:
  void MergeRow(const ArrayView& indexed, const ArrayView& plain, int behind, int plain_behind);

  int64_t prefixes_ = 1;
  int64_t indices_ = 1;
  int64_t row_ = 1;
  int64_t columns_ = 1;
  int64_t plain_step_ = 0;
  bool regular_ = true;
  int prefix_ndim_;
  const int64_t* prefix_sizes_;
  const int64_t* indexed_prefix_strides_;
  const int64_t* plain_prefix_strides_;
  // The R block, merged; dim 0 is the innermost.
  int ndim_ = 1;
  int64_t sizes_[kMaxDims] = {1};
  int64_t indexed_strides_[kMaxDims] = {1};
  int64_t plain_strides_[kMaxDims] = {1};
};

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_INDEXING_INDEXED_ROWS_H_
