#include "oneflow/api/python/py_number.h"

#include <cmath>
#include <optional>

#include "oneflow/api/python/errors.h"
#include "oneflow/api/python/methods.h"
#include "oneflow/api/python/py_ref.h"
#include "oneflow/api/python/py_types.h"
#include "oneflow/functional/generated/functional.h"

namespace oneflow {

namespace {

using OfTensors = Maybe<TensorPtr> (*)(const TensorPtr& x, const TensorPtr& y);
using OfNumber = Maybe<TensorPtr> (*)(const TensorPtr& x, Scalar s);

// What an operator calls: for two tensors, for a number on the right, and for one on the left, of
// which the tensor is the first parameter all the same.
struct Operator {
  const char* name;
  OfTensors tensors;
  OfNumber number;
  OfNumber number_first;
};

// Of an int that is too large Python would only say that it is an int.
PyObject* TooLarge(const char* op, PyObject* number) {
  PyRef text = PyRef::Steal(PyObject_Repr(number));
  const char* digits = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  return RaiseOpError(TypeError("[{}] expects a number of at most 64 bits, got {}", op,
                                digits == nullptr ? "a larger int" : digits));
}

// Calls with_array(t), where t is a tensor with the values of `array`; NotImplemented if that is no
// numpy array.
template <typename WithArray>
PyObject* OrWithArray(const char* op, PyObject* array, const WithArray& with_array) {
  if (PyLong_Check(array) && !ScalarFromPython(array).has_value()) { return TooLarge(op, array); }
  if (!IsNumpyArray(array)) { Py_RETURN_NOTIMPLEMENTED; }
  PyRef made = PyRef::Steal(TensorFromPython(array));
  return made ? WrapResult(with_array(TensorValue(made.get()))) : nullptr;
}

PyObject* Apply(const Operator& op, PyObject* a, PyObject* b) {
  if (IsTensor(a)) {
    if (IsTensor(b)) { return WrapResult(op.tensors(TensorValue(a), TensorValue(b))); }
    const std::optional<Scalar> scalar = ScalarFromPython(b);
    if (scalar.has_value()) { return WrapResult(op.number(TensorValue(a), *scalar)); }
    return OrWithArray(op.name, b,
                       [&](const TensorPtr& y) { return op.tensors(TensorValue(a), y); });
  }
  const std::optional<Scalar> scalar = ScalarFromPython(a);
  if (scalar.has_value()) { return WrapResult(op.number_first(TensorValue(b), *scalar)); }
  return OrWithArray(op.name, a, [&](const TensorPtr& x) { return op.tensors(x, TensorValue(b)); });
}

// In place, the result is the left operand itself. `name` ends in _.
PyObject* ApplyInPlace(const Operator& op, PyObject* a, PyObject* b) {
  if (IsTensor(b)) {
    PY_JUST_OP(op.tensors(TensorValue(a), TensorValue(b)));
  } else {
    const std::optional<Scalar> scalar = ScalarFromPython(b);
    if (!scalar.has_value()) {
      return OrWithArray(op.name, b,
                         [&](const TensorPtr& y) { return op.tensors(TensorValue(a), y); });
    }
    PY_JUST_OP(op.number(TensorValue(a), *scalar));
  }
  Py_INCREF(a);
  return a;
}

// The functional call `f` as a value; those with further parameters take their defaults.
#define ONEFLOW_TT(f) [](const TensorPtr& x, const TensorPtr& y) { return functional::f(x, y); }
#define ONEFLOW_TS(f) [](const TensorPtr& x, Scalar s) { return functional::f(x, s); }
#define ONEFLOW_ST(f) [](const TensorPtr& x, Scalar s) { return functional::f(s, x); }

constexpr Operator kAdd = {"add", ONEFLOW_TT(add), ONEFLOW_TS(scalar_add), ONEFLOW_TS(scalar_add)};
constexpr Operator kSub = {"sub", ONEFLOW_TT(sub), ONEFLOW_TS(scalar_sub), ONEFLOW_TS(rsub)};
constexpr Operator kMul = {"mul", ONEFLOW_TT(mul), ONEFLOW_TS(scalar_mul), ONEFLOW_TS(scalar_mul)};
constexpr Operator kDiv = {"div", ONEFLOW_TT(div), ONEFLOW_TS(scalar_div), ONEFLOW_ST(scalar_rdiv)};
constexpr Operator kFloorDivide = {"floor_divide", ONEFLOW_TT(floor_divide),
                                   ONEFLOW_TS(scalar_floor_divide),
                                   ONEFLOW_ST(scalar_rfloor_divide)};
constexpr Operator kRemainder = {"remainder", ONEFLOW_TT(remainder), ONEFLOW_TS(scalar_remainder),
                                 ONEFLOW_ST(scalar_rremainder)};
constexpr Operator kPow = {"pow", ONEFLOW_TT(pow), ONEFLOW_TS(scalar_pow), ONEFLOW_ST(scalar_rpow)};
constexpr Operator kAnd = {"bitwise_and", ONEFLOW_TT(bitwise_and), ONEFLOW_TS(scalar_bitwise_and),
                           ONEFLOW_TS(scalar_bitwise_and)};
constexpr Operator kOr = {"bitwise_or", ONEFLOW_TT(bitwise_or), ONEFLOW_TS(scalar_bitwise_or),
                          ONEFLOW_TS(scalar_bitwise_or)};
constexpr Operator kXor = {"bitwise_xor", ONEFLOW_TT(bitwise_xor), ONEFLOW_TS(scalar_bitwise_xor),
                           ONEFLOW_TS(scalar_bitwise_xor)};
// A number on the left takes the tensor's dtype.
constexpr Operator kShiftLeft = {
    "bitwise_left_shift", ONEFLOW_TT(bitwise_left_shift), ONEFLOW_TS(scalar_bitwise_left_shift),
    [](const TensorPtr& x, Scalar s) -> Maybe<TensorPtr> {
      return functional::bitwise_left_shift(JUST(functional::full_like(x, s)), x);
    }};
constexpr Operator kShiftRight = {
    "bitwise_right_shift", ONEFLOW_TT(bitwise_right_shift), ONEFLOW_TS(scalar_bitwise_right_shift),
    [](const TensorPtr& x, Scalar s) -> Maybe<TensorPtr> {
      return functional::bitwise_right_shift(JUST(functional::full_like(x, s)), x);
    }};

constexpr Operator kInPlaceAdd = {"add_", ONEFLOW_TT(add_), ONEFLOW_TS(scalar_add_), nullptr};
constexpr Operator kInPlaceSub = {
    "sub_", ONEFLOW_TT(sub_),
    [](const TensorPtr& x, Scalar s) { return functional::scalar_add_(x, s, Scalar(-1)); },
    nullptr};
constexpr Operator kInPlaceMul = {"mul_", ONEFLOW_TT(mul_), ONEFLOW_TS(scalar_mul_), nullptr};
constexpr Operator kInPlaceDiv = {"div_", ONEFLOW_TT(div_), ONEFLOW_TS(scalar_div_), nullptr};
constexpr Operator kInPlaceFloorDivide = {"floor_divide_", ONEFLOW_TT(floor_divide_),
                                          ONEFLOW_TS(scalar_floor_divide_), nullptr};
constexpr Operator kInPlaceRemainder = {"remainder_", ONEFLOW_TT(remainder_),
                                        ONEFLOW_TS(scalar_remainder_), nullptr};
constexpr Operator kInPlacePow = {"pow_", ONEFLOW_TT(pow_), ONEFLOW_TS(scalar_pow_), nullptr};

template <const Operator& op>
PyObject* Binary(PyObject* a, PyObject* b) {
  return Apply(op, a, b);
}
template <const Operator& op>
PyObject* InPlace(PyObject* a, PyObject* b) {
  return ApplyInPlace(op, a, b);
}

// pow(x, y, modulus) is for ints.
PyObject* Power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) { Py_RETURN_NOTIMPLEMENTED; }
  return Apply(kPow, a, b);
}
PyObject* InPlacePower(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) { Py_RETURN_NOTIMPLEMENTED; }
  return ApplyInPlace(kInPlacePow, a, b);
}

PyObject* MatrixMultiply(PyObject* a, PyObject* b) {
  if (IsTensor(a) && IsTensor(b)) {
    return WrapResult(functional::matmul(TensorValue(a), TensorValue(b)));
  }
  if (IsTensor(a)) {
    return OrWithArray("matmul", b,
                       [&](const TensorPtr& y) { return functional::matmul(TensorValue(a), y); });
  }
  return OrWithArray("matmul", a,
                     [&](const TensorPtr& x) { return functional::matmul(x, TensorValue(b)); });
}

PyObject* Negative(PyObject* a) { return WrapResult(functional::neg(TensorValue(a))); }
PyObject* Absolute(PyObject* a) { return WrapResult(functional::abs(TensorValue(a))); }
PyObject* Invert(PyObject* a) { return WrapResult(functional::bitwise_not(TensorValue(a))); }
PyObject* Positive(PyObject* a) {
  Py_INCREF(a);
  return a;
}

// By Python's numbers of comparisons. Python turns them round for a tensor on the right.
constexpr Operator kComparisons[] = {
    {"lt", ONEFLOW_TT(lt), ONEFLOW_TS(scalar_lt), nullptr},
    {"le", ONEFLOW_TT(le), ONEFLOW_TS(scalar_le), nullptr},
    {"eq", ONEFLOW_TT(eq), ONEFLOW_TS(scalar_eq), nullptr},
    {"ne", ONEFLOW_TT(ne), ONEFLOW_TS(scalar_ne), nullptr},
    {"gt", ONEFLOW_TT(gt), ONEFLOW_TS(scalar_gt), nullptr},
    {"ge", ONEFLOW_TT(ge), ONEFLOW_TS(scalar_ge), nullptr},
};
static_assert(Py_LT == 0 && Py_LE == 1 && Py_EQ == 2 && Py_NE == 3 && Py_GT == 4 && Py_GE == 5,
              "the order of the table");

PyObject* RichCompare(PyObject* a, PyObject* b, int comparison) {
  const Operator& op = kComparisons[comparison];
  if (IsTensor(b)) { return WrapResult(op.tensors(TensorValue(a), TensorValue(b))); }
  std::optional<Scalar> scalar = ScalarFromPython(b);
  // An int past 64 bits equals no element; neither does NaN.
  const bool asks_equality = comparison == Py_EQ || comparison == Py_NE;
  if (!scalar.has_value() && PyLong_Check(b) && asks_equality) { scalar = Scalar(std::nan("")); }
  if (scalar.has_value()) { return WrapResult(op.number(TensorValue(a), *scalar)); }
  return OrWithArray(op.name, b, [&](const TensorPtr& y) { return op.tensors(TensorValue(a), y); });
}

template <typename Function>
PyType_Slot Slot(int id, Function function) {
  return {id, reinterpret_cast<void*>(function)};
}

}  // namespace

void AppendNumberSlots(std::vector<PyType_Slot>* slots) {
  const PyType_Slot all[] = {
      Slot(Py_tp_richcompare, &RichCompare),
      Slot(Py_nb_add, &Binary<kAdd>),
      Slot(Py_nb_subtract, &Binary<kSub>),
      Slot(Py_nb_multiply, &Binary<kMul>),
      Slot(Py_nb_true_divide, &Binary<kDiv>),
      Slot(Py_nb_floor_divide, &Binary<kFloorDivide>),
      Slot(Py_nb_remainder, &Binary<kRemainder>),
      Slot(Py_nb_power, &Power),
      Slot(Py_nb_matrix_multiply, &MatrixMultiply),
      Slot(Py_nb_and, &Binary<kAnd>),
      Slot(Py_nb_or, &Binary<kOr>),
      Slot(Py_nb_xor, &Binary<kXor>),
      Slot(Py_nb_lshift, &Binary<kShiftLeft>),
      Slot(Py_nb_rshift, &Binary<kShiftRight>),
      Slot(Py_nb_negative, &Negative),
      Slot(Py_nb_positive, &Positive),
      Slot(Py_nb_absolute, &Absolute),
      Slot(Py_nb_invert, &Invert),
      Slot(Py_nb_inplace_add, &InPlace<kInPlaceAdd>),
      Slot(Py_nb_inplace_subtract, &InPlace<kInPlaceSub>),
      Slot(Py_nb_inplace_multiply, &InPlace<kInPlaceMul>),
      Slot(Py_nb_inplace_true_divide, &InPlace<kInPlaceDiv>),
      Slot(Py_nb_inplace_floor_divide, &InPlace<kInPlaceFloorDivide>),
      Slot(Py_nb_inplace_remainder, &InPlace<kInPlaceRemainder>),
      Slot(Py_nb_inplace_power, &InPlacePower),
  };
  slots->insert(slots->end(), std::begin(all), std::end(all));
}

}  // namespace oneflow
