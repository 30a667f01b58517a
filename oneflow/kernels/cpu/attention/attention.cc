// The kernel fused_attention: softmax(scale q k^T + mask) v, a block of queries at a time, so that the
// scores of all queries never exist together. With dropout, a byte for each weight says whether it is
// kept. bfloat16: scores are products of bfloat16 that add up in float32; softmax, and the product with the
// values, are of float32, since rounded weights would show where large terms cancel.
//
// Inputs q, k, v, mask or none, kept or none; outputs out, and the logarithm of each query's sum (b0, b1,
// queries).
#include <cmath>

#include "oneflow/kernels/cpu/attention/attention_problem.h"
#include "oneflow/kernels/cpu/elementwise_loops.h"

namespace oneflow {
namespace cpu {

namespace {

using attention::Aligned;
using attention::Heads;
using attention::kMaxQueries;
using attention::Mask;
using attention::Problem;
using attention::Sharing;

struct ForwardGemms {
  InnerGemm scores, out;

  ForwardGemms(const Problem& p, const KernelCall& call, int64_t rows, int64_t keys) {
    const int64_t q = call.inputs[0].strides[2], k = call.inputs[1].strides[2];
    const int64_t v = call.inputs[2].strides[2];
    scores = MakeGemm(p, rows, keys, p.width, q, k, keys);
    scores.transpose_b = true;
    // Of bfloat16 with values that were widened, into a place of their own.
    const int64_t row = p.narrow ? p.value_width : Heads(call.outputs[0], p.rows_first).row;
    out = MakeGemm(p, rows, p.value_width, keys, keys, p.narrow ? p.value_width : v, row);
    out.dtype = p.computing;
  }
  size_t ScratchBytes(int threads) const {
    return std::max(InnerGemmScratchBytes(scores, threads), InnerGemmScratchBytes(out, threads));
  }
};

Problem ForwardProblem(const KernelCall& call) {
  return Problem(call.inputs[0], call.inputs[1], call.inputs[2], call.GetAttrs<AttentionAttrs>());
}

// A thread's scratch: scores; of bfloat16 also the values, and the result before it is rounded; what the
// products need.
struct ForwardSlice {
  size_t scores, values, part, gemm, total;

  ForwardSlice(const Problem& p, const KernelCall& call, int threads) {
    scores = static_cast<size_t>(p.ScoreBytes());
    values = p.narrow ? static_cast<size_t>(Aligned(p.keys * p.value_width * p.size)) : 0;
    part = p.narrow ? static_cast<size_t>(Aligned(p.block * p.value_width * p.size)) : 0;
    gemm = ForwardGemms(p, call, p.block, p.keys).ScratchBytes(threads);
    total = scores + values + part + gemm;
  }
};

size_t ForwardScratch(const KernelCall& call) {
  const Problem p = ForwardProblem(call);
  const Sharing sharing(call.threads, p.heads() * p.blocks());
  return ForwardSlice(p, call, sharing.inner).total * static_cast<size_t>(sharing.outer);
}

// One block of queries of one head.
class BlockForward {
 public:
  BlockForward(const Problem& p, const KernelCall& call, const ForwardSlice& slice, int threads,
               int64_t block, char* scratch)
      : p_(p),
        call_(call),
        threads_(threads),
        head_(block / p.blocks()),
        first_(block % p.blocks() * p.block),
        rows_(std::min(p.block, p.queries - first_)),
        keys_(p.KeysFor(first_, rows_)),
        scores_(scratch),
        values_(p.narrow ? scratch + slice.scores : In(2, 0)),
        part_(scratch + slice.scores + slice.values),
        gemm_scratch_(part_ + slice.part, slice.gemm) {}

  Maybe<void> Run() {
    const ForwardGemms gemms(p_, call_, rows_, keys_);
    JUST(RunInnerGemm(gemms.scores, In(0, first_), In(1, 0), scores_, &gemm_scratch_, threads_));
    const Mask mask(call_.inputs[3]);
    ParallelFor(threads_, rows_, 8, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) { WeightsOfRow(mask, r); }
    });
    if (p_.narrow) { WidenValues(); }
    char* to = p_.narrow ? part_ : Out(first_);
    JUST(RunInnerGemm(gemms.out, scores_, values_, to, &gemm_scratch_, threads_));
    for (int64_t r = 0; r < rows_; ++r) { FinishRow(r, to + r * gemms.out.ldc * p_.size); }
    return Ok();
  }

 private:
  char* In(int i, int64_t row) const {
    return Heads(call_.inputs[i]).At(head_ / p_.b1, head_ % p_.b1, row);
  }
  char* Out(int64_t row) const {
    return Heads(call_.outputs[0], p_.rows_first).At(head_ / p_.b1, head_ % p_.b1, row);
  }

  void WeightsOfRow(const Mask& mask, int64_t r) {
    char* scores = scores_ + r * keys_ * p_.size;
    double max = 0;
    sums_[r] = GetAttentionLoops().softmax[p_.d()](
        RowOf(p_, mask, call_.inputs[4], head_, first_ + r, scores, keys_), &max);
    // A row that sees nothing has weights exp(x - inf) = 0.
    SetLogSum(head_ * p_.queries + first_ + r,
              sums_[r] == 0.0 ? HUGE_VAL : max + std::log(sums_[r]));
  }

  // Divides by the sum, and by the part of the weights that dropout keeps.
  void FinishRow(int64_t r, char* row) const {
    const double kept = call_.inputs[4].given ? p_.factor : 1.0;
    GetAttentionLoops().scale[p_.d()](row, p_.value_width, sums_[r] == 0.0 ? 0.0 : kept / sums_[r]);
    if (p_.narrow) {
      Cast(DataType::kFloat, DataType::kBFloat16)(Out(first_ + r), row, p_.value_width);
    }
  }

  void WidenValues() const {
    const UnaryLoop widen = Cast(DataType::kBFloat16, DataType::kFloat);
    for (int64_t r = 0; r < keys_; ++r) {
      widen(values_ + r * p_.value_width * p_.size, In(2, r), p_.value_width);
    }
  }

  static UnaryLoop Cast(DataType from, DataType to) {
    return GetElementwiseLoops().cast[static_cast<int>(from)][static_cast<int>(to)];
  }

  void SetLogSum(int64_t i, double value) const {
    char* at = call_.outputs[1].Data<char>() + i * p_.size;
    if (p_.size == 4) {
      *reinterpret_cast<float*>(at) = static_cast<float>(value);
    } else {
      *reinterpret_cast<double*>(at) = value;
    }
  }

  const Problem& p_;
  const KernelCall& call_;
  const int threads_;
  const int64_t head_, first_, rows_, keys_;
  char* const scores_;
  char* const values_;
  char* const part_;
  GemmScratch gemm_scratch_;
  double sums_[kMaxQueries];
};

Maybe<void> Forward(const KernelCall& call) {
  const Problem p = ForwardProblem(call);
  const Sharing sharing(call.threads, p.heads() * p.blocks());
  const ForwardSlice slice(p, call, sharing.inner);
  return attention::RunTasks(
      call, sharing, p.heads() * p.blocks(), slice.total, [&](int64_t block, char* scratch) {
        return BlockForward(p, call, slice, sharing.inner, block, scratch).Run();
      });
}

const char* AcceptForward(const KernelCall& call) { return attention::AcceptOperands(call, 0, 3); }
double ForwardCost(const KernelCall& call) { return attention::CostOf(ForwardProblem(call), 1.0); }

}  // namespace

ONEFLOW_REGISTER_KERNEL(fused_attention, {"fused_attention.cpu.blocked", &Forward, &AcceptForward,
                                          &ForwardCost, &ForwardScratch});

}  // namespace cpu
}  // namespace oneflow
