#include "oneflow/core/shape.h"

#include <algorithm>

namespace oneflow {

Maybe<int64_t> CheckedBytes(const char* op, const Shape& shape, DataType dtype) {
  int64_t n = static_cast<int64_t>(SizeOf(dtype));
  bool empty = false;
  for (int64_t d : shape) {
    if (d < 0) {
      return ValueError("[{}] expects non-negative dimensions, got shape {}", op, shape);
    }
    empty = empty || d == 0;
  }
  if (empty) { return int64_t{0}; }
  for (int64_t d : shape) {
    if (__builtin_mul_overflow(n, d, &n) || n > (int64_t{1} << 62)) {
      ErrorPtr error = OutOfMemoryError("[{}] expects a tensor of at most 2^62 bytes, got shape {} "
                                        "and dtype {}",
                                        op, shape, DataTypeName(dtype));
      error->set_op(op);
      error->set_stack(CurrentStack(), CurrentStackContext());
      return error;
    }
  }
  return n;
}

Strides ContiguousStrides(const Shape& shape) {
  Strides strides;
  strides.Resize(shape.size());
  int64_t step = 1;
  for (int i = shape.size() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= std::max<int64_t>(shape[i], 1);
  }
  return strides;
}

bool IsContiguous(const Shape& shape, const Strides& strides) {
  int64_t step = 1;
  bool contiguous = true;
  for (int i = shape.size() - 1; i >= 0; --i) {
    if (shape[i] == 0) { return true; }
    if (shape[i] != 1) {
      contiguous = contiguous && strides[i] == step;
      step *= shape[i];
    }
  }
  return contiguous;
}

bool MayOverlap(const Shape& shape, const Strides& strides) {
  int order[kMaxDims];
  int n = 0;
  for (int i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) { return false; }
    if (shape[i] != 1) { order[n++] = i; }
  }
  std::sort(order, order + n, [&](int a, int b) { return strides[a] < strides[b]; });
  int64_t reach = 0;  // largest offset that the faster dimensions can produce
  for (int k = 0; k < n; ++k) {
    if (strides[order[k]] <= reach) { return true; }
    reach += strides[order[k]] * (shape[order[k]] - 1);
  }
  return false;
}

Maybe<Shape> BroadcastShapes(const char* op, const Shape& a, const Shape& b) {
  if (a == b) { return a; }
  const int n = std::max(a.size(), b.size());
  Shape out;
  out.Resize(n);
  for (int i = 1; i <= n; ++i) {
    const int64_t x = i <= a.size() ? a[a.size() - i] : 1;
    const int64_t y = i <= b.size() ? b[b.size() - i] : 1;
    if (x != y && x != 1 && y != 1) {
      return RuntimeError("[{}] expects shapes that broadcast together, got {} and {}: "
                          "sizes {} and {} differ at dimension {}",
                          op, a, b, x, y, n - i);
    }
    out[n - i] = x == 1 ? y : x;
  }
  return out;
}

Strides BroadcastStrides(const Shape& from, const Strides& strides, const Shape& to) {
  Strides out(to.size(), 0);
  const int shift = to.size() - from.size();
  for (int i = 0; i < from.size(); ++i) {
    out[i + shift] = from[i] == 1 && to[i + shift] != 1 ? 0 : strides[i];
  }
  return out;
}

Maybe<int> WrapDim(const char* op, int64_t dim, int ndim) {
  const int64_t range = std::max(ndim, 1);
  if (dim < -range || dim >= range) {
    return IndexError("[{}] expects a dim of a tensor with {} dims, got {}", op, ndim, dim);
  }
  return static_cast<int>(dim < 0 ? dim + range : dim);
}

Maybe<Shape> InferViewShape(const char* op, const Shape& from, const Shape& wanted) {
  Shape out = wanted;
  const int64_t total = ElementCount(from);
  int unknown = -1;
  int64_t known = 1;
  for (int i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == -1 && unknown < 0) {
      unknown = i;
    } else if (wanted[i] < 0) {
      return RuntimeError("[{}] expects non-negative sizes and at most one -1, got {}", op, wanted);
    } else if (__builtin_mul_overflow(known, wanted[i], &known)) {
      return RuntimeError("[{}] expects a shape with {} elements, got {}", op, total, wanted);
    }
  }
  if (unknown >= 0) {
    if (known == 0 || total % known != 0) {
      return RuntimeError("[{}] expects a shape with {} elements (input is {}), got {}", op, total,
                          from, wanted);
    }
    out[unknown] = total / known;
  } else if (known != total) {
    return RuntimeError("[{}] expects a shape with {} elements (input is {}), got {}", op, total,
                        from, wanted);
  }
  return out;
}

bool ViewStrides(const Shape& from, const Strides& strides, const Shape& to, Strides* out) {
  if (ElementCount(from) == 0 || IsContiguous(from, strides)) {
    *out = ContiguousStrides(to);
    return true;
  }
  out->Resize(to.size());
  // Walk both shapes from the fastest dimension; a run of old dimensions that is dense in itself
  // can be cut into new dimensions at will.
  int old = from.size() - 1;
  int now = to.size() - 1;
  while (old >= 0) {
    int64_t step = strides[old];
    int64_t run = from[old];
    while (old > 0 && (from[old - 1] == 1 || strides[old - 1] == run * step)) {
      run *= from[--old];
    }
    int64_t filled = 1;
    while (now >= 0 && (filled < run || to[now] == 1)) {
      (*out)[now] = step * filled;
      filled *= to[now--];
    }
    if (filled != run) { return false; }
    --old;
  }
  for (; now >= 0; --now) { (*out)[now] = 1; }
  return true;
}

}  // namespace oneflow
