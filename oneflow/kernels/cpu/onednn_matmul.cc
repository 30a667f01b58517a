#include "oneflow/kernels/cpu/onednn_matmul.h"

#include <memory>
#include <utility>
#include <vector>

#include "dnnl.h"
#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/cpu/onednn_objects.h"

namespace oneflow {
namespace cpu {

namespace {

using onednn::Attributes;
using onednn::Engine;
using onednn::Memory;
using onednn::MemoryDesc;
using onednn::Primitive;
using onednn::PrimitiveDesc;

constexpr size_t kFields = 16;

onednn::Signature<kFields> SignatureOf(const MatmulProblem& p, bool has_bias, int threads) {
  return {p.m,           p.n,     p.k,       p.batch, p.a.batch,
          p.a.row,       p.a.col, p.b.batch, p.b.row, p.b.col,
          p.c.batch,     p.c.row, has_bias,  threads, static_cast<int64_t>(p.dtype),
          p.float_result};
}

}  // namespace

// ---- one executable matmul ----------------------------------------------------------------------

class OnednnMatmul {
 public:
  // False when oneDNN refuses.
  bool Create(const MatmulProblem& p, bool has_bias, int threads);
  size_t scratch_bytes() const { return scratch_bytes_; }
  int threads() const { return threads_; }
  dnnl_status_t Execute(const MatmulPointers& at, const void* bias, void* scratch);

 private:
  bool AddArgument(int arg, const dnnl_memory_desc* desc);

  Primitive primitive_;
  std::vector<Memory> memories_;
  std::vector<dnnl_exec_arg_t> args_;  // dst, src, weights [, bias] [, scratchpad]
  size_t scratch_bytes_ = 0;
  int threads_ = 1;
  bool has_bias_ = false;
};

namespace {

dnnl_data_type_t TypeOf(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat: return dnnl_f32;
    case DataType::kBFloat16: return dnnl_bf16;
    case DataType::kFloat16: return dnnl_f16;
    default: return dnnl_data_type_undef;
  }
}

// `layout` as a descriptor, with a batch dimension if the problem has one.
MemoryDesc MakeDesc(const MatmulProblem& p, dnnl_data_type_t type, const MatrixLayout& layout,
                    int64_t rows, int64_t cols) {
  const bool batched = p.batch > 1;
  const bool repeats = layout.batch == 0;
  // The stride of a batch dimension of size 1 means nothing, but must look dense.
  const int64_t batch_stride = repeats ? rows * layout.row + cols * layout.col : layout.batch;
  const dnnl_dims_t dims3 = {repeats ? 1 : p.batch, rows, cols};
  const dnnl_dims_t strides3 = {batch_stride, layout.row, layout.col};
  const int skip = batched ? 0 : 1;
  dnnl_memory_desc_t desc = nullptr;
  dnnl_memory_desc_create_with_strides(&desc, 3 - skip, dims3 + skip, type, strides3 + skip);
  return MemoryDesc(desc);
}

MemoryDesc MakeBiasDesc(const MatmulProblem& p) {
  const dnnl_dims_t dims3 = {1, 1, p.n};
  const dnnl_dims_t strides3 = {p.n, p.n, 1};
  const int skip = p.batch > 1 ? 0 : 1;
  dnnl_memory_desc_t desc = nullptr;
  dnnl_memory_desc_create_with_strides(&desc, 3 - skip, dims3 + skip, TypeOf(p.dtype),
                                       strides3 + skip);
  return MemoryDesc(desc);
}

PrimitiveDesc MakePrimitiveDesc(const dnnl_memory_desc* a, const dnnl_memory_desc* b,
                                const dnnl_memory_desc* bias, const dnnl_memory_desc* c) {
  dnnl_primitive_attr_t attr = nullptr;
  if (dnnl_primitive_attr_create(&attr) != dnnl_success) { return nullptr; }
  const Attributes attributes(attr);
  dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
  dnnl_primitive_desc_t desc = nullptr;
  if (dnnl_matmul_primitive_desc_create(&desc, Engine(), a, b, bias, c, attr) != dnnl_success) {
    return nullptr;
  }
  return PrimitiveDesc(desc);
}

}  // namespace

bool OnednnMatmul::AddArgument(int arg, const dnnl_memory_desc* desc) {
  dnnl_memory_t memory = nullptr;
  if (dnnl_memory_create(&memory, desc, Engine(), DNNL_MEMORY_NONE) != dnnl_success) {
    return false;
  }
  memories_.emplace_back(memory);
  args_.push_back({arg, memory});
  return true;
}

bool OnednnMatmul::Create(const MatmulProblem& p, bool has_bias, int threads) {
  if (Engine() == nullptr || onednn::ThreadStream() == nullptr) { return false; }
  threads_ = threads;
  has_bias_ = has_bias;
  const ParallelRegion region(threads);  // oneDNN plans for OpenMP's current thread count
  const dnnl_data_type_t type = TypeOf(p.dtype);
  const MemoryDesc a = MakeDesc(p, type, p.a, p.m, p.k);
  const MemoryDesc b = MakeDesc(p, type, p.b, p.k, p.n);
  const MemoryDesc c = MakeDesc(p, p.float_result ? dnnl_f32 : type, p.c, p.m, p.n);
  const MemoryDesc bias = has_bias ? MakeBiasDesc(p) : nullptr;
  if (a == nullptr || b == nullptr || c == nullptr || (has_bias && bias == nullptr)) {
    return false;
  }
  const PrimitiveDesc desc = MakePrimitiveDesc(a.get(), b.get(), bias.get(), c.get());
  if (desc == nullptr) { return false; }
  dnnl_primitive_t primitive = nullptr;
  if (dnnl_primitive_create(&primitive, desc.get()) != dnnl_success) { return false; }
  primitive_.reset(primitive);
  const dnnl_memory_desc* scratch =
      dnnl_primitive_desc_query_md(desc.get(), dnnl_query_scratchpad_md, 0);
  scratch_bytes_ = scratch == nullptr ? 0 : dnnl_memory_desc_get_size(scratch);
  return AddArgument(DNNL_ARG_DST, c.get()) && AddArgument(DNNL_ARG_SRC, a.get()) &&
         AddArgument(DNNL_ARG_WEIGHTS, b.get()) &&
         (!has_bias || AddArgument(DNNL_ARG_BIAS, bias.get())) &&
         (scratch_bytes_ == 0 || AddArgument(DNNL_ARG_SCRATCHPAD, scratch));
}

dnnl_status_t OnednnMatmul::Execute(const MatmulPointers& at, const void* bias, void* scratch) {
  // dnnl's interface has no const data.
  void* pointers[5] = {at.c, const_cast<char*>(at.a), const_cast<char*>(at.b)};
  int n = 3;
  if (has_bias_) { pointers[n++] = const_cast<void*>(bias); }
  if (scratch_bytes_ > 0) { pointers[n++] = scratch; }
  for (int i = 0; i < n; ++i) {
    const dnnl_status_t set =
        dnnl_memory_set_data_handle(memories_[static_cast<size_t>(i)].get(), pointers[i]);
    if (set != dnnl_success) { return set; }
  }
  return dnnl_primitive_execute(primitive_.get(), onednn::ThreadStream(), n, args_.data());
}

OnednnMatmul* FindOnednnMatmul(const MatmulProblem& problem, bool has_bias, int threads) {
  using Cache = onednn::OnednnCache<OnednnMatmul, kFields, kMaxCachedMatmuls>;
  return Cache::OfThread().Find(SignatureOf(problem, has_bias, threads), [&] {
    auto matmul = std::make_unique<OnednnMatmul>();
    return matmul->Create(problem, has_bias, threads) ? std::move(matmul) : nullptr;
  });
}

size_t OnednnScratchBytes(const OnednnMatmul& matmul) { return matmul.scratch_bytes(); }

Maybe<void> ExecuteOnednn(OnednnMatmul* matmul, const MatmulPointers& at, const void* bias,
                          void* scratch) {
  const ParallelRegion region(matmul->threads());
  const dnnl_status_t status = matmul->Execute(at, bias, scratch);
  if (status == dnnl_success) { return Ok(); }
  return InternalError("[matmul] oneDNN failed with status {}", static_cast<int>(status));
}

}  // namespace cpu
}  // namespace oneflow
