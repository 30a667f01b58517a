// The kernels matmul and linear: by oneDNN (float32; bfloat16 and float16 where the machine has
// instructions for them), or by the project's own loops. Other bfloat16 and float16 products are
// computed in float32.
#include <cstdlib>
#include <memory>

#include "oneflow/core/shape.h"
#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/cpu/copy.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/gemm.h"
#include "oneflow/kernels/cpu/matmul_problem.h"
#include "oneflow/kernels/cpu/onednn_matmul.h"
#include "oneflow/kernels/cpu/strided_loop.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

// Below this many floating-point operations, calling oneDNN costs more than multiplying.
constexpr double kMinOnednnFlops = 40e3;

enum class Form { kMatmul, kLinear };

template <Form form>
MatmulProblem Analyse(const KernelCall& call) {
  if (form == Form::kMatmul) {
    return AnalyseMatmul(call.inputs[0], call.inputs[1], call.outputs[0]);
  }
  return AnalyseLinear(call.inputs[0], call.inputs[1], call.outputs[0]);
}

template <Form form>
bool HasBias(const KernelCall& call) {
  return form == Form::kLinear && call.HasInput(2);
}

// linear reads its bias as it lies; matmul has none.
template <Form form>
const void* Bias(const KernelCall& call) {
  return HasBias<form>(call) ? call.inputs[2].data : nullptr;
}

template <Form form>
const char* AcceptCommon(const KernelCall& call) {
  const DataType dtype = call.outputs[0].dtype;
  for (int i = 0; i < call.num_inputs; ++i) {
    if (call.HasInput(i) && call.inputs[i].dtype != dtype) {
      return "operands of different dtypes";
    }
  }
  if (!call.outputs[0].contiguous) { return "output is not dense"; }
  if (HasBias<form>(call) && !call.inputs[2].contiguous) { return "bias is not dense"; }
  return nullptr;
}

template <Form form>
const char* AcceptGemm(const KernelCall& call) {
  if (!GemmSupports(call.outputs[0].dtype)) { return "dtype not supported"; }
  return AcceptCommon<form>(call);
}

bool IsShort(DataType dtype) { return dtype == DataType::kBFloat16 || dtype == DataType::kFloat16; }

template <Form form>
const char* AcceptShort(const KernelCall& call) {
  if (!IsShort(call.outputs[0].dtype)) { return "dtype is not bfloat16 or float16"; }
  return AcceptCommon<form>(call);
}

template <Form form>
const char* AcceptOnednn(const KernelCall& call) {
  if (call.outputs[0].dtype != DataType::kFloat) { return "dtype is not float32"; }
  const char* refusal = AcceptCommon<form>(call);
  if (refusal != nullptr) { return refusal; }
  const MatmulProblem p = Analyse<form>(call);
  if (IsVectorProblem(p)) { return "an operand is a vector"; }
  return p.Flops() < kMinOnednnFlops ? "too small" : nullptr;
}

// Nothing to multiply: no output, or k is 0 and the output is the bias, or zero.
template <Form form>
bool Trivial(const KernelCall& call, const MatmulProblem& p) {
  if (p.m * p.n * p.batch * p.OuterCount() == 0) { return true; }
  if (p.k > 0) { return false; }
  const ArrayView& out = call.outputs[0];
  const int64_t zero = 0;
  const auto size = static_cast<int64_t>(SizeOf(p.dtype));
  const auto* bias = static_cast<const char*>(Bias<form>(call));
  for (int64_t row = 0; row < out.Count() / p.n; ++row) {
    char* to = out.Data<char>() + row * p.n * size;
    CopyRun(to, size, bias == nullptr ? reinterpret_cast<const char*>(&zero) : bias,
            bias == nullptr ? 0 : size, static_cast<int>(size), p.n);
  }
  return true;
}

// The caller's scratch, or our own memory where the plan has changed since it was asked for.
class Scratch {
 public:
  Scratch(const KernelCall& call, size_t bytes) : data_(call.scratch) {
    if (bytes > call.scratch_bytes) {
      own_.reset(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
      data_ = own_.get();
    }
    ok_ = bytes == 0 || data_ != nullptr;
  }
  bool ok() const { return ok_; }
  char* data() const { return static_cast<char*>(data_); }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<void, Free> own_;
  void* data_;
  bool ok_;
};

template <Form form>
const char* Name() {
  return form == Form::kMatmul ? "matmul" : "linear";
}

template <Form form>
Maybe<void> RunWithGemm(const KernelCall& call, const MatmulProblem& p) {
  const size_t packed = p.pack_a_bytes + p.pack_b_bytes;
  const size_t bytes = packed + GemmScratchBytes(p, call.threads);
  const Scratch scratch(call, bytes);
  if (!scratch.ok()) {
    return OutOfMemoryError("[{}] cannot take {} bytes of scratch", Name<form>(), bytes);
  }
  const MatmulPointers at = PackOperands(p, call.inputs[0], call.inputs[1], call.outputs[0],
                                         scratch.data(), call.threads);
  return ForEachOuter(p, at, [&](const MatmulPointers& now) -> Maybe<void> {
    RunGemm(p, now, Bias<form>(call), scratch.data() + packed, call.threads);
    return Ok();
  });
}

template <Form form>
Maybe<void> RunVector(const KernelCall& call) {
  const MatmulProblem p = Analyse<form>(call);
  return Trivial<form>(call, p) ? Maybe<void>(Ok()) : RunWithGemm<form>(call, p);
}

template <Form form>
Maybe<void> RunOnednn(const KernelCall& call) {
  const MatmulProblem p = Analyse<form>(call);
  if (Trivial<form>(call, p)) { return Ok(); }
  OnednnMatmul* matmul = FindOnednnMatmul(p, HasBias<form>(call), call.threads);
  if (matmul == nullptr) { return RunWithGemm<form>(call, p); }
  const size_t packed = p.pack_a_bytes + p.pack_b_bytes;
  const size_t bytes = packed + OnednnScratchBytes(*matmul);
  const Scratch scratch(call, bytes);
  if (!scratch.ok()) {
    return OutOfMemoryError("[{}] cannot take {} bytes of scratch", Name<form>(), bytes);
  }
  const MatmulPointers at = PackOperands(p, call.inputs[0], call.inputs[1], call.outputs[0],
                                         scratch.data(), call.threads);
  return ForEachOuter(p, at, [&](const MatmulPointers& now) {
    return ExecuteOnednn(matmul, now, Bias<form>(call), scratch.data() + packed);
  });
}

template <Form form>
size_t VectorScratch(const KernelCall& call) {
  const MatmulProblem p = Analyse<form>(call);
  return p.pack_a_bytes + p.pack_b_bytes + GemmScratchBytes(p, call.threads);
}

template <Form form>
size_t OnednnScratch(const KernelCall& call) {
  const MatmulProblem p = Analyse<form>(call);
  if (p.Flops() == 0) { return 0; }
  OnednnMatmul* matmul = FindOnednnMatmul(p, HasBias<form>(call), call.threads);
  const size_t own =
      matmul == nullptr ? GemmScratchBytes(p, call.threads) : OnednnScratchBytes(*matmul);
  return p.pack_a_bytes + p.pack_b_bytes + own;
}

// ---- bfloat16 and float16 -----------------------------------------------------------------------

// The call in float32: the same shapes, dense, in scratch.
class WideCall {
 public:
  explicit WideCall(const KernelCall& call) : call_(call) {
    for (int i = 0; i < call.num_inputs; ++i) { Add(call.inputs[i]); }
    Add(call.outputs[0]);
    wide_ = call;
    wide_.inputs = views_;
    wide_.outputs = views_ + call.num_inputs;
    // Operands lie before what the product itself needs.
    char* memory = static_cast<char*>(call.scratch);
    for (int i = 0; i <= call.num_inputs; ++i) {
      if (memory != nullptr) { views_[i].data = memory + offsets_[i]; }
    }
    wide_.scratch = memory == nullptr ? nullptr : memory + bytes_;
    wide_.scratch_bytes = call.scratch_bytes > bytes_ ? call.scratch_bytes - bytes_ : 0;
  }

  const KernelCall& wide() const { return wide_; }
  size_t bytes() const { return bytes_; }

  void Widen() const {
    for (int i = 0; i < call_.num_inputs; ++i) {
      if (call_.inputs[i].given) { CopyArray(views_[i], call_.inputs[i], call_.threads); }
    }
  }
  void Narrow() const { CopyArray(call_.outputs[0], wide_.outputs[0], call_.threads); }

 private:
  void Add(const ArrayView& view) {
    views_[count_] = view;
    offsets_[count_] = bytes_;
    if (view.given) {
      strides_[count_] = ContiguousStrides(Dims(view.shape, view.ndim));
      views_[count_].strides = strides_[count_].data();
      views_[count_].dtype = DataType::kFloat;
      views_[count_].contiguous = true;
      bytes_ += (static_cast<size_t>(view.Count()) * sizeof(float) + 63) / 64 * 64;
    }
    ++count_;
  }

  const KernelCall& call_;
  KernelCall wide_;
  ArrayView views_[4];
  Dims strides_[4];
  size_t offsets_[4];
  size_t bytes_ = 0;
  int count_ = 0;
};

// oneDNN's own product of the short dtype, or nullptr.
template <Form form>
OnednnMatmul* FindShort(const KernelCall& call, const MatmulProblem& p) {
  if (p.Flops() < kMinOnednnFlops) { return nullptr; }
  return FindOnednnMatmul(p, HasBias<form>(call), call.threads);
}

template <Form form>
Maybe<void> RunShort(const KernelCall& call) {
  const MatmulProblem p = Analyse<form>(call);
  if (Trivial<form>(call, p)) { return Ok(); }
  if (FindShort<form>(call, p) != nullptr) { return RunOnednn<form>(call); }
  const Scratch scratch(call, WideCall(call).bytes());
  if (!scratch.ok()) {
    return OutOfMemoryError("[{}] cannot take scratch for float32 operands", Name<form>());
  }
  KernelCall backed = call;
  if (scratch.data() != call.scratch) {
    backed.scratch = scratch.data();
    backed.scratch_bytes = 0;
  }
  const WideCall wide(backed);
  wide.Widen();
  const bool large = AcceptOnednn<form>(wide.wide()) == nullptr;
  const Maybe<void> done = large ? RunOnednn<form>(wide.wide()) : RunVector<form>(wide.wide());
  if (done.ok()) { wide.Narrow(); }
  return done;
}

template <Form form>
size_t ShortScratch(const KernelCall& call) {
  const MatmulProblem p = Analyse<form>(call);
  if (p.Flops() == 0) { return 0; }
  if (FindShort<form>(call, p) != nullptr) { return OnednnScratch<form>(call); }
  const WideCall wide(call);
  const bool large = AcceptOnednn<form>(wide.wide()) == nullptr;
  return wide.bytes() +
         (large ? OnednnScratch<form>(wide.wide()) : VectorScratch<form>(wide.wide()));
}

// Operands are packed where they do not lie densely, so that strides cost no more than a copy.
double OperandCostNs(const KernelCall& call) {
  double bytes = 0;
  for (int i = 0; i < call.num_inputs; ++i) {
    if (call.inputs[i].given) { bytes += BytesOf(call.inputs[i]); }
  }
  return MemoryCostNs(bytes + BytesOf(call.outputs[0]));
}

template <Form form>
double GemmCost(const KernelCall& call) {
  const MatmulProblem p = Analyse<form>(call);
  const double ns_per_flop = SizeOf(p.dtype) == 4 ? 0.03 : 0.06;
  return 100.0 + p.Flops() * ns_per_flop + OperandCostNs(call);
}

template <Form form>
double ShortCost(const KernelCall& call) {
  return 500.0 + Analyse<form>(call).Flops() / 100.0 + 4.0 * OperandCostNs(call);
}

template <Form form>
double OnednnCost(const KernelCall& call) {
  return 700.0 + Analyse<form>(call).Flops() / 150.0 + OperandCostNs(call);
}

}  // namespace

#define ONEFLOW_REGISTER_MATMUL(name, form)                                                       \
  ONEFLOW_REGISTER_KERNEL(name##_onednn,                                                          \
                          {#name ".cpu.onednn", &RunOnednn<form>, &AcceptOnednn<form>,            \
                           &OnednnCost<form>, &OnednnScratch<form>});                             \
  ONEFLOW_REGISTER_KERNEL(name##_short, {#name ".cpu.short", &RunShort<form>, &AcceptShort<form>, \
                                         &ShortCost<form>, &ShortScratch<form>});                 \
  ONEFLOW_REGISTER_KERNEL(                                                                        \
      name##_vector, {#name ".cpu.vector", &RunVector<form>, &AcceptGemm<form>, &GemmCost<form>,  \
                      &VectorScratch<form>})

ONEFLOW_REGISTER_MATMUL(matmul, Form::kMatmul);
ONEFLOW_REGISTER_MATMUL(linear, Form::kLinear);

}  // namespace cpu
}  // namespace oneflow
