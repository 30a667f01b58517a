// The kernels multi_tensor_norm, multi_tensor_clip_, multi_tensor_scale_ and multi_tensor_clamp_:
// what gradients go through between backward and an optimizer's step.
#include <cmath>
#include <limits>
#include <vector>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_optim.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/optim/list_chunks.h"
#include "oneflow/kernels/cpu/optim/update_loops.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

const UpdateLoopsOf& LoopsFor(DataType dtype) {
  const UpdateLoops& loops = GetUpdateLoops();
  return dtype == DataType::kDouble ? loops.for_double : loops.for_float;
}

const char* Accept(const KernelCall& call) {
  for (int i = 0; i < call.num_inputs; ++i) {
    if (!IsFloating(call.inputs[i].dtype)) { return "a dtype that is not floating"; }
  }
  return nullptr;
}

double CostNs(const KernelCall& call) {
  double bytes = 0;
  for (int i = 0; i < call.num_inputs; ++i) { bytes += BytesOf(call.inputs[i]); }
  return 2 * MemoryCostNs(bytes);
}

// Calls body(memory, n) for elements [begin, end): of the array itself, or of dense copies of a few at
// a time, which `writes` says to put back.
template <typename Body>
void ForElements(const ArrayView& view, int64_t begin, int64_t end, bool writes, const Body& body) {
  const ArrayView* one = &view;
  if (view.dtype == ComputeType(view.dtype) && SameDenseOrder(&one, 1)) {
    const auto size = static_cast<int64_t>(SizeOf(view.dtype));
    return body(view.Data<char>() + begin * size, end - begin);
  }
  StagedElements staged;
  for (int64_t at = begin; at < end; at += StagedElements::kElements) {
    const int64_t n = end - at < StagedElements::kElements ? end - at : StagedElements::kElements;
    body(staged.Load(view, at, n), n);
    if (writes) { staged.Store(view, at, n); }
  }
}

// Where the sums of norms begin, and how an element or another sum comes in.
struct Norm {
  explicit Norm(double power) : p(power) {}

  double Start() const { return p == -INFINITY ? INFINITY : 0.0; }
  double Join(double sum, double other) const {
    if (p == INFINITY || p == -INFINITY) {
      // NaN wins over everything.
      const bool better = p > 0 ? other > sum : other < sum;
      return better || std::isnan(other) ? other : sum;
    }
    return sum + other;
  }
  double Of(double x) const {
    const double size = std::fabs(x);
    if (p == INFINITY || p == -INFINITY) { return size; }
    if (p == 0) { return size != 0 ? 1.0 : 0.0; }
    return p == 1 ? size : std::pow(size, p);
  }
  double Finish(double sum) const {
    if (p == INFINITY || p == -INFINITY || p == 0 || p == 1) { return sum; }
    return p == 2 ? std::sqrt(sum) : std::pow(sum, 1.0 / p);
  }

  const double p;
};

template <typename T>
double JoinElements(const Norm& norm, const void* memory, int64_t n, double sum) {
  const T* x = static_cast<const T*>(memory);
  for (int64_t i = 0; i < n; ++i) { sum = norm.Join(sum, norm.Of(static_cast<double>(x[i]))); }
  return sum;
}

double NormOfPiece(const Norm& norm, const ArrayView& view, int64_t begin, int64_t end) {
  double sum = norm.Start();
  ForElements(view, begin, end, false, [&](void* memory, int64_t n) {
    if (norm.p == 2) {
      sum += LoopsFor(view.dtype).sum_of_squares(memory, n);
    } else if (view.dtype == DataType::kDouble) {
      sum = JoinElements<double>(norm, memory, n, sum);
    } else {
      sum = JoinElements<float>(norm, memory, n, sum);
    }
  });
  return sum;
}

void StoreNumber(const ArrayView& to, double value) {
  if (to.dtype == DataType::kDouble) {
    *to.Data<double>() = value;
    return;
  }
  StagedElements staged;
  *static_cast<float*>(staged.Load(to, 0, 1)) = static_cast<float>(value);
  staged.Store(to, 0, 1);
}

Maybe<void> RunNorm(const KernelCall& call) {
  const Norm norm(call.GetAttrs<ListNormAttrs>().p);
  const ListChunks chunks(call.inputs, call.num_inputs);
  std::vector<double> parts(static_cast<size_t>(chunks.size()));
  ParallelFor(call.threads, chunks.size(), 1, [&](int64_t chunk, int64_t) {
    const ListChunks::Piece piece = chunks[chunk];
    parts[static_cast<size_t>(chunk)] =
        NormOfPiece(norm, call.inputs[piece.array], piece.begin, piece.end);
  });
  double sum = norm.Start();
  if (norm.p == 0) {
    std::vector<bool> counted(static_cast<size_t>(call.num_inputs), false);
    for (int64_t c = 0; c < chunks.size(); ++c) {
      const auto array = static_cast<size_t>(chunks[c].array);
      counted[array] = counted[array] || parts[static_cast<size_t>(c)] != 0;
    }
    for (const bool some : counted) { sum += some ? 1 : 0; }
  } else {
    for (double part : parts) { sum = norm.Join(sum, part); }
  }
  StoreNumber(call.outputs[0], chunks.size() == 0 ? 0.0 : norm.Finish(sum));
  return Ok();
}

template <typename Body>
void ForAll(const KernelCall& call, const Body& body) {
  const ListChunks chunks(call.outputs, call.num_outputs);
  ParallelFor(call.threads, chunks.size(), 1, [&](int64_t chunk, int64_t) {
    const ListChunks::Piece piece = chunks[chunk];
    const ArrayView& view = call.outputs[piece.array];
    ForElements(view, piece.begin, piece.end, true,
                [&](void* memory, int64_t n) { body(LoopsFor(view.dtype), memory, n); });
  });
}

double NumberIn(const ArrayView& view) {
  if (view.dtype == DataType::kDouble) { return *view.Data<double>(); }
  StagedElements staged;
  return static_cast<double>(*static_cast<float*>(staged.Load(view, 0, 1)));
}

// Inputs: the list, and the norm.
Maybe<void> RunClip(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<ListClipAttrs>();
  const double norm = NumberIn(call.inputs[call.num_inputs - 1]);
  const double factor = attrs.max_norm / (norm + attrs.epsilon);
  if (factor >= 1) { return Ok(); }
  ForAll(call, [&](const UpdateLoopsOf& loops, void* memory, int64_t n) {
    loops.scale(memory, n, factor);
  });
  return Ok();
}

Maybe<void> RunScale(const KernelCall& call) {
  const double factor = call.GetAttrs<ListScaleAttrs>().factor;
  ForAll(call, [&](const UpdateLoopsOf& loops, void* memory, int64_t n) {
    loops.scale(memory, n, factor);
  });
  return Ok();
}

Maybe<void> RunClamp(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<ListClampAttrs>();
  ForAll(call, [&](const UpdateLoopsOf& loops, void* memory, int64_t n) {
    loops.clamp(memory, n, attrs.low, attrs.high);
  });
  return Ok();
}

}  // namespace

#define ONEFLOW_REGISTER_LIST_KERNEL(name, run) \
  ONEFLOW_REGISTER_KERNEL(name, {#name ".cpu.vector", run, &Accept, &CostNs, nullptr})
ONEFLOW_REGISTER_LIST_KERNEL(multi_tensor_norm, &RunNorm);
ONEFLOW_REGISTER_LIST_KERNEL(multi_tensor_clip, &RunClip);
ONEFLOW_REGISTER_LIST_KERNEL(multi_tensor_scale, &RunScale);
ONEFLOW_REGISTER_LIST_KERNEL(multi_tensor_clamp, &RunClamp);

}  // namespace cpu
}  // namespace oneflow
