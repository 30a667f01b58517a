// The attribute structs of reductions, cumulative ops, sorting and searching.
//
// As kernels/attrs.h: trivially copyable, dimensions wrapped into [0, ndim). Thread safety: plain
// values.
#ifndef ONEFLOW_KERNELS_ATTRS_REDUCE_H_
#define ONEFLOW_KERNELS_ATTRS_REDUCE_H_

#include <cstdint>
#include <type_traits>

#include "oneflow/core/dtype.h"
#include "oneflow/kernels/attrs.h"

namespace oneflow {

// sum, nansum, prod: the dtype of the result.
struct SumAttrs {
  ReduceAttrs reduce;
  DataType dtype = DataType::kFloat;
};

// var, std: squared deviations divided by max(0, n - correction).
struct MomentAttrs {
  ReduceAttrs reduce;
  double correction = 1.0;
};

// (sum |x|^ord)^(1 / ord); the greatest or smallest |x| for inf and -inf, the number of x != 0 for 0.
struct NormAttrs {
  ReduceAttrs reduce;
  double ord = 2.0;
};

// cumsum, cumprod, cummax, cummin. `reverse`: from the last element to the first.
struct CumulativeAttrs {
  int64_t dim = 0;
  bool reverse = false;
  DataType dtype = DataType::kFloat;  // of the result, but for cummax and cummin
};

struct SortAttrs {
  int64_t dim = 0;
  bool descending = false;
  bool stable = false;  // the kernels always are
};

struct TopkAttrs {
  int64_t k = 0;
  int64_t dim = 0;
  bool largest = true;
  bool sorted = true;  // the kernels' results always are
};

// The k-th smallest element, from 0 on; kthvalue and median.
struct SelectAttrs {
  int64_t dim = 0;
  int64_t k = 0;
  bool keepdim = false;
  bool nan_wins = false;  // median: a NaN anywhere is the result
};

struct SearchAttrs {
  bool right = false;
  DataType dtype = DataType::kInt64;  // of the result
};

struct InTopkAttrs {
  int64_t k = 1;
};

struct BincountAttrs {
  int64_t size = 0;
  DataType dtype = DataType::kInt64;  // of the result
};

static_assert(
    attrs_detail::kAllCopyable<SumAttrs, MomentAttrs, NormAttrs, CumulativeAttrs, SortAttrs,
                               TopkAttrs, SelectAttrs, SearchAttrs, InTopkAttrs, BincountAttrs>,
    "an instruction copies attributes by memcpy");

}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_ATTRS_REDUCE_H_
