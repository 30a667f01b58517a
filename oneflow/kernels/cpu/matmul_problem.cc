#include "oneflow/kernels/cpu/matmul_problem.h"

#include <algorithm>

#include "oneflow/core/shape.h"
#include "oneflow/kernels/cpu/copy.h"

namespace oneflow {
namespace cpu {

namespace {

constexpr size_t kAlign = 64;

size_t Aligned(size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

size_t PackedBytes(const ArrayView& view) {
  return Aligned(static_cast<size_t>(view.Count()) * SizeOf(view.dtype));
}

// Fills in the layout of one rows x cols matrix; false when it is dense in neither order. Strides
// of dimensions of size 1 mean nothing, and get the value that a dense matrix has.
bool DenseLayout(int64_t rows, int64_t cols, int64_t row, int64_t col, MatrixLayout* out) {
  if (cols == 1) { col = 1; }
  if (rows == 1) { row = col == 1 ? cols : 1; }
  if (rows == 1 && cols == 1) { row = 1; }
  out->row = row;
  out->col = col;
  return (col == 1 && row >= cols) || (row == 1 && col >= rows);
}

// The strides of an operand in the output's batch dimensions; those of its packed copy if it is
// going to be packed.
void BatchStrides(const ArrayView& view, bool packed, int batch_dims, int64_t* out) {
  const Dims shape(view.shape, view.ndim);
  const Dims strides = packed ? ContiguousStrides(shape) : Dims(view.strides, view.ndim);
  const int own_dims = view.ndim - 2;
  for (int d = 0; d < batch_dims; ++d) {
    const int own = d - (batch_dims - own_dims);
    out[d] = own < 0 || shape[own] == 1 ? 0 : strides[own];
  }
}

bool Merges(const MatmulProblem& p, int64_t size, const int64_t strides[3]) {
  const int last = p.num_outer - 1;
  return p.outer_a[last] == strides[0] * size && p.outer_b[last] == strides[1] * size &&
         p.outer_c[last] == strides[2] * size;
}

// Collects the batch dimensions, merging neighbours where all three operands allow it.
void CollectBatch(const int64_t* sizes, const int64_t* a, const int64_t* b, const int64_t* c,
                  int dims, MatmulProblem* p) {
  for (int d = 0; d < dims; ++d) {
    if (sizes[d] == 1) { continue; }
    const int64_t strides[3] = {a[d], b[d], c[d]};
    if (p->num_outer == 0 || !Merges(*p, sizes[d], strides)) { p->outer_sizes[p->num_outer++] = 1; }
    const int last = p->num_outer - 1;
    p->outer_sizes[last] *= sizes[d];
    p->outer_a[last] = a[d];
    p->outer_b[last] = b[d];
    p->outer_c[last] = c[d];
  }
}

// The innermost batch dimension becomes `batch`, or more rows of a when one b serves all.
void TakeBatch(MatmulProblem* p) {
  if (p->num_outer == 0) { return; }
  const int last = --p->num_outer;
  p->batch = p->outer_sizes[last];
  p->a.batch = p->outer_a[last];
  p->b.batch = p->outer_b[last];
  p->c.batch = p->outer_c[last];
  const bool rows_continue = p->a.col == 1 && p->a.batch == p->m * p->a.row;
  if (p->b.batch == 0 && rows_continue && p->c.batch == p->m * p->c.row) {
    p->m *= p->batch;
    p->batch = 1;
    p->a.batch = p->c.batch = 0;
  }
}

}  // namespace

double MatmulProblem::Flops() const {
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
         static_cast<double>(batch) * static_cast<double>(OuterCount());
}

int64_t MatmulProblem::OuterCount() const {
  int64_t count = 1;
  for (int d = 0; d < num_outer; ++d) { count *= outer_sizes[d]; }
  return count;
}

MatmulProblem AnalyseMatmul(const ArrayView& a, const ArrayView& b, const ArrayView& c) {
  MatmulProblem p;
  p.dtype = c.dtype;
  p.m = c.shape[c.ndim - 2];
  p.n = c.shape[c.ndim - 1];
  p.k = a.shape[a.ndim - 1];
  p.pack_a = !DenseLayout(p.m, p.k, a.strides[a.ndim - 2], a.strides[a.ndim - 1], &p.a);
  p.pack_b = !DenseLayout(p.k, p.n, b.strides[b.ndim - 2], b.strides[b.ndim - 1], &p.b);
  if (p.pack_a) { p.a.row = p.k, p.a.col = 1, p.pack_a_bytes = PackedBytes(a); }
  if (p.pack_b) { p.b.row = p.n, p.b.col = 1, p.pack_b_bytes = PackedBytes(b); }
  p.c.row = p.n;
  p.c.col = 1;
  const int dims = c.ndim - 2;
  int64_t strides[3][kMaxDims];
  BatchStrides(a, p.pack_a, dims, strides[0]);
  BatchStrides(b, p.pack_b, dims, strides[1]);
  BatchStrides(c, true, dims, strides[2]);
  CollectBatch(c.shape, strides[0], strides[1], strides[2], dims, &p);
  TakeBatch(&p);
  return p;
}

MatmulProblem AnalyseLinear(const ArrayView& x, const ArrayView& w, const ArrayView& c) {
  MatmulProblem p;
  p.dtype = c.dtype;
  p.n = w.shape[0];
  p.k = w.shape[1];
  p.m = 1;
  // All leading dimensions are rows, if one stride steps through them.
  int64_t row = p.k;
  bool rows_merge = true;
  bool first = true;
  for (int d = x.ndim - 2; d >= 0; --d) {
    if (x.shape[d] == 1) { continue; }
    if (first) { row = x.strides[d]; }
    rows_merge = rows_merge && (first || x.strides[d] == row * p.m);
    first = false;
    p.m *= x.shape[d];
  }
  p.pack_a = !rows_merge || !DenseLayout(p.m, p.k, row, x.strides[x.ndim - 1], &p.a);
  if (p.pack_a) { p.a.row = p.k, p.a.col = 1, p.pack_a_bytes = PackedBytes(x); }
  p.pack_b = !DenseLayout(p.k, p.n, w.strides[1], w.strides[0], &p.b);
  if (p.pack_b) { p.b.row = 1, p.b.col = p.k, p.pack_b_bytes = PackedBytes(w); }
  p.c.row = p.n;
  p.c.col = 1;
  return p;
}

namespace {

const char* PackOne(const ArrayView& view, char* to, int threads) {
  const Dims strides = ContiguousStrides(Dims(view.shape, view.ndim));
  ArrayView packed = view;
  packed.data = to;
  packed.strides = strides.data();
  packed.contiguous = true;
  CopyArray(packed, view, threads);
  return to;
}

}  // namespace

MatmulPointers PackOperands(const MatmulProblem& problem, const ArrayView& a, const ArrayView& b,
                            const ArrayView& c, void* scratch, int threads) {
  char* free_scratch = static_cast<char*>(scratch);
  MatmulPointers out{a.Data<char>(), b.Data<char>(), c.Data<char>()};
  if (problem.pack_a) { out.a = PackOne(a, free_scratch, threads); }
  if (problem.pack_b) { out.b = PackOne(b, free_scratch + problem.pack_a_bytes, threads); }
  return out;
}

}  // namespace cpu
}  // namespace oneflow
