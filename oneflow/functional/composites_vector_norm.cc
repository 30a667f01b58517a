#include <cmath>

#include "oneflow/functional/composites_reduce.h"
#include "oneflow/functional/generated/functional.h"

namespace oneflow::functional::composites {

namespace {

Maybe<TensorPtr> Kept(const TensorPtr& result, const Dims& shape, const Dims& dims, bool keepdim) {
  if (keepdim) { return result; }
  Dims with_ones = dims.empty() ? Dims(shape.size(), 1) : shape;
  for (int64_t dim : dims) { with_ones[static_cast<int>(dim)] = 1; }
  return reshape(result, with_ones);
}

// x with 1 in place of 0, so that one can divide by it.
Maybe<TensorPtr> NotZero(const TensorPtr& x) {
  return add(x, JUST(cast(JUST(scalar_eq(x, Scalar(0))), x->dtype())));
}

Maybe<void> CheckFloatingInput(const char* op, const TensorPtr& input, OptDtype dtype) {
  const DataType computed = dtype.value_or(input->dtype());
  if (IsFloating(computed)) { return Ok(); }
  return RuntimeError("[{}] expects a tensor of a floating dtype, got {} {}", op,
                      DataTypeName(computed), input->shape());
}

Maybe<void> CheckTwoDims(const char* op, const Dims& dim) {
  if (dim.size() == 2) { return Ok(); }
  return RuntimeError("[{}] expects two dims for a matrix, got {}", op, dim);
}

Maybe<void> CheckName(const char* op, const std::string& ord) {
  if (ord == "fro") { return Ok(); }
  return RuntimeError("[{}] expects an order of fro or a number, got {}", op, ord);
}

}  // namespace

Maybe<TensorPtr> VectorNormBackward(const TensorPtr& dy, const TensorPtr& input,
                                    const TensorPtr& out, double ord, const Dims& dims,
                                    bool keepdim) {
  const Dims& shape = input->shape();
  const TensorPtr grad = JUST(Kept(dy, shape, dims, keepdim));
  if (ord == 0.0) { return zeros_like(input); }
  if (ord == 1.0) { return mul(JUST(sign(input)), grad); }
  const TensorPtr norm = JUST(Kept(out, shape, dims, keepdim));
  if (ord == 2.0) { return mul(input, JUST(div(grad, JUST(NotZero(norm))))); }
  const TensorPtr size = JUST(abs(input));
  if (std::isinf(ord)) {  // equal elements share the gradient
    const TensorPtr is_best = JUST(cast(JUST(eq(size, norm)), input->dtype()));
    const TensorPtr share = JUST(div(grad, JUST(sum(is_best, dims, /*keepdim=*/true))));
    return mul(JUST(mul(JUST(sign(input)), is_best)), share);
  }
  // sign(x) * (|x| / norm) ** (ord - 1); at x = 0 the power may be infinite, but sign is 0.
  const TensorPtr ratio = JUST(div(JUST(NotZero(size)), JUST(NotZero(norm))));
  const TensorPtr power = JUST(scalar_pow(ratio, Scalar(ord - 1.0)));
  return mul(JUST(mul(JUST(sign(input)), power)), grad);
}

Maybe<TensorPtr> MatrixNormByName(const TensorPtr& input, const std::string& ord, const Dims& dim,
                                  bool keepdim, OptDtype dtype) {
  JUST(CheckName("matrix_norm", ord));
  JUST(CheckTwoDims("matrix_norm", dim));
  return vector_norm(input, Scalar(2), dim, keepdim, dtype);
}

Maybe<TensorPtr> MatrixNorm(const TensorPtr& input, Scalar ord, const Dims& dim, bool keepdim,
                            OptDtype dtype) {
  JUST(CheckFloatingInput("matrix_norm", input, dtype));
  JUST(CheckTwoDims("matrix_norm", dim));
  const double order = ord.To<double>();
  if (!std::isinf(order) && std::fabs(order) != 1.0) {
    return RuntimeError("[matrix_norm] expects an order of 1, -1, inf, -inf or fro, got {}", order);
  }
  const int rows = JUST(WrapDim("matrix_norm", dim[0], input->ndim()));
  const int columns = JUST(WrapDim("matrix_norm", dim[1], input->ndim()));
  if (rows == columns) {
    return RuntimeError("[matrix_norm] expects two different dims, got dim {} twice", rows);
  }
  const int added = std::isinf(order) ? columns : rows;
  const int chosen = std::isinf(order) ? rows : columns;
  const TensorPtr sums = JUST(vector_norm(input, Scalar(1), Dims{added}, /*keepdim=*/true, dtype));
  const TensorPtr best = order > 0 ? JUST(amax(sums, Dims{chosen}, /*keepdim=*/true))
                                   : JUST(amin(sums, Dims{chosen}, /*keepdim=*/true));
  return keepdim ? best : squeeze(best, Dims{rows, columns});
}

Maybe<TensorPtr> Norm(const TensorPtr& input, const std::optional<Scalar>& ord,
                      const std::optional<Dims>& dim, bool keepdim, OptDtype dtype, bool for_norm) {
  const bool has_dims = dim.has_value() && !dim->empty();
  if (!ord.has_value() || for_norm || (has_dims && dim->size() == 1)) {
    return vector_norm(input, ord.value_or(Scalar(2)), dim, keepdim, dtype);
  }
  if (has_dims && dim->size() > 2) {
    return RuntimeError("[norm] expects one or two dims beside an order, got {}", *dim);
  }
  if (has_dims) { return matrix_norm(input, *ord, *dim, keepdim, dtype); }
  if (input->ndim() > 2) {
    return RuntimeError("[norm] expects a tensor of one or two dims where an order is given and no "
                        "dim, got shape {}",
                        input->shape());
  }
  if (input->ndim() == 2) { return matrix_norm(input, *ord, Dims{0, 1}, keepdim, dtype); }
  return vector_norm(input, *ord, std::nullopt, keepdim, dtype);
}

Maybe<TensorPtr> NormByName(const TensorPtr& input, const std::string& ord,
                            const std::optional<Dims>& dim, bool keepdim, OptDtype dtype) {
  JUST(CheckName("norm", ord));
  if (dim.has_value() && dim->size() > 2) {
    return RuntimeError("[norm] expects at most two dims, got {}", *dim);
  }
  return vector_norm(input, Scalar(2), dim, keepdim, dtype);
}

}  // namespace oneflow::functional::composites
