// IndexKey: what stands between the brackets of x[...], taken apart.
//
// Integers, slices, None and Ellipsis make a view; what is left are indices that are tensors, for some
// dims of that view. Lists, arrays and bools become tensors. A slice that goes backwards is taken
// forwards, and remembered.
//
// Thread safety: with the GIL held; let go of while a tensor that stands for an integer is waited for.
#ifndef ONEFLOW_API_PYTHON_INDEX_KEY_H_
#define ONEFLOW_API_PYTHON_INDEX_KEY_H_

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "oneflow/common/maybe.h"
#include "oneflow/core/dims.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow {

struct IndexKey {
  TensorPtr view;
  Dims flipped;         // dims of the view that were asked for backwards
  TensorTuple indices;  // in order of the view's dims: null for a dim without; a mask takes several
  bool indexed = false;  // there is an index that is not null
};

// `op`: for messages. IndexError or TypeError for a key that does not fit.
Maybe<IndexKey> ReadIndexKey(const char* op, const TensorPtr& x, PyObject* key);

}  // namespace oneflow

#endif  // ONEFLOW_API_PYTHON_INDEX_KEY_H_
