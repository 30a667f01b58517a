#include "oneflow/kernels/cpu/onednn_matmul.h"

#include <cstring>
#include <memory>
#include <unordered_map>
#include <vector>

#include "dnnl.h"
#include "oneflow/common/mutex.h"
#include "oneflow/device/cpu/parallel.h"

namespace oneflow {
namespace cpu {

namespace {

// ---- owners of oneDNN's objects -----------------------------------------------------------------

template <typename Object, dnnl_status_t (*Destroy)(Object*)>
struct Deleter {
  void operator()(Object* object) const { Destroy(object); }
};
using MemoryDesc =
    std::unique_ptr<dnnl_memory_desc, Deleter<dnnl_memory_desc, &dnnl_memory_desc_destroy>>;
using Memory = std::unique_ptr<dnnl_memory, Deleter<dnnl_memory, &dnnl_memory_destroy>>;
using Attributes = std::unique_ptr<dnnl_primitive_attr,
                                   Deleter<dnnl_primitive_attr, &dnnl_primitive_attr_destroy>>;
using Primitive = std::unique_ptr<dnnl_primitive, Deleter<dnnl_primitive, &dnnl_primitive_destroy>>;
struct PrimitiveDescDeleter {
  void operator()(dnnl_primitive_desc* desc) const { dnnl_primitive_desc_destroy(desc); }
};
using PrimitiveDesc = std::unique_ptr<dnnl_primitive_desc, PrimitiveDescDeleter>;

// Leaked: used until the process ends.
dnnl_engine_t Engine() {
  static const dnnl_engine_t engine = [] {
    dnnl_engine_t created = nullptr;
    return dnnl_engine_create(&created, dnnl_cpu, 0) == dnnl_success ? created : nullptr;
  }();
  return engine;
}

// ---- signatures ---------------------------------------------------------------------------------

struct Signature {
  int64_t fields[15];

  Signature(const MatmulProblem& p, bool has_bias, int threads)
      : fields{p.m,       p.n,     p.k,       p.batch, p.a.batch,
               p.a.row,   p.a.col, p.b.batch, p.b.row, p.b.col,
               p.c.batch, p.c.row, has_bias,  threads, static_cast<int64_t>(p.dtype)} {}
  bool operator==(const Signature& other) const {
    return std::memcmp(fields, other.fields, sizeof(fields)) == 0;
  }
};

struct SignatureHash {
  size_t operator()(const Signature& s) const {
    uint64_t hash = 0;
    for (int64_t field : s.fields) {
      hash = (hash ^ static_cast<uint64_t>(field)) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 29;
    }
    return hash;
  }
};

}  // namespace

// ---- one executable matmul ----------------------------------------------------------------------

class OnednnMatmul {
 public:
  // False when oneDNN refuses.
  bool Create(const MatmulProblem& p, bool has_bias);
  size_t scratch_bytes() const { return scratch_bytes_; }
  dnnl_status_t Execute(dnnl_stream_t stream, const MatmulPointers& at, const void* bias,
                        void* scratch);

  uint64_t last_use = 0;
  dnnl_stream_t stream = nullptr;  // of the cache that owns this
  int threads = 1;

 private:
  bool AddArgument(int arg, const dnnl_memory_desc* desc);

  Primitive primitive_;
  std::vector<Memory> memories_;
  std::vector<dnnl_exec_arg_t> args_;  // dst, src, weights [, bias] [, scratchpad]
  size_t scratch_bytes_ = 0;
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
MemoryDesc MakeDesc(const MatmulProblem& p, const MatrixLayout& layout, int64_t rows,
                    int64_t cols) {
  const bool batched = p.batch > 1;
  const bool repeats = layout.batch == 0;
  // The stride of a batch dimension of size 1 means nothing, but must look dense.
  const int64_t batch_stride = repeats ? rows * layout.row + cols * layout.col : layout.batch;
  const dnnl_dims_t dims3 = {repeats ? 1 : p.batch, rows, cols};
  const dnnl_dims_t strides3 = {batch_stride, layout.row, layout.col};
  const int skip = batched ? 0 : 1;
  dnnl_memory_desc_t desc = nullptr;
  dnnl_memory_desc_create_with_strides(&desc, 3 - skip, dims3 + skip, TypeOf(p.dtype),
                                       strides3 + skip);
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

bool OnednnMatmul::Create(const MatmulProblem& p, bool has_bias) {
  if (Engine() == nullptr) { return false; }
  has_bias_ = has_bias;
  const MemoryDesc a = MakeDesc(p, p.a, p.m, p.k);
  const MemoryDesc b = MakeDesc(p, p.b, p.k, p.n);
  const MemoryDesc c = MakeDesc(p, p.c, p.m, p.n);
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

dnnl_status_t OnednnMatmul::Execute(dnnl_stream_t on, const MatmulPointers& at, const void* bias,
                                    void* scratch) {
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
  return dnnl_primitive_execute(primitive_.get(), on, n, args_.data());
}

// ---- the caches ---------------------------------------------------------------------------------

namespace {

class MatmulCache {
 public:
  MatmulCache() {
    if (Engine() != nullptr) { dnnl_stream_create(&stream_, Engine(), dnnl_stream_default_flags); }
  }

  OnednnMatmul* Find(const MatmulProblem& p, bool has_bias, int threads) {
    const Signature signature(p, has_bias, threads);
    auto found = entries_.find(signature);
    if (found == entries_.end()) {
      if (entries_.size() >= kMaxCachedMatmuls) { DropOldest(); }
      found = entries_.emplace(signature, Make(p, has_bias, threads)).first;
    }
    OnednnMatmul* matmul = found->second.get();
    if (matmul != nullptr) { matmul->last_use = ++clock_; }
    return matmul;
  }

 private:
  using Entries = std::unordered_map<Signature, std::unique_ptr<OnednnMatmul>, SignatureHash>;

  std::unique_ptr<OnednnMatmul> Make(const MatmulProblem& p, bool has_bias, int threads) {
    if (stream_ == nullptr) { return nullptr; }
    const ParallelRegion region(threads);  // oneDNN plans for OpenMP's current thread count
    auto matmul = std::make_unique<OnednnMatmul>();
    if (!matmul->Create(p, has_bias)) { return nullptr; }
    matmul->stream = stream_;
    matmul->threads = threads;
    return matmul;
  }

  void DropOldest() {
    auto oldest = entries_.begin();
    for (auto it = entries_.begin(); it != entries_.end(); ++it) {
      if (LastUse(*it) < LastUse(*oldest)) { oldest = it; }
    }
    entries_.erase(oldest);
  }
  static uint64_t LastUse(const Entries::value_type& entry) {
    return entry.second == nullptr ? 0 : entry.second->last_use;
  }

  dnnl_stream_t stream_ = nullptr;
  Entries entries_;
  uint64_t clock_ = 0;
};

// Caches whose thread has ended wait here for a new one. Leaked, with all caches: a thread may
// multiply while the process exits.
struct IdleCaches {
  Mutex mutex;
  std::vector<MatmulCache*> caches GUARDED_BY(mutex);
};
IdleCaches& Idle() {
  static auto* idle = new IdleCaches();
  return *idle;
}

thread_local MatmulCache* thread_cache = nullptr;

struct ReturnAtThreadExit {
  ~ReturnAtThreadExit() {
    MutexLock lock(&Idle().mutex);
    Idle().caches.push_back(thread_cache);
    thread_cache = nullptr;
  }
};

MatmulCache* TakeCache() {
  MutexLock lock(&Idle().mutex);
  if (Idle().caches.empty()) { return new MatmulCache(); }
  MatmulCache* cache = Idle().caches.back();
  Idle().caches.pop_back();
  return cache;
}

MatmulCache& ThreadCache() {
  if (__builtin_expect(thread_cache == nullptr, 0)) {
    thread_cache = TakeCache();
    static thread_local ReturnAtThreadExit guard;
    (void)guard;
  }
  return *thread_cache;
}

}  // namespace

OnednnMatmul* FindOnednnMatmul(const MatmulProblem& problem, bool has_bias, int threads) {
  return ThreadCache().Find(problem, has_bias, threads);
}

size_t OnednnScratchBytes(const OnednnMatmul& matmul) { return matmul.scratch_bytes(); }

Maybe<void> ExecuteOnednn(OnednnMatmul* matmul, const MatmulPointers& at, const void* bias,
                          void* scratch) {
  const ParallelRegion region(matmul->threads);
  const dnnl_status_t status = matmul->Execute(matmul->stream, at, bias, scratch);
  if (status == dnnl_success) { return Ok(); }
  return InternalError("[matmul] oneDNN failed with status {}", static_cast<int>(status));
}

}  // namespace cpu
}  // namespace oneflow
