// The elements of a list of arrays, cut into chunks for threads; and a chunk of any array as dense
// numbers to compute with.
//
// Chunks depend on the sizes of the arrays only. Thread safety: const after construction.
#ifndef ONEFLOW_KERNELS_CPU_OPTIM_LIST_CHUNKS_H_
#define ONEFLOW_KERNELS_CPU_OPTIM_LIST_CHUNKS_H_

#include <cstdint>
#include <vector>

#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

class ListChunks {
 public:
  static constexpr int64_t kChunk = 8192;

  ListChunks(const ArrayView* arrays, int count);
  ~ListChunks();
  ListChunks(const ListChunks&) = delete;
  ListChunks& operator=(const ListChunks&) = delete;

  struct Piece {
    int array;
    int64_t begin;
    int64_t end;  // elements [begin, end), in row-major order
  };
  int64_t size() const { return first_.back(); }
  Piece operator[](int64_t chunk) const;

 private:
  std::vector<int64_t> first_;  // for each array its first chunk; then how many there are
  std::vector<int64_t> elements_;
};

// The type that loops compute in: double for double, else float.
inline DataType ComputeType(DataType dtype) {
  return dtype == DataType::kDouble ? DataType::kDouble : DataType::kFloat;
}

// All of them hold the element of each index at the same distance from their data, and that memory
// is dense: a loop may run over memory instead of over indices.
bool SameDenseOrder(const ArrayView* const* arrays, int count);

// A few elements at a time of an array that is not dense, or of a dtype that no loop computes in.
class StagedElements {
 public:
  static constexpr int64_t kElements = 512;

  // Elements [begin, begin + n) in row-major order, as ComputeType(view.dtype). REQUIRES n <= kElements.
  void* Load(const ArrayView& view, int64_t begin, int64_t n);
  // Writes what the loop left in the memory that Load returned.
  void Store(const ArrayView& view, int64_t begin, int64_t n);

 private:
  alignas(64) char numbers_[kElements * sizeof(double)];
  alignas(64) char packed_[kElements * sizeof(float)];
};

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_OPTIM_LIST_CHUNKS_H_
