// Text formatting by {fmt}, with only its light header in ours: the formatting code itself is
// compiled once, in format.cc.
//
// A type becomes printable with `Format("{}", x)` by having `std::string ToString() const`.
#ifndef ONEFLOW_COMMON_FORMAT_H_
#define ONEFLOW_COMMON_FORMAT_H_

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace oneflow {

namespace format_detail {

// One type-erased argument. Text arguments are turned into strings before the call, so that the
// set of kinds stays closed and no {fmt} header is needed here.
struct Arg {
  enum class Kind { kInt, kUint, kDouble, kString, kPointer } kind;
  union {
    long long i;
    unsigned long long u;
    double d;
    const void* p;
  };
  std::string s;

  static Arg Int(long long v) { return {Kind::kInt, v, {}}; }
  static Arg Uint(unsigned long long v) {
    Arg a{Kind::kUint, 0, {}};
    a.u = v;
    return a;
  }
  static Arg Double(double v) {
    Arg a{Kind::kDouble, 0, {}};
    a.d = v;
    return a;
  }
  static Arg Pointer(const void* v) {
    Arg a{Kind::kPointer, 0, {}};
    a.p = v;
    return a;
  }
  static Arg String(std::string v) { return {Kind::kString, 0, std::move(v)}; }
};

template <typename T>
Arg MakeArg(const T& v) {
  using U = std::decay_t<T>;
  if constexpr (std::is_same_v<U, bool>) {
    return Arg::String(v ? "true" : "false");
  } else if constexpr (std::is_enum_v<U>) {
    return Arg::Int(static_cast<long long>(v));
  } else if constexpr (std::is_floating_point_v<U>) {
    return Arg::Double(static_cast<double>(v));
  } else if constexpr (std::is_integral_v<U> && std::is_signed_v<U>) {
    return Arg::Int(v);
  } else if constexpr (std::is_integral_v<U>) {
    return Arg::Uint(v);
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return Arg::String(std::string(std::string_view(v)));
  } else if constexpr (std::is_pointer_v<U>) {
    return Arg::Pointer(v);
  } else {
    return Arg::String(v.ToString());
  }
}

std::string FormatArgs(std::string_view pattern, const Arg* args, size_t count);

}  // namespace format_detail

// Formats with {fmt}'s syntax. A broken pattern gives the pattern and the reason as text: building
// an error message must never be the thing that fails.
template <typename... Args>
std::string Format(std::string_view pattern, const Args&... args) {
  if constexpr (sizeof...(Args) == 0) {
    return format_detail::FormatArgs(pattern, nullptr, 0);
  } else {
    const format_detail::Arg list[] = {format_detail::MakeArg(args)...};
    return format_detail::FormatArgs(pattern, list, sizeof...(Args));
  }
}

}  // namespace oneflow

#endif  // ONEFLOW_COMMON_FORMAT_H_
