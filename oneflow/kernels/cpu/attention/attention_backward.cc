// The kernel fused_attention_backward: computes the weights again, from the logarithm of each row's sum,
// a block of queries at a time. bfloat16 as in attention.cc; gradients of keys and values add up in
// float32 over the blocks.
//
// Inputs dout, q, k, v, mask or none, kept or none, out, log_sum; outputs dq, dk, dv.
#include <cstring>

#include "oneflow/kernels/cpu/attention/attention_problem.h"
#include "oneflow/kernels/cpu/elementwise_loops.h"

namespace oneflow {
namespace cpu {

namespace {

using attention::Aligned;
using attention::Heads;
using attention::Mask;
using attention::Problem;
using attention::Sharing;

constexpr int kMask = 4, kKept = 5, kOut = 6, kLogSum = 7;  // inputs

Problem BackwardProblem(const KernelCall& call) {
  return Problem(call.inputs[1], call.inputs[2], call.inputs[3], call.GetAttrs<AttentionAttrs>());
}

// The row stride of what adds up: the gradient itself, or its place in float32.
int64_t SumStride(const Problem& p, const KernelCall& call, int output) {
  return p.narrow ? call.outputs[output].shape[3] : Heads(call.outputs[output], p.rows_first).row;
}

struct BackwardGemms {
  InnerGemm scores, dweights, dq;
  InnerGemm dk, dv;  // into a part, or, `first`, straight where they add up

  BackwardGemms(const Problem& p, const KernelCall& call, int64_t rows, int64_t keys, bool first) {
    const int64_t dout = Heads(call.inputs[0], p.rows_first).row, q = call.inputs[1].strides[2];
    const int64_t k = call.inputs[2].strides[2], v = call.inputs[3].strides[2];
    scores = MakeGemm(p, rows, keys, p.width, q, k, keys);
    scores.transpose_b = true;
    dweights = MakeGemm(p, rows, keys, p.value_width, dout, v, keys);
    dweights.transpose_b = true;
    dq = MakeGemm(p, rows, p.width, keys, keys, k, SumStride(p, call, 0));
    dk = MakeGemm(p, keys, p.width, rows, keys, q, first ? SumStride(p, call, 1) : p.width);
    dk.transpose_a = true;
    dv = MakeGemm(p, keys, p.value_width, rows, keys, dout,
                  first ? SumStride(p, call, 2) : p.value_width);
    dv.transpose_a = true;
  }
  size_t ScratchBytes(int threads) const {
    size_t bytes = 0;
    for (const InnerGemm* gemm : {&scores, &dweights, &dq, &dk, &dv}) {
      bytes = std::max(bytes, InnerGemmScratchBytes(*gemm, threads));
    }
    return bytes;
  }
};

// A thread's scratch: weights and their gradient, the same rounded to bfloat16; a part of dk or dv; of
// bfloat16 dk and dv in float32; what the products need.
struct BackwardSlice {
  size_t scores, rounded, part, dk, dv, gemm, total;

  BackwardSlice(const Problem& p, const KernelCall& call, int threads) {
    const int64_t rows = std::max(p.keys, p.block), widest = std::max(p.width, p.value_width);
    scores = static_cast<size_t>(p.ScoreBytes());
    rounded = static_cast<size_t>(p.NarrowBytes());
    part = static_cast<size_t>(Aligned(rows * widest * p.size));
    dk = p.narrow ? static_cast<size_t>(Aligned(p.keys * p.width * p.size)) : 0;
    dv = p.narrow ? static_cast<size_t>(Aligned(p.keys * p.value_width * p.size)) : 0;
    gemm = std::max(BackwardGemms(p, call, p.block, p.keys, true).ScratchBytes(threads),
                    BackwardGemms(p, call, p.block, p.keys, false).ScratchBytes(threads));
    total = 2 * scores + 2 * rounded + part + dk + dv + gemm;
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

void Round(char* to, const char* from, int64_t n) {
  GetElementwiseLoops()
      .cast[static_cast<int>(DataType::kFloat)][static_cast<int>(DataType::kBFloat16)](to, from, n);
}

// One head of the gradients; blocks of queries add up in dk and dv.
class HeadBackward {
 public:
  HeadBackward(const Problem& p, const KernelCall& call, const BackwardSlice& slice, int threads,
               int64_t head, char* scratch)
      : p_(p),
        call_(call),
        loops_(GetAttentionLoops()),
        mask_(call.inputs[kMask]),
        threads_(threads),
        head_(head),
        i0_(head / p.b1),
        i1_(head % p.b1),
        scores_(scratch),
        dscores_(scratch + slice.scores),
        weights_(p.narrow ? dscores_ + slice.scores : scores_),
        dweights_(p.narrow ? weights_ + slice.rounded : dscores_),
        part_(dscores_ + slice.scores + 2 * slice.rounded),
        dk_(p.narrow ? part_ + slice.part : Out(1, 0)),
        dv_(p.narrow ? part_ + slice.part + slice.dk : Out(2, 0)),
        gemm_scratch_(part_ + slice.part + slice.dk + slice.dv, slice.gemm) {}

  Maybe<void> Run() {
    // Where the first block sees all keys, its products are the first sums.
    const bool direct = p_.queries > 0 && p_.KeysFor(0, p_.block) == p_.keys;
    if (!direct) {
      Clear(dk_, 1, p_.width);
      Clear(dv_, 2, p_.value_width);
    }
    for (int64_t first = 0; first < p_.queries; first += p_.block) {
      JUST(Block(first, std::min(p_.block, p_.queries - first), direct && first == 0));
    }
    if (p_.narrow) {
      RoundRows(1, 0, dk_, p_.keys, p_.width);
      RoundRows(2, 0, dv_, p_.keys, p_.value_width);
    }
    return Ok();
  }

 private:
  char* In(int i, int64_t row) const {
    return Heads(call_.inputs[i], p_.rows_first && (i == 0 || i == kOut)).At(i0_, i1_, row);
  }
  char* Out(int i, int64_t row) const {
    return Heads(call_.outputs[i], p_.rows_first).At(i0_, i1_, row);
  }

  void Clear(char* sum, int output, int64_t width) const {
    const int64_t step = SumStride(p_, call_, output) * p_.size;
    for (int64_t r = 0; r < p_.keys; ++r) {
      std::memset(sum + r * step, 0, static_cast<size_t>(width * p_.size));
    }
  }

  Maybe<void> Block(int64_t first, int64_t rows, bool direct) {
    const int64_t keys = p_.KeysFor(first, rows);
    const BackwardGemms gemms(p_, call_, rows, keys, direct);
    JUST(Multiply(gemms.scores, In(1, first), In(2, 0), scores_));
    JUST(Multiply(gemms.dweights, In(0, first), In(3, 0), dscores_));
    ParallelFor(threads_, rows, 8, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) { GradientOfRow(first, r, keys); }
    });
    JUST(AddProduct(gemms.dv, weights_, In(0, first), dv_, 2, direct));
    JUST(AddProduct(gemms.dk, dweights_, In(1, first), dk_, 1, direct));
    JUST(Multiply(gemms.dq, dweights_, In(2, 0), p_.narrow ? part_ : Out(0, first)));
    if (p_.narrow) { RoundRows(0, first, part_, rows, p_.width); }
    return Ok();
  }

  // The weights of a query, and the gradients of its scores, from its scores and the gradients of its
  // weights.
  void GradientOfRow(int64_t first, int64_t r, int64_t keys) const {
    const int64_t query = first + r, at = r * keys;
    const char* log_sum =
        call_.inputs[kLogSum].Data<char>() + (head_ * p_.queries + query) * p_.size;
    const double dot =
        loops_.dot[static_cast<int>(p_.dtype)](In(0, query), In(kOut, query), p_.value_width);
    loops_.gradient[p_.d()](
        RowOf(p_, mask_, call_.inputs[kKept], head_, query, scores_ + at * p_.size, keys),
        dscores_ + at * p_.size, LoadNumber(log_sum, p_.size), dot, p_.factor);
    if (p_.narrow) {
      Round(weights_ + at * 2, scores_ + at * p_.size, keys);
      Round(dweights_ + at * 2, dscores_ + at * p_.size, keys);
    }
  }

  Maybe<void> AddProduct(const InnerGemm& gemm, const char* a, const char* b, char* sum, int output,
                         bool direct) {
    if (direct) { return Multiply(gemm, a, b, sum); }
    JUST(Multiply(gemm, a, b, part_));
    const int64_t step = SumStride(p_, call_, output);
    const bool dense = step == gemm.n;
    const int64_t count = dense ? 1 : gemm.m, n = dense ? gemm.m * gemm.n : gemm.n;
    for (int64_t r = 0; r < count; ++r) {
      loops_.add[p_.d()](sum + r * step * p_.size, part_ + r * n * p_.size, n);
    }
    return Ok();
  }

  void RoundRows(int output, int64_t first, const char* from, int64_t rows, int64_t n) const {
    for (int64_t r = 0; r < rows; ++r) { Round(Out(output, first + r), from + r * n * p_.size, n); }
  }

  Maybe<void> Multiply(const InnerGemm& gemm, const char* a, const char* b, char* c) {
    return RunInnerGemm(gemm, a, b, c, &gemm_scratch_, threads_);
  }

  const Problem& p_;
  const KernelCall& call_;
  const AttentionLoops& loops_;
  const Mask mask_;
  const int threads_;
  const int64_t head_, i0_, i1_;
  char* const scores_;
  char* const dscores_;
  char* const weights_;   // as the products read them
  char* const dweights_;  // the gradients of the scores, as the products read them
  char* const part_;
  char* const dk_;
  char* const dv_;
  GemmScratch gemm_scratch_;
};

Maybe<void> Backward(const KernelCall& call) {
  const Problem p = BackwardProblem(call);
  const Sharing sharing(call.threads, p.heads());
  const BackwardSlice slice(p, call, sharing.inner);
  return attention::RunTasks(
      call, sharing, p.heads(), slice.total, [&](int64_t head, char* scratch) {
        return HeadBackward(p, call, slice, sharing.inner, head, scratch).Run();
      });
}

const char* AcceptBackward(const KernelCall& call) {
  for (int i : {0, kOut, kLogSum}) {
    if (!call.inputs[i].contiguous) { return "results or their gradient are not dense"; }
  }
  return attention::AcceptOperands(call, 1, kMask);
}

double BackwardCost(const KernelCall& call) {
  return attention::CostOf(BackwardProblem(call), 2.5);
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(fused_attention_backward,
                        {"fused_attention_backward.cpu.blocked", &Backward, &AcceptBackward,
                         &BackwardCost, &BackwardScratch});

}  // namespace cpu
}  // namespace oneflow
