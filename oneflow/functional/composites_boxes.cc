#include "oneflow/autograd/grad_mode.h"
#include "oneflow/functional/composites.h"
#include "oneflow/functional/composites_fused.h"
#include "oneflow/functional/generated/functional.h"

namespace oneflow::functional::composites {

namespace {

Maybe<TensorPtr> Plus(const TensorPtr& a, const TensorPtr& b) { return add(a, b, Scalar(1)); }
Maybe<TensorPtr> Minus(const TensorPtr& a, const TensorPtr& b) { return sub(a, b, Scalar(1)); }
Maybe<TensorPtr> Times(const TensorPtr& a, double factor) { return scalar_mul(a, Scalar(factor)); }
Maybe<TensorPtr> PlusNumber(const TensorPtr& a, double number) {
  return scalar_add(a, Scalar(number), Scalar(1));
}

}  // namespace

Maybe<TensorTuple> BoxEdges(const TensorPtr& x1, const TensorPtr& y1, const TensorPtr& w1,
                            const TensorPtr& h1, const TensorPtr& x2, const TensorPtr& y2,
                            const TensorPtr& w2, const TensorPtr& h2) {
  TensorTuple edges;
  const TensorPtr* centers[] = {&x1, &y1, &x2, &y2};
  const TensorPtr* sizes[] = {&w1, &h1, &w2, &h2};
  for (int i = 0; i < 4; ++i) {
    const TensorPtr half = JUST(Times(*sizes[i], 0.5));
    edges.push_back(JUST(Minus(*centers[i], half)));
    edges.push_back(JUST(Plus(*centers[i], half)));
  }
  return edges;
}

Maybe<TensorPtr> BoxIntersection(const TensorPtr& b1_x1, const TensorPtr& b1_x2,
                                 const TensorPtr& b2_x1, const TensorPtr& b2_x2,
                                 const TensorPtr& b1_y1, const TensorPtr& b1_y2,
                                 const TensorPtr& b2_y1, const TensorPtr& b2_y2) {
  const TensorPtr w = JUST(Minus(JUST(minimum(b1_x2, b2_x2)), JUST(maximum(b1_x1, b2_x1))));
  const TensorPtr h = JUST(Minus(JUST(minimum(b1_y2, b2_y2)), JUST(maximum(b1_y1, b2_y1))));
  return mul(JUST(relu(w)), JUST(relu(h)));
}

Maybe<TensorPtr> BoxIou(const TensorPtr& w1, const TensorPtr& h1, const TensorPtr& w2,
                        const TensorPtr& h2, const TensorPtr& inter, double eps) {
  const TensorPtr areas = JUST(Plus(JUST(mul(w1, h1)), JUST(mul(w2, h2))));
  return div(inter, JUST(PlusNumber(JUST(Minus(areas, inter)), eps)));
}

Maybe<TensorPtr> BoxHullDiagonal(const TensorPtr& b1_x1, const TensorPtr& b1_x2,
                                 const TensorPtr& b2_x1, const TensorPtr& b2_x2,
                                 const TensorPtr& b1_y1, const TensorPtr& b1_y2,
                                 const TensorPtr& b2_y1, const TensorPtr& b2_y2, double eps) {
  const TensorPtr w = JUST(Minus(JUST(maximum(b1_x2, b2_x2)), JUST(minimum(b1_x1, b2_x1))));
  const TensorPtr h = JUST(Minus(JUST(maximum(b1_y2, b2_y2)), JUST(minimum(b1_y1, b2_y1))));
  return PlusNumber(JUST(Plus(JUST(square(w)), JUST(square(h)))), eps);
}

Maybe<TensorPtr> BoxCenterDistance(const TensorPtr& b1_x1, const TensorPtr& b1_x2,
                                   const TensorPtr& b2_x1, const TensorPtr& b2_x2,
                                   const TensorPtr& b1_y1, const TensorPtr& b1_y2,
                                   const TensorPtr& b2_y1, const TensorPtr& b2_y2) {
  const TensorPtr x = JUST(Minus(JUST(Plus(b2_x1, b2_x2)), JUST(Plus(b1_x1, b1_x2))));
  const TensorPtr y = JUST(Minus(JUST(Plus(b2_y1, b2_y2)), JUST(Plus(b1_y1, b1_y2))));
  return Times(JUST(Plus(JUST(square(x)), JUST(square(y)))), 0.25);
}

Maybe<TensorPtr> CiouDiagonalAngle(const TensorPtr& w1, const TensorPtr& h1, const TensorPtr& w2,
                                   const TensorPtr& h2, double eps) {
  const TensorPtr first = JUST(atan(JUST(div(w1, JUST(PlusNumber(h1, eps))))));
  const TensorPtr second = JUST(atan(JUST(div(w2, JUST(PlusNumber(h2, eps))))));
  constexpr double kPi = 3.14159265358979323846;
  return Times(JUST(square(JUST(Minus(second, first)))), 4.0 / (kPi * kPi));
}

Maybe<TensorTuple> CiouResult(const TensorPtr& v, const TensorPtr& iou, const TensorPtr& rho2,
                              const TensorPtr& c2, double eps) {
  TensorPtr alpha;
  {
    const ScopedGradMode constant(false);
    alpha = JUST(div(v, JUST(PlusNumber(JUST(Minus(v, iou)), 1.0 + eps))));
  }
  const TensorPtr loss = JUST(Plus(JUST(div(rho2, c2)), JUST(mul(v, alpha))));
  return TensorTuple{JUST(Minus(iou, loss)), alpha};
}

}  // namespace oneflow::functional::composites
