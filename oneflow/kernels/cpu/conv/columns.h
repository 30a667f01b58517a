// Columns: the windows of an image as the columns of a matrix, and back.
//
// Row r of the matrix is one element of a window (channel, then kernel position), column p one
// position of the window; elements outside the image are 0. Thread safety: pure functions.
#ifndef ONEFLOW_KERNELS_CPU_CONV_COLUMNS_H_
#define ONEFLOW_KERNELS_CPU_CONV_COLUMNS_H_

#include <cstdint>

namespace oneflow {
namespace cpu {

// Sizes in three dimensions, outermost first.
struct ColumnShape {
  int64_t channels;
  int64_t in[3], out[3], kernel[3], stride[3], padding[3], dilation[3];

  int64_t InPixels() const { return in[0] * in[1] * in[2]; }
  int64_t OutPixels() const { return out[0] * out[1] * out[2]; }
  int64_t Rows() const { return channels * kernel[0] * kernel[1] * kernel[2]; }
  // The positions come in lines of out[2]; some functions do a range of them.
  int64_t Lines() const { return out[0] * out[1]; }
};

// columns (Rows x (end - begin) * out[2]) from the image (channels, in...), for a range of lines.
template <typename T>
void ImageToColumns(const ColumnShape& shape, const T* image, int64_t begin, int64_t end,
                    T* columns, int threads);
// Adds the columns into the image where they came from.
template <typename T>
void AddColumnsToImage(const ColumnShape& shape, const T* columns, int64_t begin, int64_t end,
                       T* image, int threads);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_CONV_COLUMNS_H_
