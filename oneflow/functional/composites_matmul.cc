#include <cmath>
#include <string>

#include "oneflow/functional/attr_helpers.h"
#include "oneflow/functional/composites.h"
#include "oneflow/functional/composites_linalg.h"
#include "oneflow/functional/generated/functional.h"

namespace oneflow::functional::composites {

namespace {

Maybe<void> CheckMatmul(const TensorPtr& a, const TensorPtr& b) {
  if (a->ndim() == 0 || b->ndim() == 0) {
    return RuntimeError("[matmul] expects operands of at least one dimension, got {} and {}",
                        a->shape(), b->shape());
  }
  if (a->dtype() != b->dtype()) {
    return RuntimeError("[matmul] expects operands of one dtype, got {} {} and {} {}",
                        DataTypeName(a->dtype()), a->shape(), DataTypeName(b->dtype()), b->shape());
  }
  const Dims& right = b->shape();
  const int64_t rows = right[right.size() >= 2 ? right.size() - 2 : 0];
  if (a->shape().back() != rows) {
    return RuntimeError("[matmul] expects the last size of the first operand to be the last but "
                        "one of the second, got {} and {}",
                        a->shape(), right);
  }
  return Ok();
}

// All dims but the last as one.
Maybe<TensorPtr> AsMatrix(const TensorPtr& t) {
  int64_t rows = 1;
  for (int i = 0; i + 1 < t->ndim(); ++i) { rows *= t->shape()[i]; }
  return reshape(t, Dims{rows, t->shape().back()});
}

// (..., k) x (k, n), as one product of matrices.
Maybe<TensorPtr> FoldedMatmul(const TensorPtr& a, const TensorPtr& matrix) {
  Dims shape = a->shape();
  shape[shape.size() - 1] = matrix->shape()[1];
  return reshape(JUST(matmul_nd(JUST(AsMatrix(a)), matrix)), shape);
}

Maybe<TensorPtr> Product(const TensorPtr& a, const TensorPtr& b) {
  if (a->ndim() == 2 && b->ndim() == 2) { return matmul_nd(a, b); }
  JUST(CheckMatmul(a, b));
  if (b->ndim() == 1) {
    Dims shape = a->shape();
    shape.Erase(shape.size() - 1);
    const TensorPtr column = JUST(unsqueeze(b, 1));
    const TensorPtr matrix = a->ndim() == 1 ? JUST(unsqueeze(a, 0)) : a;
    return reshape(JUST(FoldedMatmul(matrix, column)), shape);
  }
  if (a->ndim() == 1) {
    const TensorPtr product = JUST(Product(JUST(unsqueeze(a, 0)), b));
    Dims shape = product->shape();
    shape.Erase(shape.size() - 2);
    return reshape(product, shape);
  }
  if (b->ndim() == 2) { return FoldedMatmul(a, b); }
  return matmul_nd(a, b);
}

Maybe<TensorPtr> MaybeTransposed(const TensorPtr& t, bool transposed) {
  if (!transposed || t->ndim() < 2) { return t; }
  return transpose(t, -2, -1);
}

// A whole factor leaves integers integers, however it is written.
Maybe<TensorPtr> Scaled(const TensorPtr& t, const Scalar& factor) {
  const auto value = factor.To<double>();
  if (value == 1.0) { return t; }
  const bool whole = std::floor(value) == value && std::fabs(value) < 1e15;
  return scalar_mul(t, whole && !IsFloating(t->dtype()) ? Scalar(factor.To<int64_t>()) : factor);
}

bool IsZero(const Scalar& factor) { return factor.To<double>() == 0.0; }

// beta * input + alpha * product. With beta 0, input does not count, not even its NaN.
Maybe<TensorPtr> AddScaled(const char* op, const TensorPtr& input, const TensorPtr& product,
                           const Scalar& beta, const Scalar& alpha) {
  if (input->dtype() != product->dtype()) {
    return RuntimeError("[{}] expects operands of one dtype, got input {} and product {}", op,
                        DataTypeName(input->dtype()), DataTypeName(product->dtype()));
  }
  const TensorPtr scaled = JUST(Scaled(product, alpha));
  const Maybe<Shape> shape = BroadcastShapes(op, input->shape(), product->shape());
  if (!shape.ok() || shape.value() != product->shape()) {
    return RuntimeError("[{}] expects an input that broadcasts to the product {}, got {}", op,
                        product->shape(), input->shape());
  }
  if (IsZero(beta)) { return scaled; }
  return add(scaled, JUST(Scaled(input, beta)), Scalar(1));
}

}  // namespace

Maybe<TensorPtr> Matmul(const TensorPtr& input, const TensorPtr& other, bool transpose_a,
                        bool transpose_b, double alpha) {
  if (!transpose_a && !transpose_b && alpha == 1.0) { return Product(input, other); }
  const TensorPtr a = JUST(MaybeTransposed(input, transpose_a));
  const TensorPtr b = JUST(MaybeTransposed(other, transpose_b));
  return Scaled(JUST(Product(a, b)), Scalar(alpha));
}

Maybe<TensorPtr> LinearWeightGrad(const TensorPtr& dy, const TensorPtr& input) {
  return matmul_nd(JUST(t(JUST(AsMatrix(dy)))), JUST(AsMatrix(input)));
}

Maybe<TensorPtr> Mm(const TensorPtr& input, const TensorPtr& mat2) {
  if (input->ndim() != 2 || mat2->ndim() != 2) {
    return RuntimeError("[mm] expects two matrices, got {} and {}", input->shape(), mat2->shape());
  }
  const Dims& a = input->shape();
  const Dims& b = mat2->shape();
  if (a[1] != b[0]) {
    return RuntimeError(
        "[mm] expects a first matrix with as many columns as the second has rows, got {} and {}", a,
        b);
  }
  return matmul_nd(input, mat2);
}

Maybe<TensorPtr> Bmm(const TensorPtr& input, const TensorPtr& mat2) {
  if (input->ndim() != 3 || mat2->ndim() != 3) {
    return RuntimeError("[bmm] expects two stacks of matrices, got {} and {}", input->shape(),
                        mat2->shape());
  }
  const Dims& a = input->shape();
  const Dims& b = mat2->shape();
  if (a[0] != b[0] || a[2] != b[1]) {
    return RuntimeError("[bmm] expects (b, m, k) and (b, k, n), got {} and {}", a, b);
  }
  return matmul_nd(input, mat2);
}

Maybe<TensorPtr> BatchMatmul(const TensorPtr& a, const TensorPtr& b, bool transpose_a,
                             bool transpose_b, double alpha) {
  if (a->ndim() != b->ndim() || a->ndim() < 3) {
    return RuntimeError("[batch_matmul] expects stacks of matrices with equally many dims, at "
                        "least 3, got {} and {}",
                        a->shape(), b->shape());
  }
  return Matmul(a, b, transpose_a, transpose_b, alpha);
}

Maybe<TensorPtr> Mv(const TensorPtr& input, const TensorPtr& vec) {
  if (input->ndim() != 2 || vec->ndim() != 1) {
    return RuntimeError("[mv] expects a matrix and a vector, got {} and {}", input->shape(),
                        vec->shape());
  }
  if (input->shape()[1] != vec->shape()[0]) {
    return RuntimeError("[mv] expects a vector of as many entries as the matrix has columns, got "
                        "{} and {}",
                        input->shape(), vec->shape());
  }
  return Product(input, vec);
}

Maybe<TensorPtr> Dot(const TensorPtr& input, const TensorPtr& other) {
  if (input->ndim() != 1 || other->ndim() != 1) {
    return RuntimeError("[dot] expects two vectors, got {} and {}", input->shape(), other->shape());
  }
  if (input->dtype() != other->dtype()) {
    return RuntimeError("[dot] expects operands of one dtype, got {} and {}",
                        DataTypeName(input->dtype()), DataTypeName(other->dtype()));
  }
  if (input->shape() != other->shape()) {
    return RuntimeError("[dot] expects vectors of one size, got {} and {}", input->shape(),
                        other->shape());
  }
  const int64_t n = input->shape()[0];
  const TensorPtr row = JUST(view(input, Dims{1, n}));
  return view(JUST(matmul_nd(row, JUST(unsqueeze(other, 1)))), Dims{});
}

Maybe<TensorPtr> Addmm(const TensorPtr& input, const TensorPtr& mat1, const TensorPtr& mat2,
                       Scalar alpha, Scalar beta) {
  const bool plain = alpha.To<double>() == 1.0 && beta.To<double>() == 1.0;
  const bool matrices = mat1->ndim() == 2 && mat2->ndim() == 2;
  if (plain && matrices && input->ndim() == 1 && input->shape()[0] == mat2->shape()[1] &&
      mat1->shape()[1] == mat2->shape()[0]) {
    return linear(mat1, JUST(t(mat2)), input);
  }
  return AddScaled("addmm", input, JUST(Mm(mat1, mat2)), beta, alpha);
}

Maybe<TensorPtr> Baddbmm(const TensorPtr& input, const TensorPtr& batch1, const TensorPtr& batch2,
                         double beta, double alpha) {
  return AddScaled("baddbmm", input, JUST(Bmm(batch1, batch2)), Scalar(beta), Scalar(alpha));
}

Maybe<TensorPtr> BiasAdd(const TensorPtr& x, const TensorPtr& bias, int64_t axis) {
  const int ndim = x->ndim();
  if (axis < -ndim || axis >= ndim) {
    return IndexError("[bias_add] expects an axis of x {}, got {}", x->shape(), axis);
  }
  const int at = static_cast<int>(axis < 0 ? axis + ndim : axis);
  if (bias->ndim() != 1 || bias->shape()[0] != x->shape()[at]) {
    return RuntimeError("[bias_add] expects a bias with as many entries as x {} has along axis {}, "
                        "got bias {}",
                        x->shape(), axis, bias->shape());
  }
  Dims shape(ndim - at, 1);
  shape[0] = bias->shape()[0];
  return add(x, shape.size() == 1 ? bias : JUST(reshape(bias, shape)), Scalar(1));
}

Maybe<TensorPtr> FusedMatmulBias(const TensorPtr& x, const TensorPtr& weight, const TensorPtr& bias,
                                 const TensorPtr& add_to_output) {
  const TensorPtr product = JUST(linear(x, weight, bias));
  if (add_to_output == nullptr) { return product; }
  return add(product, add_to_output, Scalar(1));
}

namespace {

Maybe<void> CheckMlp(const TensorPtr& x, const TensorTuple& weights, const TensorTuple& biases) {
  if (weights.empty()) {
    return RuntimeError("[fused_mlp] expects at least one layer, got no weights");
  }
  if (weights.size() != biases.size()) {
    return RuntimeError("[fused_mlp] expects a bias for each weight, got {} weights and {} biases",
                        weights.size(), biases.size());
  }
  int64_t width = x->ndim() == 0 ? 0 : x->shape().back();
  for (size_t i = 0; i < weights.size(); ++i) {
    const Dims& weight = weights[i]->shape();
    const Dims& bias = biases[i]->shape();
    if (weight.size() != 2 || bias.size() != 1 || bias[0] != weight[0] || weight[1] != width) {
      return RuntimeError("[fused_mlp] expects weight {} (out, {}) and bias (out,), got {} and {}",
                          i, width, weight, bias);
    }
    width = weight[0];
  }
  return Ok();
}

}  // namespace

Maybe<TensorPtr> FusedMlp(const TensorPtr& x, const TensorTuple& weights, const TensorTuple& biases,
                          bool skip_final_activation) {
  JUST(CheckMlp(x, weights, biases));
  TensorPtr out = x;
  for (size_t i = 0; i < weights.size(); ++i) {
    out = JUST(linear(out, weights[i], biases[i]));
    if (i + 1 < weights.size() || !skip_final_activation) { out = JUST(relu(out)); }
  }
  return out;
}

Maybe<TensorTuple> GroupedMatmulBias(const TensorTuple& xs, const TensorTuple& weights,
                                     const TensorTuple& biases) {
  const bool biased = !biases.empty();
  if (xs.size() != weights.size() || (biased && xs.size() != biases.size()) || xs.empty()) {
    return RuntimeError(
        "[grouped_matmul] expects lists of one length, at least 1, got {} operands, "
        "{} weights, {} biases",
        xs.size(), weights.size(), biases.size());
  }
  TensorTuple out;
  for (size_t i = 0; i < xs.size(); ++i) {
    out.push_back(JUST(linear(xs[i], weights[i], biased ? biases[i] : TensorPtr())));
  }
  return out;
}

Maybe<TensorTuple> GroupedMatmul(const TensorTuple& xs, const TensorTuple& weights) {
  return GroupedMatmulBias(xs, weights, TensorTuple());
}

}  // namespace oneflow::functional::composites
