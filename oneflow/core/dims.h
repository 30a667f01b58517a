// Dims: a short list of int64, with room for six entries inside and at most kMaxDims.
//
// Shape and Strides are both Dims; copying one copies only the entries in use, and no tensor of six
// or fewer dimensions allocates for it. Thread safety: as int64[].
#ifndef ONEFLOW_CORE_DIMS_H_
#define ONEFLOW_CORE_DIMS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>

namespace oneflow {

inline constexpr int kMaxDims = 16;

class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<int64_t> values)
      : Dims(values.begin(), static_cast<int>(values.size())) {}
  Dims(const int64_t* values, int size) {
    Resize(size);
    std::memcpy(data(), values, sizeof(int64_t) * static_cast<size_t>(size));
  }
  Dims(int size, int64_t value) {
    Resize(size);
    for (int i = 0; i < size; ++i) { data()[i] = value; }
  }
  Dims(const Dims& other) : Dims(other.data(), other.size_) {}
  Dims(Dims&& other) noexcept { Steal(&other); }
  Dims& operator=(const Dims& other) {
    if (this != &other) {
      Resize(other.size_);
      std::memcpy(data(), other.data(), sizeof(int64_t) * static_cast<size_t>(size_));
    }
    return *this;
  }
  Dims& operator=(Dims&& other) noexcept {
    if (this != &other) {
      Free();
      Steal(&other);
    }
    return *this;
  }
  ~Dims() { Free(); }

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  int64_t* data() { return heap_ != nullptr ? heap_ : inline_; }
  const int64_t* data() const { return heap_ != nullptr ? heap_ : inline_; }
  int64_t& operator[](int i) { return data()[i]; }
  int64_t operator[](int i) const { return data()[i]; }
  int64_t* begin() { return data(); }
  int64_t* end() { return data() + size_; }
  const int64_t* begin() const { return data(); }
  const int64_t* end() const { return data() + size_; }
  int64_t back() const { return data()[size_ - 1]; }

  // Entries past the old size are uninitialised. REQUIRES 0 <= size <= kMaxDims.
  void Resize(int size) {
    if (size > kInline && heap_ == nullptr) {
      heap_ = new int64_t[kMaxDims];
      std::memcpy(heap_, inline_, sizeof(inline_));
    }
    size_ = size;
  }
  void PushBack(int64_t value) {
    Resize(size_ + 1);
    data()[size_ - 1] = value;
  }
  void Insert(int at, int64_t value) {
    Resize(size_ + 1);
    for (int i = size_ - 1; i > at; --i) { data()[i] = data()[i - 1]; }
    data()[at] = value;
  }
  void Erase(int at) {
    for (int i = at; i + 1 < size_; ++i) { data()[i] = data()[i + 1]; }
    --size_;
  }

  friend bool operator==(const Dims& a, const Dims& b) {
    return a.size_ == b.size_ &&
           std::memcmp(a.data(), b.data(), sizeof(int64_t) * static_cast<size_t>(a.size_)) == 0;
  }
  friend bool operator!=(const Dims& a, const Dims& b) { return !(a == b); }

  // "(2, 3)", "(5,)", "()": as Python prints a tuple.
  std::string ToString() const;

 private:
  static constexpr int kInline = 6;
  void Free() { delete[] heap_; }
  void Steal(Dims* other) {
    size_ = other->size_;
    heap_ = other->heap_;
    if (heap_ == nullptr) { std::memcpy(inline_, other->inline_, sizeof(inline_)); }
    other->heap_ = nullptr;
    other->size_ = 0;
  }

  int64_t inline_[kInline];
  int64_t* heap_ = nullptr;
  int size_ = 0;
};

}  // namespace oneflow

#endif  // ONEFLOW_CORE_DIMS_H_
