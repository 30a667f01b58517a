#include "oneflow/kernels/cpu/conv/columns.h"

#include <algorithm>
#include <cstring>

#include "oneflow/device/cpu/parallel.h"

namespace oneflow {
namespace cpu {

namespace {

struct Row {
  int64_t channel;
  int64_t k[3];
};

Row RowAt(const ColumnShape& s, int64_t r) {
  Row row;
  row.k[2] = r % s.kernel[2];
  r /= s.kernel[2];
  row.k[1] = r % s.kernel[1];
  r /= s.kernel[1];
  row.k[0] = r % s.kernel[0];
  row.channel = r / s.kernel[0];
  return row;
}

// Where kernel position k of the window at position `o` looks, in dimension d.
int64_t Source(const ColumnShape& s, int d, int64_t o, int64_t k) {
  return o * s.stride[d] - s.padding[d] + k * s.dilation[d];
}

int64_t CeilDiv(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

// Calls body(line in the image or nullptr, offset of the line's first column) for each line, and
// gives the positions [first, last) whose source is inside the image.
template <typename T, typename Body>
void ForEachLine(const ColumnShape& s, const Row& row, T* image, int64_t begin, int64_t end,
                 const Body& body) {
  T* plane = image + row.channel * s.InPixels();
  const int64_t shift = Source(s, 2, 0, row.k[2]);
  const int64_t first = std::clamp<int64_t>(CeilDiv(-shift, s.stride[2]), 0, s.out[2]);
  const int64_t last = std::clamp<int64_t>(CeilDiv(s.in[2] - shift, s.stride[2]), first, s.out[2]);
  for (int64_t line = begin; line < end; ++line) {
    const int64_t d = Source(s, 0, line / s.out[1], row.k[0]);
    const int64_t h = Source(s, 1, line % s.out[1], row.k[1]);
    const bool inside = d >= 0 && d < s.in[0] && h >= 0 && h < s.in[1];
    T* from = inside ? plane + (d * s.in[1] + h) * s.in[2] + shift : nullptr;
    body(from, (line - begin) * s.out[2], first, last);
  }
}

template <typename T>
void FillRow(const ColumnShape& s, const Row& row, const T* image, int64_t begin, int64_t end,
             T* to) {
  ForEachLine(
      s, row, image, begin, end, [&](const T* from, int64_t offset, int64_t first, int64_t last) {
        T* line = to + offset;
        if (from == nullptr) {
          std::memset(line, 0, sizeof(T) * static_cast<size_t>(s.out[2]));
          return;
        }
        for (int64_t i = 0; i < first; ++i) { line[i] = T(0); }
        if (s.stride[2] == 1) {
          std::memcpy(line + first, from + first, sizeof(T) * static_cast<size_t>(last - first));
        } else {
          for (int64_t i = first; i < last; ++i) { line[i] = from[i * s.stride[2]]; }
        }
        for (int64_t i = last; i < s.out[2]; ++i) { line[i] = T(0); }
      });
}

template <typename T>
void AddRow(const ColumnShape& s, const Row& row, const T* columns, int64_t begin, int64_t end,
            T* image) {
  ForEachLine(s, row, image, begin, end, [&](T* to, int64_t offset, int64_t first, int64_t last) {
    if (to == nullptr) { return; }
    const T* line = columns + offset;
    for (int64_t i = first; i < last; ++i) { to[i * s.stride[2]] += line[i]; }
  });
}

}  // namespace

template <typename T>
void ImageToColumns(const ColumnShape& s, const T* image, int64_t begin, int64_t end, T* columns,
                    int threads) {
  const int64_t width = (end - begin) * s.out[2];
  const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(width, 1));
  ParallelFor(threads, s.Rows(), grain, [&](int64_t from, int64_t to) {
    for (int64_t r = from; r < to; ++r) {
      FillRow(s, RowAt(s, r), image, begin, end, columns + r * width);
    }
  });
}

// By channels: the rows of one channel add into the same plane.
template <typename T>
void AddColumnsToImage(const ColumnShape& s, const T* columns, int64_t begin, int64_t end, T* image,
                       int threads) {
  const int64_t width = (end - begin) * s.out[2];
  const int64_t rows = s.channels == 0 ? 0 : s.Rows() / s.channels;
  const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(width * rows, 1));
  ParallelFor(threads, s.channels, grain, [&](int64_t from, int64_t to) {
    for (int64_t r = from * rows; r < to * rows; ++r) {
      AddRow(s, RowAt(s, r), columns + r * width, begin, end, image);
    }
  });
}

#define ONEFLOW_COLUMNS_OF(T)                                                               \
  template void ImageToColumns<T>(const ColumnShape&, const T*, int64_t, int64_t, T*, int); \
  template void AddColumnsToImage<T>(const ColumnShape&, const T*, int64_t, int64_t, T*, int);

ONEFLOW_COLUMNS_OF(float)
ONEFLOW_COLUMNS_OF(double)

}  // namespace cpu
}  // namespace oneflow
