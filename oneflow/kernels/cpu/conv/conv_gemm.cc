#include "oneflow/kernels/cpu/conv/conv_gemm.h"

#include <algorithm>
#include <cstring>

#include "oneflow/kernels/cpu/conv/columns.h"
#include "oneflow/kernels/cpu/conv/conv_fill.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/dense_call.h"
#include "oneflow/kernels/cpu/gemm.h"
#include "oneflow/kernels/cpu/matmul_problem.h"

namespace oneflow {
namespace cpu {

namespace {

// The columns of one image and group are made for so many lines at a time.
constexpr int64_t kColumnBytes = 4 << 20;

size_t Aligned(int64_t bytes) { return (static_cast<size_t>(bytes) + 63) / 64 * 64; }

// How one image and group is computed. All matrices are row-major: out (m x P) = weight (m x k)
// columns (k x P), and the like.
struct Plan {
  ConvKind kind;
  ConvGeometry g;
  ColumnShape shape;  // of one group
  DataType dtype;
  int64_t m, k;
  int64_t lines;  // of columns at a time
  bool direct;    // the image is its own matrix of columns
  size_t columns_bytes, partial_bytes;
  MatmulProblem gemm;

  int64_t Width() const { return lines * shape.out[2]; }
};

MatmulProblem GemmOf(const Plan& p, int64_t width) {
  MatmulProblem gemm;
  const int64_t pixels = p.shape.OutPixels();
  const int64_t column_row = p.direct ? pixels : width;
  gemm.dtype = p.dtype;
  switch (p.kind) {
    case ConvKind::kForward:  // dst = weight columns
      gemm.m = p.m, gemm.k = p.k, gemm.n = width;
      gemm.a = {0, p.k, 1}, gemm.b = {0, column_row, 1}, gemm.c = {0, pixels, 1};
      break;
    case ConvKind::kInputGrad:  // columns = weight^T dst
      gemm.m = p.k, gemm.k = p.m, gemm.n = width;
      gemm.a = {0, 1, p.k}, gemm.b = {0, pixels, 1}, gemm.c = {0, column_row, 1};
      break;
    case ConvKind::kWeightGrad:  // weight = dst columns^T
      gemm.m = p.m, gemm.k = width, gemm.n = p.k;
      gemm.a = {0, pixels, 1}, gemm.b = {0, 1, column_row}, gemm.c = {0, p.k, 1};
      break;
  }
  return gemm;
}

Plan PlanOf(ConvKind kind, const KernelCall& call) {
  Plan p;
  p.kind = kind;
  p.g = GeometryOf(kind, call);
  p.dtype = call.outputs[0].dtype == DataType::kDouble ? DataType::kDouble : DataType::kFloat;
  p.shape.channels = p.g.InPerGroup();
  for (int d = 0; d < 3; ++d) {
    p.shape.in[d] = p.g.in[d];
    p.shape.out[d] = p.g.out[d];
    p.shape.kernel[d] = p.g.kernel[d];
    p.shape.stride[d] = p.g.stride[d];
    p.shape.padding[d] = p.g.padding[d];
    p.shape.dilation[d] = p.g.dilation[d];
  }
  p.m = p.g.OutPerGroup();
  p.k = p.g.ColumnRows();
  p.direct = p.g.IsPointwise() && p.g.HasUnitStride() && p.g.InPixels() == p.g.OutPixels();
  const auto size = static_cast<int64_t>(SizeOf(p.dtype));
  const int64_t line = std::max<int64_t>(1, p.k * p.shape.out[2] * size);
  p.lines = std::clamp<int64_t>(kColumnBytes / line, 1, std::max<int64_t>(1, p.shape.Lines()));
  if (p.direct) { p.lines = std::max<int64_t>(1, p.shape.Lines()); }
  p.columns_bytes = p.direct ? 0 : Aligned(p.k * p.Width() * size);
  p.partial_bytes = kind == ConvKind::kWeightGrad ? Aligned(p.m * p.k * size) : 0;
  p.gemm = GemmOf(p, p.Width());
  return p;
}

template <typename T>
class ConvGemm {
 public:
  ConvGemm(const Plan& plan, const KernelCall& call)
      : p_(plan), call_(call), at_(OperandsOf(plan.kind, call)) {
    auto* scratch = static_cast<char*>(call.scratch);
    columns_ = reinterpret_cast<T*>(scratch);
    partial_ = reinterpret_cast<T*>(scratch + p_.columns_bytes);
    panels_ = scratch + p_.columns_bytes + p_.partial_bytes;
  }

  void Run() {
    const ArrayView& out = call_.outputs[0];
    if (p_.kind == ConvKind::kForward && !p_.g.Empty()) {
      // All of it is written below.
    } else {
      std::memset(out.data, 0, static_cast<size_t>(out.Count()) * sizeof(T));
    }
    if (!p_.g.Empty()) {
      for (int64_t image = 0; image < p_.g.batch; ++image) {
        for (int64_t group = 0; group < p_.g.groups; ++group) { RunGroup(image, group); }
      }
    }
    if (at_.bias != nullptr) { AddBias(out, *at_.bias, call_.threads); }
  }

 private:
  void RunGroup(int64_t image, int64_t group) {
    const int64_t index = image * p_.g.groups + group;
    T* src = at_.src->Data<T>() + index * p_.g.InPerGroup() * p_.g.InPixels();
    T* weight = at_.weight->Data<T>() + group * p_.m * p_.k;
    T* dst = at_.dst->Data<T>() + index * p_.m * p_.g.OutPixels();
    for (int64_t begin = 0; begin < p_.shape.Lines(); begin += p_.lines) {
      const int64_t end = std::min(begin + p_.lines, p_.shape.Lines());
      RunLines(src, weight, dst + begin * p_.shape.out[2], begin, end);
    }
  }

  // dst points at the range's first pixel.
  void RunLines(T* src, T* weight, T* dst, int64_t begin, int64_t end) {
    const int64_t width = (end - begin) * p_.shape.out[2];
    const MatmulProblem gemm = width == p_.Width() ? p_.gemm : GemmOf(p_, width);
    T* columns = p_.direct ? src : columns_;
    if (p_.kind == ConvKind::kInputGrad) {
      Multiply(gemm, weight, dst, columns);
      if (!p_.direct) { AddColumnsToImage(p_.shape, columns, begin, end, src, call_.threads); }
      return;
    }
    if (!p_.direct) { ImageToColumns(p_.shape, src, begin, end, columns, call_.threads); }
    if (p_.kind == ConvKind::kForward) { return Multiply(gemm, weight, columns, dst); }
    Multiply(gemm, dst, columns, partial_);
    for (int64_t i = 0; i < p_.m * p_.k; ++i) { weight[i] += partial_[i]; }
  }

  void Multiply(const MatmulProblem& gemm, const T* a, const T* b, T* c) {
    const MatmulPointers at{reinterpret_cast<const char*>(a), reinterpret_cast<const char*>(b),
                            reinterpret_cast<char*>(c)};
    RunGemm(gemm, at, nullptr, panels_, call_.threads);
  }

  const Plan& p_;
  const KernelCall& call_;
  const ConvOperands at_;
  T* columns_;
  T* partial_;
  char* panels_;
};

template <ConvKind kind>
Maybe<void> Run(const KernelCall& call) {
  return RunConvGemm(kind, call);
}

template <ConvKind kind>
size_t Scratch(const KernelCall& call) {
  return ConvGemmScratch(kind, call);
}

template <ConvKind kind>
const char* Accept(const KernelCall& call) {
  const bool is_double = call.outputs[0].dtype == DataType::kDouble;
  if (!GemmSupports(is_double ? DataType::kDouble : DataType::kFloat)) {
    return "dtype not supported";
  }
  return AcceptOneFloatingDtype(call);
}

template <ConvKind kind>
double Cost(const KernelCall& call) {
  const ConvGeometry g = GeometryOf(kind, call);
  const double columns = static_cast<double>(g.batch * g.groups * g.ColumnRows() * g.OutPixels());
  const double calls = static_cast<double>(g.batch * g.groups) * 100.0;
  return 200.0 + calls + g.Flops() * 0.06 + columns * 0.5;
}

}  // namespace

size_t ConvGemmScratch(ConvKind kind, const KernelCall& call) {
  const Plan p = PlanOf(kind, call);
  if (p.g.Empty()) { return DenseCall::ScratchBytes(call); }
  return DenseCall::ScratchBytes(call) + p.columns_bytes + p.partial_bytes +
         GemmScratchBytes(p.gemm, call.threads);
}

Maybe<void> RunConvGemm(ConvKind kind, const KernelCall& call) {
  const Plan plan = PlanOf(kind, call);
  return RunDense(call, [&](const KernelCall& dense) -> Maybe<void> {
    if (plan.dtype == DataType::kDouble) {
      ConvGemm<double>(plan, dense).Run();
    } else {
      ConvGemm<float>(plan, dense).Run();
    }
    return Ok();
  });
}

#define ONEFLOW_REGISTER_CONV_GEMM(id, kind)                                                   \
  ONEFLOW_REGISTER_KERNEL(id, {#id ".cpu.gemm", &Run<ConvKind::kind>, &Accept<ConvKind::kind>, \
                               &Cost<ConvKind::kind>, &Scratch<ConvKind::kind>})

ONEFLOW_REGISTER_CONV_GEMM(convolution, kForward);
ONEFLOW_REGISTER_CONV_GEMM(convolution_input_grad, kInputGrad);
ONEFLOW_REGISTER_CONV_GEMM(convolution_weight_grad, kWeightGrad);

}  // namespace cpu
}  // namespace oneflow
