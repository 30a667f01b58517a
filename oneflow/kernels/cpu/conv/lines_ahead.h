// Cache lines that are needed later, asked for while something else is computed.
//
// Thread safety: none; one object for each thread. It borrows the array.
#ifndef ONEFLOW_KERNELS_CPU_CONV_LINES_AHEAD_H_
#define ONEFLOW_KERNELS_CPU_CONV_LINES_AHEAD_H_

#include <cstdint>

namespace oneflow {
namespace cpu {

class LinesAhead {
 public:
  // No lines.
  LinesAhead() = default;
  // Those of `rows` rows of `bytes`, `step` bytes apart, in `calls` calls of Ask.
  LinesAhead(const void* first, int64_t rows, int64_t bytes, int64_t step, int64_t calls)
      : row_(static_cast<const char*>(first)), rows_(rows), bytes_(bytes), step_(step) {
    const int64_t lines = rows * ((bytes + kLine - 1) / kLine);
    at_once_ = (lines + calls - 1) / calls;
  }

  void Ask() {
    for (int64_t i = 0; i < at_once_ && rows_ > 0; ++i) {
      __builtin_prefetch(row_ + at_, 0, 2);
      at_ += kLine;
      if (at_ < bytes_) { continue; }
      at_ = 0;
      row_ += step_;
      --rows_;
    }
  }

 private:
  static constexpr int64_t kLine = 64;

  const char* row_ = nullptr;
  int64_t rows_ = 0, bytes_ = 0, step_ = 0, at_ = 0, at_once_ = 0;
};

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_CONV_LINES_AHEAD_H_
