// MatmulProblem: a matmul or linear call reduced to what a matrix multiplication needs: sizes,
// strides, and which operands have to be packed first.
//
// Thread safety: a value; pure functions. Ownership: borrows the operands.
#ifndef ONEFLOW_KERNELS_CPU_MATMUL_PROBLEM_H_
#define ONEFLOW_KERNELS_CPU_MATMUL_PROBLEM_H_

#include <cstddef>
#include <cstdint>

#include "oneflow/core/dims.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

// One matrix, or a batch of them; strides in elements. `batch` is 0 where one matrix serves all.
struct MatrixLayout {
  int64_t batch = 0;
  int64_t row = 0;
  int64_t col = 0;
};

struct MatmulProblem {
  DataType dtype = DataType::kFloat;
  bool float_result = false;  // c is float32, whatever a and b are
  int64_t m = 0, n = 0, k = 0;
  int64_t batch = 1;
  MatrixLayout a, b, c;  // m x k, k x n, m x n (c is row-major)
  // Batch dimensions that do not merge into `batch`: looped over, outermost first.
  int num_outer = 0;
  int64_t outer_sizes[kMaxDims];
  int64_t outer_a[kMaxDims], outer_b[kMaxDims], outer_c[kMaxDims];
  // Operands whose last two dimensions are dense in neither order are packed into scratch.
  bool pack_a = false, pack_b = false;
  size_t pack_a_bytes = 0, pack_b_bytes = 0;  // multiples of 64

  double Flops() const;
  int64_t OuterCount() const;
};

// a (..., m, k) and b (..., k, n), whose batch dimensions broadcast, into the dense c (..., m, n).
MatmulProblem AnalyseMatmul(const ArrayView& a, const ArrayView& b, const ArrayView& c);
// x (..., k) and w (n, k), into the dense c (..., n): c = x w^T.
MatmulProblem AnalyseLinear(const ArrayView& x, const ArrayView& w, const ArrayView& c);

// Packs what has to be packed into scratch (pack_a_bytes + pack_b_bytes of it), and sets where the
// matrices start.
struct MatmulPointers {
  const char* a;
  const char* b;
  char* c;
};
MatmulPointers PackOperands(const MatmulProblem& problem, const ArrayView& a, const ArrayView& b,
                            const ArrayView& c, void* scratch, int threads);

// Calls body(a, b, c) for each position of the outer dimensions.
template <typename Body>
Maybe<void> ForEachOuter(const MatmulProblem& p, const MatmulPointers& at, const Body& body) {
  const auto size = static_cast<int64_t>(SizeOf(p.dtype));
  for (int64_t i = 0; i < p.OuterCount(); ++i) {
    MatmulPointers now = at;
    int64_t rest = i;
    for (int d = p.num_outer - 1; d >= 0; --d) {
      const int64_t index = rest % p.outer_sizes[d];
      rest /= p.outer_sizes[d];
      now.a += index * p.outer_a[d] * size;
      now.b += index * p.outer_b[d] * size;
      now.c += index * p.outer_c[d] * size;
    }
    Maybe<void> done = body(now);
    if (!done.ok()) { return done; }
  }
  return Ok();
}

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_MATMUL_PROBLEM_H_
