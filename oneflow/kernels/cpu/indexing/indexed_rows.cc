#include "oneflow/kernels/cpu/indexing/indexed_rows.h"

namespace oneflow {
namespace cpu {

IndexedRows::IndexedRows(const ArrayView& indexed, const ArrayView& plain, int dim, int count,
                         int index_ndim)
    : prefix_ndim_(dim),
      prefix_sizes_(plain.shape),
      indexed_prefix_strides_(indexed.strides),
      plain_prefix_strides_(plain.strides) {
  for (int d = 0; d < dim; ++d) { prefixes_ *= plain.shape[d]; }
  bool first = true;
  for (int d = dim + index_ndim - 1; d >= dim; --d) {
    if (plain.shape[d] != 1) {
      if (first) { plain_step_ = plain.strides[d]; }
      regular_ = regular_ && (first || plain.strides[d] == plain_step_ * indices_);
      first = false;
    }
    indices_ *= plain.shape[d];
  }
  MergeRow(indexed, plain, dim + count, dim + index_ndim);
}

void IndexedRows::MergeRow(const ArrayView& indexed, const ArrayView& plain, int behind,
                           int plain_behind) {
  ndim_ = 0;
  for (int d = indexed.ndim - 1; d >= behind; --d) {
    const int64_t size = indexed.shape[d];
    const int64_t a = indexed.strides[d];
    const int64_t b = plain.strides[d - behind + plain_behind];
    row_ *= size;
    if (size == 1) { continue; }
    if (ndim_ > 0 && a == indexed_strides_[ndim_ - 1] * sizes_[ndim_ - 1] &&
        b == plain_strides_[ndim_ - 1] * sizes_[ndim_ - 1]) {
      sizes_[ndim_ - 1] *= size;
      continue;
    }
    sizes_[ndim_] = size;
    indexed_strides_[ndim_] = a;
    plain_strides_[ndim_++] = b;
  }
  if (ndim_ == 0) {
    sizes_[0] = indexed_strides_[0] = plain_strides_[0] = 1;
    ndim_ = 1;
  }
  columns_ = sizes_[0];
}

void IndexedRows::PrefixAt(int64_t p, int64_t* indexed, int64_t* plain) const {
  *indexed = 0;
  *plain = 0;
  for (int d = prefix_ndim_ - 1; d >= 0; --d) {
    const int64_t at = p % prefix_sizes_[d];
    p /= prefix_sizes_[d];
    *indexed += at * indexed_prefix_strides_[d];
    *plain += at * plain_prefix_strides_[d];
  }
}

}  // namespace cpu
}  // namespace oneflow
