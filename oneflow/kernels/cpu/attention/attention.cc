// The kernels fused_attention and fused_attention_backward: softmax(scale q k^T + mask) v, a block of
// queries at a time, so that the scores of all queries never exist together. Backward computes the
// weights again, from the logarithm of each row's sum.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_linalg.h"
#include "oneflow/kernels/cpu/attention/attention_loops.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/inner_gemm.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

// Scores that are in work at once, on each thread: they should stay in the second-level cache.
constexpr int64_t kBlockScores = 1 << 18;
constexpr int64_t kMinQueries = 16, kMaxQueries = 128;

int64_t Aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// An operand (b0, b1, rows, cols) whose columns lie densely.
struct Heads {
  char* data = nullptr;
  int64_t s0 = 0, s1 = 0, row = 0, size = 0;

  Heads() = default;
  explicit Heads(const ArrayView& v)
      : data(v.Data<char>()),
        s0(v.strides[0]),
        s1(v.strides[1]),
        row(v.strides[2]),
        size(static_cast<int64_t>(SizeOf(v.dtype))) {}
  char* At(int64_t i0, int64_t i1, int64_t r) const {
    return data + (i0 * s0 + i1 * s1 + r * row) * size;
  }
};

struct Problem {
  DataType dtype;
  int64_t size, b0, b1, queries, keys, width, value_width;
  int64_t block;  // queries
  double scale;
  bool is_causal;

  Problem(const ArrayView& q, const ArrayView& k, const ArrayView& v, const AttentionAttrs& attrs)
      : dtype(q.dtype),
        size(static_cast<int64_t>(SizeOf(q.dtype))),
        b0(q.shape[0]),
        b1(q.shape[1]),
        queries(q.shape[2]),
        keys(k.shape[2]),
        width(q.shape[3]),
        value_width(v.shape[3]),
        scale(attrs.scale),
        is_causal(attrs.is_causal) {
    const int64_t wanted = kBlockScores / std::max<int64_t>(keys, 1) / kMinQueries * kMinQueries;
    block = std::min(std::max(wanted, kMinQueries), kMaxQueries);
    block = std::max<int64_t>(1, std::min(block, queries));
  }
  int64_t heads() const { return b0 * b1; }
  int64_t blocks() const { return (queries + block - 1) / block; }
  // Keys that some query of the block from `first` sees.
  int64_t KeysFor(int64_t first, int64_t rows) const {
    return is_causal ? std::min(keys, first + rows) : keys;
  }
  int64_t ValidFor(int64_t query) const { return is_causal ? std::min(keys, query + 1) : keys; }
};

// The mask, which broadcasts to (b0, b1, queries, keys).
struct Mask {
  const char* data = nullptr;
  int64_t strides[4] = {};
  int64_t size = 1;
  bool is_bool = false;

  explicit Mask(const ArrayView& v) {
    if (!v.given) { return; }
    data = v.Data<char>();
    size = static_cast<int64_t>(SizeOf(v.dtype));
    is_bool = v.dtype == DataType::kBool;
    for (int d = 0; d < 4; ++d) {
      const int own = d - (4 - v.ndim);
      strides[d] = own < 0 || v.shape[own] == 1 ? 0 : v.strides[own];
    }
  }
  MaskRow Row(int64_t i0, int64_t i1, int64_t query) const {
    MaskRow row;
    if (data == nullptr) { return row; }
    row.data = data + (i0 * strides[0] + i1 * strides[1] + query * strides[2]) * size;
    row.stride = strides[3];
    row.is_bool = is_bool;
    return row;
  }
};

InnerGemm MakeGemm(DataType dtype, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb,
                   int64_t ldc) {
  InnerGemm gemm;
  gemm.dtype = dtype;
  gemm.m = m;
  gemm.n = n;
  gemm.k = k;
  gemm.lda = lda;
  gemm.ldb = ldb;
  gemm.ldc = ldc;
  return gemm;
}

// How the work is shared: whole tasks for each thread if there are enough, else threads in products.
struct Sharing {
  int outer, inner;
  Sharing(int threads, int64_t tasks)
      : outer(tasks >= threads ? threads : 1), inner(tasks >= threads ? 1 : threads) {}
};

// Runs task(i, scratch of the thread) for all tasks; a thread stops at its first failure.
template <typename Task>
Maybe<void> RunTasks(const KernelCall& call, const Sharing& sharing, int64_t tasks,
                     size_t slice_bytes, const Task& task) {
  std::vector<ErrorPtr> errors(static_cast<size_t>(sharing.outer));
  ParallelFor(sharing.outer, sharing.outer, 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      char* scratch = static_cast<char*>(call.scratch) + static_cast<size_t>(t) * slice_bytes;
      ErrorPtr& error = errors[static_cast<size_t>(t)];
      for (int64_t i = t; i < tasks && error == nullptr; i += sharing.outer) {
        error = task(i, scratch).error();
      }
    }
  });
  for (const ErrorPtr& error : errors) {
    if (error != nullptr) { return error; }
  }
  return Ok();
}

// ---- forward: inputs q, k, v, mask or none; outputs out, log_sum (b0, b1, queries) ----------------

struct ForwardGemms {
  InnerGemm scores, out;

  ForwardGemms(const Problem& p, const KernelCall& call, int64_t rows, int64_t keys) {
    const ArrayView& q = call.inputs[0];
    const ArrayView& k = call.inputs[1];
    const ArrayView& v = call.inputs[2];
    scores = MakeGemm(p.dtype, rows, keys, p.width, q.strides[2], k.strides[2], keys);
    scores.transpose_b = true;
    out = MakeGemm(p.dtype, rows, p.value_width, keys, keys, v.strides[2], p.value_width);
  }
  size_t ScratchBytes(int threads) const {
    return std::max(InnerGemmScratchBytes(scores, threads), InnerGemmScratchBytes(out, threads));
  }
};

Problem ForwardProblem(const KernelCall& call) {
  return Problem(call.inputs[0], call.inputs[1], call.inputs[2], call.GetAttrs<AttentionAttrs>());
}

size_t ForwardSlice(const Problem& p, const KernelCall& call, int threads, size_t* gemm_bytes) {
  *gemm_bytes = ForwardGemms(p, call, p.block, p.keys).ScratchBytes(threads);
  return static_cast<size_t>(Aligned(p.block * p.keys * p.size)) + *gemm_bytes;
}

size_t ForwardScratch(const KernelCall& call) {
  const Problem p = ForwardProblem(call);
  const Sharing sharing(call.threads, p.heads() * p.blocks());
  size_t gemm_bytes = 0;
  return ForwardSlice(p, call, sharing.inner, &gemm_bytes) * static_cast<size_t>(sharing.outer);
}

Maybe<void> Forward(const KernelCall& call) {
  const Problem p = ForwardProblem(call);
  const Heads q(call.inputs[0]), k(call.inputs[1]), v(call.inputs[2]), out(call.outputs[0]);
  const Mask mask(call.inputs[3]);
  const Sharing sharing(call.threads, p.heads() * p.blocks());
  size_t gemm_bytes = 0;
  const size_t slice = ForwardSlice(p, call, sharing.inner, &gemm_bytes);
  const AttentionLoops& loops = GetAttentionLoops();
  const int d = static_cast<int>(p.dtype);
  const auto set_log_sum = [&](int64_t i, double value) {
    char* at = call.outputs[1].Data<char>() + i * p.size;
    if (p.size == 4) {
      *reinterpret_cast<float*>(at) = static_cast<float>(value);
    } else {
      *reinterpret_cast<double*>(at) = value;
    }
  };
  return RunTasks(
      call, sharing, p.heads() * p.blocks(), slice, [&](int64_t i, char* scratch) -> Maybe<void> {
        const int64_t head = i / p.blocks(), i0 = head / p.b1, i1 = head % p.b1;
        const int64_t first = i % p.blocks() * p.block;
        const int64_t rows = std::min(p.block, p.queries - first), keys = p.KeysFor(first, rows);
        const ForwardGemms gemms(p, call, rows, keys);
        GemmScratch gemm_scratch(scratch + slice - gemm_bytes, gemm_bytes);
        JUST(RunInnerGemm(gemms.scores, q.At(i0, i1, first), k.At(i0, i1, 0), scratch,
                          &gemm_scratch, sharing.inner));
        double sums[kMaxQueries];
        ParallelFor(sharing.inner, rows, 8, [&](int64_t begin, int64_t end) {
          for (int64_t r = begin; r < end; ++r) {
            double max = 0;
            sums[r] = loops.softmax[d](scratch + r * keys * p.size, p.ValidFor(first + r), keys,
                                       p.scale, mask.Row(i0, i1, first + r), &max);
            // A row that sees nothing has weights exp(x - inf) = 0.
            const double log_sum = sums[r] == 0.0 ? HUGE_VAL : max + std::log(sums[r]);
            set_log_sum(head * p.queries + first + r, log_sum);
          }
        });
        JUST(RunInnerGemm(gemms.out, scratch, v.At(i0, i1, 0), out.At(i0, i1, first), &gemm_scratch,
                          sharing.inner));
        for (int64_t r = 0; r < rows; ++r) {
          const double factor = sums[r] == 0.0 ? 0.0 : 1.0 / sums[r];
          loops.scale[d](out.At(i0, i1, first + r), p.value_width, factor);
        }
        return Ok();
      });
}

// ---- backward: inputs dout, q, k, v, mask or none, out, log_sum; outputs dq, dk, dv --------------

struct BackwardGemms {
  InnerGemm scores, dweights, dv, dq, dk;

  BackwardGemms(const Problem& p, const KernelCall& call, int64_t rows, int64_t keys) {
    const int64_t dout = call.inputs[0].strides[2], q = call.inputs[1].strides[2];
    const int64_t k = call.inputs[2].strides[2], v = call.inputs[3].strides[2];
    scores = MakeGemm(p.dtype, rows, keys, p.width, q, k, keys);
    scores.transpose_b = true;
    dweights = MakeGemm(p.dtype, rows, keys, p.value_width, dout, v, keys);
    dweights.transpose_b = true;
    dv = MakeGemm(p.dtype, keys, p.value_width, rows, keys, dout, p.value_width);
    dv.transpose_a = true;
    dq = MakeGemm(p.dtype, rows, p.width, keys, keys, k, p.width);
    dk = MakeGemm(p.dtype, keys, p.width, rows, keys, q, p.width);
    dk.transpose_a = true;
  }
  size_t ScratchBytes(int threads) const {
    size_t bytes = 0;
    for (const InnerGemm* gemm : {&scores, &dweights, &dv, &dq, &dk}) {
      bytes = std::max(bytes, InnerGemmScratchBytes(*gemm, threads));
    }
    return bytes;
  }
};

Problem BackwardProblem(const KernelCall& call) {
  return Problem(call.inputs[1], call.inputs[2], call.inputs[3], call.GetAttrs<AttentionAttrs>());
}

// A thread's scratch: weights, their gradient, a part of dk or dv, and what the products need.
struct BackwardSlice {
  size_t weights, part, gemm, total;

  BackwardSlice(const Problem& p, const KernelCall& call, int threads) {
    const int64_t widest = std::max(p.width, p.value_width);
    weights = static_cast<size_t>(Aligned(p.block * p.keys * p.size));
    part = static_cast<size_t>(Aligned(p.keys * widest * p.size));
    gemm = BackwardGemms(p, call, p.block, p.keys).ScratchBytes(threads);
    total = 2 * weights + part + gemm;
  }
};

size_t BackwardScratch(const KernelCall& call) {
  const Problem p = BackwardProblem(call);
  const Sharing sharing(call.threads, p.heads());
  return BackwardSlice(p, call, sharing.inner).total * static_cast<size_t>(sharing.outer);
}

double LoadNumber(const char* at, int64_t size) {
  return size == 4 ? static_cast<double>(*reinterpret_cast<const float*>(at))
                   : *reinterpret_cast<const double*>(at);
}

// One head of the gradients; blocks of queries add up in dk and dv.
class HeadBackward {
 public:
  HeadBackward(const Problem& p, const KernelCall& call, const BackwardSlice& slice, int threads,
               int64_t head, char* scratch)
      : p_(p),
        call_(call),
        loops_(GetAttentionLoops()),
        d_(static_cast<int>(p.dtype)),
        threads_(threads),
        head_(head),
        i0_(head / p.b1),
        i1_(head % p.b1),
        weights_(scratch),
        dscores_(scratch + slice.weights),
        part_(scratch + 2 * slice.weights),
        gemm_scratch_(part_ + slice.part, slice.gemm) {}

  Maybe<void> Run() {
    Clear(call_.outputs[1], p_.width);
    Clear(call_.outputs[2], p_.value_width);
    for (int64_t first = 0; first < p_.queries; first += p_.block) {
      JUST(Block(first, std::min(p_.block, p_.queries - first)));
    }
    return Ok();
  }

 private:
  char* In(int i, int64_t row) const { return Heads(call_.inputs[i]).At(i0_, i1_, row); }
  char* Out(int i, int64_t row) const { return Heads(call_.outputs[i]).At(i0_, i1_, row); }

  void Clear(const ArrayView& view, int64_t width) const {
    std::memset(Heads(view).At(i0_, i1_, 0), 0, static_cast<size_t>(p_.keys * width * p_.size));
  }

  Maybe<void> Block(int64_t first, int64_t rows) {
    const int64_t keys = p_.KeysFor(first, rows);
    const BackwardGemms gemms(p_, call_, rows, keys);
    JUST(Multiply(gemms.scores, In(1, first), In(2, 0), weights_));
    JUST(Multiply(gemms.dweights, In(0, first), In(3, 0), dscores_));
    ParallelFor(threads_, rows, 8, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) { WeightsOfRow(first, r, keys); }
    });
    JUST(Multiply(gemms.dv, weights_, In(0, first), part_));
    loops_.add[d_](Out(2, 0), part_, keys * p_.value_width);
    ParallelFor(threads_, rows, 8, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) { ScoresGradOfRow(first, r, keys); }
    });
    JUST(Multiply(gemms.dq, dscores_, In(2, 0), Out(0, first)));
    JUST(Multiply(gemms.dk, dscores_, In(1, first), part_));
    loops_.add[d_](Out(1, 0), part_, keys * p_.width);
    return Ok();
  }

  void WeightsOfRow(int64_t first, int64_t r, int64_t keys) const {
    const int64_t query = first + r;
    const char* log_sum = call_.inputs[6].Data<char>() + (head_ * p_.queries + query) * p_.size;
    loops_.weights[d_](weights_ + r * keys * p_.size, p_.ValidFor(query), keys, p_.scale,
                       Mask(call_.inputs[4]).Row(i0_, i1_, query), LoadNumber(log_sum, p_.size));
  }

  void ScoresGradOfRow(int64_t first, int64_t r, int64_t keys) const {
    const double dot = loops_.dot[d_](In(0, first + r), In(5, first + r), p_.value_width);
    loops_.scores_grad[d_](weights_ + r * keys * p_.size, dscores_ + r * keys * p_.size, keys, dot,
                           p_.scale);
  }

  Maybe<void> Multiply(const InnerGemm& gemm, const char* a, const char* b, char* c) {
    return RunInnerGemm(gemm, a, b, c, &gemm_scratch_, threads_);
  }

  const Problem& p_;
  const KernelCall& call_;
  const AttentionLoops& loops_;
  const int d_, threads_;
  const int64_t head_, i0_, i1_;
  char* const weights_;
  char* const dscores_;
  char* const part_;
  GemmScratch gemm_scratch_;
};

Maybe<void> Backward(const KernelCall& call) {
  const Problem p = BackwardProblem(call);
  const Sharing sharing(call.threads, p.heads());
  const BackwardSlice slice(p, call, sharing.inner);
  return RunTasks(call, sharing, p.heads(), slice.total, [&](int64_t head, char* scratch) {
    return HeadBackward(p, call, slice, sharing.inner, head, scratch).Run();
  });
}

// ---- common -------------------------------------------------------------------------------------

const char* AcceptOperands(const KernelCall& call, int first_matrix, int mask) {
  const DataType dtype = call.outputs[0].dtype;
  if (GetAttentionLoops().dot[static_cast<int>(dtype)] == nullptr) { return "dtype not supported"; }
  for (int i = 0; i < first_matrix + 3; ++i) {
    const ArrayView& v = call.inputs[i];
    if (v.dtype != dtype || v.ndim != 4) { return "operands of another kind"; }
    if (v.shape[3] > 1 && v.strides[3] != 1) { return "columns are not dense"; }
    if (v.shape[2] > 1 && v.strides[2] < v.shape[3]) { return "rows overlap"; }
  }
  const ArrayView& m = call.inputs[mask];
  if (m.given && m.dtype != DataType::kBool && m.dtype != dtype) { return "mask of another dtype"; }
  return nullptr;
}

const char* AcceptForward(const KernelCall& call) { return AcceptOperands(call, 0, 3); }

const char* AcceptBackward(const KernelCall& call) {
  const ArrayView& out = call.inputs[5];
  if (!out.contiguous || !call.inputs[6].contiguous) { return "saved results are not dense"; }
  return AcceptOperands(call, 1, 4);
}

// Products at 100 operations a nanosecond, and about a nanosecond for each exponential.
double CostOf(const Problem& p, double products) {
  const double scores = static_cast<double>(p.heads() * p.queries) * static_cast<double>(p.keys) *
                        (p.is_causal ? 0.5 : 1.0);
  const auto width = static_cast<double>(p.width + p.value_width);
  return 2000.0 + scores * (1.0 + products * width * 2.0 / 100.0);
}
double ForwardCost(const KernelCall& call) { return CostOf(ForwardProblem(call), 1.0); }
double BackwardCost(const KernelCall& call) { return CostOf(BackwardProblem(call), 2.5); }

}  // namespace

ONEFLOW_REGISTER_KERNEL(fused_attention, {"fused_attention.cpu.blocked", &Forward, &AcceptForward,
                                          &ForwardCost, &ForwardScratch});
ONEFLOW_REGISTER_KERNEL(fused_attention_backward,
                        {"fused_attention_backward.cpu.blocked", &Backward, &AcceptBackward,
                         &BackwardCost, &BackwardScratch});

}  // namespace cpu
}  // namespace oneflow
