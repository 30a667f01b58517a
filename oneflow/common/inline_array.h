// InlineArray: a few objects on the stack, of which only as many as asked for are constructed; more than
// N of them on the heap.
//
// For hot paths whose usual count is one or two, but which take lists: an array of N would construct
// and destroy all of them. Thread safety: as an array.
#ifndef ONEFLOW_COMMON_INLINE_ARRAY_H_
#define ONEFLOW_COMMON_INLINE_ARRAY_H_

#include <cstddef>
#include <new>

namespace oneflow {

template <typename T, int N>
class InlineArray {
 public:
  // REQUIRES 0 <= count.
  explicit InlineArray(int count) : count_(count) {
    if (__builtin_expect(count_ > N, 0)) { heap_ = new T[static_cast<size_t>(count_)](); }
    for (int i = 0; heap_ == nullptr && i < count_; ++i) { new (data() + i) T(); }
  }
  ~InlineArray() {
    if (__builtin_expect(heap_ != nullptr, 0)) {
      delete[] heap_;
      return;
    }
    for (int i = 0; i < count_; ++i) { data()[i].~T(); }
  }
  InlineArray(const InlineArray&) = delete;
  InlineArray& operator=(const InlineArray&) = delete;

  T* data() { return heap_ != nullptr ? heap_ : reinterpret_cast<T*>(storage_); }
  T& operator[](int i) { return data()[i]; }
  int size() const { return count_; }

 private:
  alignas(T) char storage_[sizeof(T) * static_cast<size_t>(N)];
  T* heap_ = nullptr;
  int count_;
};

}  // namespace oneflow

#endif  // ONEFLOW_COMMON_INLINE_ARRAY_H_
