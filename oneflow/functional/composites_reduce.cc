#include "oneflow/functional/composites_reduce.h"

#include <algorithm>

#include "oneflow/autograd/grad_mode.h"
#include "oneflow/functional/composites.h"
#include "oneflow/functional/generated/functional.h"

namespace oneflow::functional::composites {

namespace {

// The shape `shape` with its dims in `dims` (none: all) set to 1.
Dims WithOnes(const Dims& shape, const Dims& dims) {
  Dims out = dims.empty() ? Dims(shape.size(), 1) : shape;
  for (int64_t dim : dims) { out[static_cast<int>(dim)] = 1; }
  return out;
}

// A result of a reduction of a tensor of this shape, with the dims that were reduced as 1.
Maybe<TensorPtr> Kept(const TensorPtr& result, const Dims& shape, const Dims& dims, bool keepdim) {
  if (keepdim) { return result; }
  return reshape(result, WithOnes(shape, dims));
}

// How many elements fall into each result.
double ReducedCount(const Dims& shape, const Dims& dims) {
  double count = dims.empty() ? static_cast<double>(ElementCount(shape)) : 1.0;
  for (int64_t dim : dims) { count *= static_cast<double>(shape[static_cast<int>(dim)]); }
  return count;
}

}  // namespace

Maybe<TensorPtr> SumBackward(const TensorPtr& dy, const Dims& shape, const Dims& dims,
                             bool keepdim) {
  return expand(JUST(Kept(dy, shape, dims, keepdim)), shape);
}

Maybe<TensorPtr> MeanBackward(const TensorPtr& dy, const Dims& shape, const Dims& dims,
                              bool keepdim) {
  // Of a mean of nothing no element has a share.
  const int64_t elements = std::max<int64_t>(ElementCount(shape), 1);
  const double share = static_cast<double>(dy->Count()) / static_cast<double>(elements);
  return SumBackward(JUST(scalar_mul(dy, Scalar(share))), shape, dims, keepdim);
}

Maybe<TensorPtr> SumToShape(const TensorPtr& input, const Dims& shape) {
  const Dims& from = input->shape();
  if (from == shape) { return input; }
  const int shift = from.size() - shape.size();
  Dims dims;
  bool fits = shift >= 0;
  for (int i = 0; fits && i < from.size(); ++i) {
    const int64_t size = i < shift ? 1 : shape[i - shift];
    fits = size == from[i] || size == 1;
    if (i < shift || size != from[i]) { dims.PushBack(i); }
  }
  if (!fits) {
    return RuntimeError("[sum_to_shape] expects a shape that broadcasts to {}, got {}", from,
                        shape);
  }
  const TensorPtr summed = dims.empty() ? input : JUST(sum(input, dims, /*keepdim=*/true));
  return shift == 0 ? summed : reshape(summed, shape);
}

Maybe<TensorPtr> NansumBackward(const TensorPtr& dy, const TensorPtr& input, const Dims& dims,
                                bool keepdim) {
  const TensorPtr is_number = JUST(cast(JUST(eq(input, input)), dy->dtype()));
  return mul(JUST(Kept(dy, input->shape(), dims, keepdim)), is_number);
}

Maybe<TensorPtr> ExtremeBackward(const TensorPtr& dy, const TensorPtr& input, const TensorPtr& out,
                                 const Dims& dims, bool keepdim) {
  const Dims& shape = input->shape();
  const TensorPtr is_best =
      JUST(cast(JUST(eq(input, JUST(Kept(out, shape, dims, keepdim)))), dy->dtype()));
  const TensorPtr count = JUST(sum(is_best, dims, /*keepdim=*/true));
  return mul(JUST(div(JUST(Kept(dy, shape, dims, keepdim)), count)), is_best);
}

Maybe<TensorPtr> VarBackward(const TensorPtr& dy, const TensorPtr& input, const Dims& dims,
                             bool keepdim, double correction) {
  const Dims& shape = input->shape();
  const double divisor = std::max(0.0, ReducedCount(shape, dims) - correction);
  const TensorPtr deviation = JUST(sub(input, JUST(mean(input, dims, /*keepdim=*/true))));
  return mul(JUST(scalar_mul(JUST(Kept(dy, shape, dims, keepdim)), Scalar(2.0 / divisor))),
             deviation);
}

Maybe<TensorPtr> StdBackward(const TensorPtr& dy, const TensorPtr& input, const TensorPtr& out,
                             const Dims& dims, bool keepdim, double correction) {
  // Where all elements are equal the gradient is 0; 1 avoids 0 / 0.
  const TensorPtr is_zero = JUST(cast(JUST(scalar_eq(out, Scalar(0))), out->dtype()));
  const TensorPtr divisor = JUST(scalar_mul(JUST(add(out, is_zero)), Scalar(2.0)));
  return VarBackward(JUST(div(dy, divisor)), input, dims, keepdim, correction);
}

Maybe<TensorPtr> LogsumexpBackward(const TensorPtr& dy, const TensorPtr& input,
                                   const TensorPtr& out, const Dims& dims, bool keepdim) {
  const Dims& shape = input->shape();
  const TensorPtr share = JUST(exp(JUST(sub(input, JUST(Kept(out, shape, dims, keepdim))))));
  return mul(JUST(Kept(dy, shape, dims, keepdim)), share);
}

// Where an element is 0 and no other is, the gradient is the product of the others; with two zeros
// it is 0, but its derivative for the other zero is not.
Maybe<TensorPtr> ProdBackward(const TensorPtr& dy, const TensorPtr& input, const TensorPtr& out,
                              const Dims& dims, bool keepdim) {
  const Dims& shape = input->shape();
  const DataType dtype = input->dtype();
  const TensorPtr is_zero = JUST(scalar_eq(input, Scalar(0)));
  const TensorPtr zero = JUST(cast(is_zero, dtype));
  const TensorPtr count = JUST(sum(zero, dims, /*keepdim=*/true));
  const TensorPtr divisor = JUST(where_scalar_x(is_zero, Scalar(1), input));
  const TensorPtr others = JUST(prod(divisor, dims, /*keepdim=*/true));
  const TensorPtr of_one = JUST(mul(others, JUST(cast(JUST(scalar_eq(count, Scalar(1))), dtype))));
  TensorPtr at_zero = of_one;
  if (GradModeEnabled()) {
    const TensorPtr zeros = JUST(mul(input, zero));
    const TensorPtr another = JUST(sub(JUST(sum(zeros, dims, /*keepdim=*/true)), zeros));
    const TensorPtr of_two =
        JUST(mul(others, JUST(cast(JUST(scalar_eq(count, Scalar(2))), dtype))));
    at_zero = JUST(add(of_one, JUST(mul(of_two, another))));
  }
  const TensorPtr elsewhere = JUST(div(JUST(Kept(out, shape, dims, keepdim)), divisor));
  return mul(JUST(Kept(dy, shape, dims, keepdim)), JUST(where(is_zero, at_zero, elsewhere)));
}

Maybe<TensorPtr> ReduceSumLike(const TensorPtr& input, const TensorPtr& like, const Dims& axis) {
  if (input->dtype() != like->dtype()) {
    return TypeError("[reduce_sum_like] expects operands of one dtype, got {} and {}",
                     DataTypeName(input->dtype()), DataTypeName(like->dtype()));
  }
  if (axis.empty()) {
    if (input->shape() == like->shape()) { return input; }
    return RuntimeError("[reduce_sum_like] expects operands of one shape where no axis is given, "
                        "got {} and {}",
                        input->shape(), like->shape());
  }
  return reshape(JUST(sum(input, axis)), like->shape());
}

}  // namespace oneflow::functional::composites
