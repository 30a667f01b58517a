// InlineArray: up to N objects on the stack, of which only as many as asked for are constructed.
//
// For hot paths whose bound is generous but whose usual count is one or two: an array of N would
// construct and destroy all of them. Thread safety: as an array.
#ifndef ONEFLOW_COMMON_INLINE_ARRAY_H_
#define ONEFLOW_COMMON_INLINE_ARRAY_H_

#include <cstddef>
#include <new>

namespace oneflow {

template <typename T, int N>
class InlineArray {
 public:
  // REQUIRES 0 <= count <= N.
  explicit InlineArray(int count) : count_(count) {
    for (int i = 0; i < count_; ++i) { new (data() + i) T(); }
  }
  ~InlineArray() {
    for (int i = 0; i < count_; ++i) { data()[i].~T(); }
  }
  InlineArray(const InlineArray&) = delete;
  InlineArray& operator=(const InlineArray&) = delete;

  T* data() { return reinterpret_cast<T*>(storage_); }
  T& operator[](int i) { return data()[i]; }
  int size() const { return count_; }

 private:
  alignas(T) char storage_[sizeof(T) * static_cast<size_t>(N)];
  int count_;
};

}  // namespace oneflow

#endif  // ONEFLOW_COMMON_INLINE_ARRAY_H_
