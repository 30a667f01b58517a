// Intrusive reference counting for the objects of the hot path (tensors, storages, errors, nodes).
//
// A class derives from RefCounted<Itself>; IntrusivePtr<T> owns one reference. Unlike shared_ptr a
// handle is one pointer wide, and it can be made again from a raw pointer at any time.
//
// Thread safety: counts are atomic; the pointee's own members are as safe as its class says.
// Happens-before: the last Release() acquires what every other Release() published, so a
// destructor sees all writes made by earlier owners.
#ifndef ONEFLOW_COMMON_INTRUSIVE_PTR_H_
#define ONEFLOW_COMMON_INTRUSIVE_PTR_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "oneflow/common/atomic.h"

namespace oneflow {

template <typename T>
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  void AddRef() const { refs_.fetch_add(1, std::memory_order_relaxed); }
  void Release() const {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) { delete static_cast<const T*>(this); }
  }
  int32_t ref_count() const { return refs_.load(std::memory_order_relaxed); }

 protected:
  ~RefCounted() = default;

 private:
  mutable Atomic<int32_t> refs_{0};
};

template <typename T>
class IntrusivePtr {
 public:
  IntrusivePtr() = default;
  IntrusivePtr(std::nullptr_t) {}                                        // NOLINT: implicit
  explicit IntrusivePtr(T* p) : p_(p) { Acquire(); }                     // shares
  IntrusivePtr(const IntrusivePtr& other) : p_(other.p_) { Acquire(); }  // NOLINT: implicit
  IntrusivePtr(IntrusivePtr&& other) noexcept : p_(other.p_) { other.p_ = nullptr; }
  template <typename U>
  IntrusivePtr(const IntrusivePtr<U>& other) : p_(other.get()) {  // NOLINT: implicit
    Acquire();
  }
  template <typename U>
  IntrusivePtr(IntrusivePtr<U>&& other) noexcept : p_(other.Detach()) {}  // NOLINT: implicit
  ~IntrusivePtr() { Drop(); }

  IntrusivePtr& operator=(const IntrusivePtr& other) {
    IntrusivePtr(other).Swap(*this);
    return *this;
  }
  IntrusivePtr& operator=(IntrusivePtr&& other) noexcept {
    IntrusivePtr(std::move(other)).Swap(*this);
    return *this;
  }

  // Takes over a reference that the caller owns already.
  static IntrusivePtr Adopt(T* p) {
    IntrusivePtr r;
    r.p_ = p;
    return r;
  }
  // Gives the reference to the caller.
  T* Detach() {
    T* p = p_;
    p_ = nullptr;
    return p;
  }

  T* get() const { return p_; }
  T& operator*() const { return *p_; }
  T* operator->() const { return p_; }
  explicit operator bool() const { return p_ != nullptr; }
  void Reset() { IntrusivePtr().Swap(*this); }
  void Swap(IntrusivePtr& other) noexcept { std::swap(p_, other.p_); }

 private:
  void Acquire() {
    if (p_ != nullptr) { p_->AddRef(); }
  }
  void Drop() {
    if (p_ != nullptr) { p_->Release(); }
  }
  T* p_ = nullptr;
};

template <typename T, typename U>
bool operator==(const IntrusivePtr<T>& a, const IntrusivePtr<U>& b) {
  return a.get() == b.get();
}
template <typename T, typename U>
bool operator!=(const IntrusivePtr<T>& a, const IntrusivePtr<U>& b) {
  return a.get() != b.get();
}
template <typename T>
bool operator==(const IntrusivePtr<T>& a, std::nullptr_t) {
  return a.get() == nullptr;
}
template <typename T>
bool operator!=(const IntrusivePtr<T>& a, std::nullptr_t) {
  return a.get() != nullptr;
}

template <typename T, typename... Args>
IntrusivePtr<T> MakeIntrusive(Args&&... args) {
  return IntrusivePtr<T>(new T(std::forward<Args>(args)...));
}

}  // namespace oneflow

#endif  // ONEFLOW_COMMON_INTRUSIVE_PTR_H_
