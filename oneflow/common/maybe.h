// Maybe<T>: a value or an Error. Every fallible function of the runtime returns one.
//
//   Maybe<int> Half(int x) {
//     if (x % 2 != 0) { return ValueError("[half] expects an even number, got {}", x); }
//     return x / 2;
//   }
//   Maybe<void> Use() {
//     const int h = JUST(Half(8));          // on failure: returns the error to our caller
//     JUST_MSG(Half(h), "while using {}", h);  // the same, with words before the message
//     return Ok();
//   }
//   void Outer() { CHECK_JUST(Use()); }     // for places that cannot return a Maybe: throws
//
// A success costs no allocation: Maybe<T> is T and one null pointer.
// CHECK_JUST throws ErrorException, never aborts, and is not used in destructors.
// Thread safety: as its value.
#ifndef ONEFLOW_COMMON_MAYBE_H_
#define ONEFLOW_COMMON_MAYBE_H_

#include <new>
#include <type_traits>
#include <utility>

#include "oneflow/common/error.h"

namespace oneflow {

struct OkTag {};
inline OkTag Ok() { return {}; }

template <typename T>
class [[nodiscard]] Maybe {
 public:
  Maybe(const T& value) { new (&value_) T(value); }        // NOLINT: implicit
  Maybe(T&& value) { new (&value_) T(std::move(value)); }  // NOLINT: implicit
  template <typename U,
            typename = std::enable_if_t<
                std::is_convertible_v<U&&, T> && !std::is_same_v<std::decay_t<U>, ErrorPtr> &&
                !std::is_same_v<std::decay_t<U>, Maybe> && !std::is_same_v<std::decay_t<U>, T>>>
  Maybe(U&& value) {  // NOLINT: implicit
    new (&value_) T(std::forward<U>(value));
  }
  Maybe(ErrorPtr error) : error_(std::move(error)) {}  // NOLINT: implicit
  // The error is shared, not moved: without one `other` would pass for a value when it is destroyed.
  Maybe(Maybe&& other) noexcept : error_(other.error_) {
    if (error_ == nullptr) { new (&value_) T(std::move(other.value_)); }
  }
  Maybe(const Maybe& other) : error_(other.error_) {
    if (error_ == nullptr) { new (&value_) T(other.value_); }
  }
  Maybe& operator=(const Maybe&) = delete;
  ~Maybe() {
    if (error_ == nullptr) { value_.~T(); }
  }

  bool ok() const { return error_ == nullptr; }
  const ErrorPtr& error() const { return error_; }
  // REQUIRES ok().
  T& value() & { return value_; }
  const T& value() const& { return value_; }
  T&& value() && { return std::move(value_); }

 private:
  ErrorPtr error_;
  union {
    T value_;
  };
};

template <>
class [[nodiscard]] Maybe<void> {
 public:
  Maybe(OkTag) {}                                      // NOLINT: implicit
  Maybe(ErrorPtr error) : error_(std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return error_ == nullptr; }
  const ErrorPtr& error() const { return error_; }
  void value() const {}

 private:
  ErrorPtr error_;
};

// `return CheckThat(...)`-style helpers live with their callers; these are the three operators.
namespace maybe_detail {

template <typename T>
struct ValueOf {
  static T Take(Maybe<T>&& m) { return std::move(m).value(); }
};
template <>
struct ValueOf<void> {
  static void Take(Maybe<void>&&) {}
};

template <typename T>
T TakeValue(Maybe<T>&& m) {
  return ValueOf<T>::Take(std::move(m));
}

[[noreturn]] void Throw(const ErrorPtr& error);
void Annotate(const ErrorPtr& error, const char* file, int line, const char* expression);

}  // namespace maybe_detail

}  // namespace oneflow

#define JUST_IMPL_(expr, on_error)                                                   \
  __extension__({                                                                    \
    auto&& maybe__ = (expr);                                                         \
    if (__builtin_expect(!maybe__.ok(), 0)) {                                        \
      ::oneflow::maybe_detail::Annotate(maybe__.error(), __FILE__, __LINE__, #expr); \
      on_error;                                                                      \
    }                                                                                \
    ::oneflow::maybe_detail::TakeValue(std::move(maybe__));                          \
  })

#define JUST(expr) JUST_IMPL_(expr, return maybe__.error())
#define JUST_MSG(expr, ...)                                                                \
  JUST_IMPL_(expr, maybe__.error()->PrependMessage(::oneflow::Format(__VA_ARGS__) + ": "); \
             return maybe__.error())
#define CHECK_JUST(expr) JUST_IMPL_(expr, ::oneflow::maybe_detail::Throw(maybe__.error()))
#define CHECK_JUST_MSG(expr, ...)                                                          \
  JUST_IMPL_(expr, maybe__.error()->PrependMessage(::oneflow::Format(__VA_ARGS__) + ": "); \
             ::oneflow::maybe_detail::Throw(maybe__.error()))

// An assertion about our own code: on failure returns an internal error ("please report").
#define CHECK_OR_RETURN(condition, ...)                                     \
  if (__builtin_expect(!(condition), 0)) {                                  \
    ::oneflow::ErrorPtr error__ = ::oneflow::InternalError("" __VA_ARGS__); \
    error__->AddFrame(__FILE__, __LINE__, #condition);                      \
    return error__;                                                         \
  }

#endif  // ONEFLOW_COMMON_MAYBE_H_
