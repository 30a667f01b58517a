// Scalar: one Python number, of one of Python's three kinds: bool, int, float.
//
// Thread safety: plain value; trivially copyable, so that it can sit in an op's attributes.
#ifndef ONEFLOW_CORE_SCALAR_H_
#define ONEFLOW_CORE_SCALAR_H_

#include <cstdint>
#include <string>

#include "oneflow/common/format.h"
#include "oneflow/core/dtype.h"

namespace oneflow {

class Scalar {
 public:
  enum class Kind : uint8_t { kBool, kInt, kFloat };

  Scalar() : i_(0), kind_(Kind::kInt) {}
  Scalar(bool v) : i_(v), kind_(Kind::kBool) {}     // NOLINT: implicit
  Scalar(int v) : i_(v), kind_(Kind::kInt) {}       // NOLINT: implicit
  Scalar(int64_t v) : i_(v), kind_(Kind::kInt) {}   // NOLINT: implicit
  Scalar(double v) : d_(v), kind_(Kind::kFloat) {}  // NOLINT: implicit

  Kind kind() const { return kind_; }
  bool is_float() const { return kind_ == Kind::kFloat; }

  // The value as T; a float is truncated towards zero for an integer T, as C++ converts.
  template <typename T>
  T To() const {
    return is_float() ? static_cast<T>(d_) : static_cast<T>(i_);
  }

  // The type that `tensor op scalar` has: a scalar changes the type only by its category.
  DataType ResultType(DataType tensor, DataType default_float = DataType::kFloat) const {
    if (kind_ == Kind::kFloat) { return IsFloating(tensor) ? tensor : default_float; }
    if (kind_ == Kind::kInt) { return IsBool(tensor) ? DataType::kInt64 : tensor; }
    return tensor;
  }

  std::string ToString() const {
    if (kind_ == Kind::kFloat) { return Format("{}", d_); }
    return kind_ == Kind::kBool ? (i_ != 0 ? "True" : "False") : Format("{}", i_);
  }

 private:
  union {
    int64_t i_;
    double d_;
  };
  Kind kind_;
};

}  // namespace oneflow

#endif  // ONEFLOW_CORE_SCALAR_H_
