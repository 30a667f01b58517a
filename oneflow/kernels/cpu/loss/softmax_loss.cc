// The kernels softmax_loss and softmax_loss_backward: cross entropy with class indices, without a
// softmax in memory.
//
// With weights w of the classes, smoothing s, C classes and logp = x - max - log_sum, the loss of a
// sample with target t is -(1 - s) w[t] logp[t] - s / C sum(w logp).
// softmax_loss: x, target, [weight] -> loss, total_weight, max, log_sum. Samples without a class are not
// read. Rows of bfloat16 are widened one at a time.
// softmax_loss_backward: dy, x, target, [weight], total_weight, max, log_sum -> dx.
#include <algorithm>
#include <cstring>

#include "oneflow/kernels/attrs_norm.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/dense_kernel.h"
#include "oneflow/kernels/cpu/elementwise_loops.h"
#include "oneflow/kernels/cpu/loss/class_targets.h"
#include "oneflow/kernels/cpu/softmax/softmax_extents.h"
#include "oneflow/kernels/cpu/softmax/softmax_loops.h"
#include "oneflow/kernels/cpu/thread_index.h"

namespace oneflow {
namespace cpu {

namespace {

template <typename T>
struct Weights {
  const T* data = nullptr;
  double total = 0.0;  // of all classes

  Weights(const KernelCall& call, int i, int64_t classes) : total(static_cast<double>(classes)) {
    if (!call.HasInput(i)) { return; }
    data = call.inputs[i].Data<T>();
    total = 0.0;
    for (int64_t c = 0; c < classes; ++c) { total += static_cast<double>(data[c]); }
  }
  double operator[](int64_t c) const {
    return data == nullptr ? 1.0 : static_cast<double>(data[c]);
  }
};

// Where the classes of a sample lie: rows as they are, or rows of bfloat16, widened into a buffer of the
// thread.
template <typename T>
class RowReader {
 public:
  RowReader(const ArrayView& x, int64_t n, void* buffers)
      : data_(x.Data<char>()),
        n_(n),
        widens_(x.dtype == DataType::kBFloat16),
        buffers_(static_cast<char*>(buffers)) {}
  static size_t BufferBytes(const ArrayView& x, int64_t n) {
    if (x.dtype != DataType::kBFloat16) { return 0; }
    return (static_cast<size_t>(n) * sizeof(float) + 63) / 64 * 64;
  }
  T* Buffer(const ArrayView& x) const {
    return reinterpret_cast<T*>(buffers_ + static_cast<size_t>(ThreadIndex()) * BufferBytes(x, n_));
  }
  // From element `at` on.
  const T* Read(const ArrayView& x, int64_t at) const {
    if (!widens_) { return reinterpret_cast<const T*>(data_) + at; }
    T* to = Buffer(x);
    GetElementwiseLoops().cast[static_cast<int>(DataType::kBFloat16)]
                              [static_cast<int>(DataType::kFloat)](to, data_ + at * 2, n_);
    return to;
  }

 private:
  const char* data_;
  const int64_t n_;
  const bool widens_;
  char* const buffers_;
};

template <typename T>
class Forward {
 public:
  explicit Forward(const KernelCall& call)
      : call_(call),
        attrs_(call.GetAttrs<SoftmaxLossAttrs>()),
        e_(call.inputs[0], attrs_.class_dim),
        weights_(call, 2, e_.n),
        targets_(call.inputs[1].Data<int64_t>()),
        max_(call.outputs[2].Data<T>()),
        log_sum_(call.outputs[3].Data<T>()),
        terms_(static_cast<double*>(call.scratch)),
        reader_(call.inputs[0], e_.n, static_cast<char*>(call.scratch) + TermBytes(call)) {}

  static size_t TermBytes(const KernelCall& call) {
    const auto count = static_cast<size_t>(std::max<int64_t>(1, call.inputs[1].Count()));
    return (count * sizeof(double) + 63) / 64 * 64;
  }

  void Run() const {
    if (e_.n > 0) {
      ForEachSoftmaxTile(e_, call_.threads, [&](int64_t at, int64_t columns) {
        const int64_t first = at / (e_.n * e_.inner) * e_.inner + at % e_.inner;
        e_.inner == 1 ? RunRow(at, first) : RunColumns(at, first, columns);
      });
    }
    Reduce();
  }

 private:
  bool Ignored(int64_t i) const { return targets_[i] == attrs_.ignore_index; }
  void Ignore(int64_t i) const { max_[i] = log_sum_[i] = T{0}, terms_[i] = 0.0; }

  void RunRow(int64_t at, int64_t i) const {
    if (Ignored(i)) { return Ignore(i); }
    const T* x = reader_.Read(call_.inputs[0], at);
    GetSoftmaxLoops<T>().row_log_sum(x, e_.n, max_ + i, log_sum_ + i);
    terms_[i] = Term(i, x);
  }

  void RunColumns(int64_t at, int64_t first, int64_t columns) const {
    const T* x = call_.inputs[0].Data<T>() + at;
    GetSoftmaxLoops<T>().columns_log_sum(x, e_.inner, e_.n, columns, max_ + first,
                                         log_sum_ + first);
    for (int64_t j = 0; j < columns; ++j) {
      if (Ignored(first + j)) {
        Ignore(first + j);
      } else {
        terms_[first + j] = Term(first + j, x + j);
      }
    }
  }

  // The loss of sample i, whose logits are at x[0], x[inner], ...
  double Term(int64_t i, const T* x) const {
    const int64_t t = targets_[i];
    const double max = static_cast<double>(max_[i]);
    const double log_sum = static_cast<double>(log_sum_[i]);
    const double picked = (static_cast<double>(x[t * e_.inner]) - max) - log_sum;
    const double s = attrs_.label_smoothing;
    double term = -(1.0 - s) * weights_[t] * picked;
    if (s > 0.0) {
      double sum = 0.0;
      for (int64_t c = 0; c < e_.n; ++c) {
        sum += weights_[c] * (static_cast<double>(x[c * e_.inner]) - max);
      }
      term -= s / static_cast<double>(e_.n) * (sum - weights_.total * log_sum);
    }
    return term;
  }

  void Reduce() const {
    double loss = 0.0, total = 0.0;
    const int64_t samples = e_.outer * e_.inner;
    T* out = call_.outputs[0].Data<T>();
    for (int64_t i = 0; i < samples; ++i) {
      loss += terms_[i];
      if (!Ignored(i)) { total += weights_[targets_[i]]; }
      if (attrs_.reduction == Reduction::kNone) { out[i] = static_cast<T>(terms_[i]); }
    }
    if (attrs_.reduction == Reduction::kMean) { loss /= total; }
    if (attrs_.reduction != Reduction::kNone) { *out = static_cast<T>(loss); }
    *call_.outputs[1].Data<T>() = static_cast<T>(total);
  }

  const KernelCall& call_;
  const SoftmaxLossAttrs& attrs_;
  const SoftmaxExtents e_;
  const Weights<T> weights_;
  const int64_t* targets_;
  T* max_;
  T* log_sum_;
  double* terms_;
  const RowReader<T> reader_;
};

template <typename T>
class Backward {
 public:
  explicit Backward(const KernelCall& call)
      : call_(call),
        attrs_(call.GetAttrs<SoftmaxLossAttrs>()),
        e_(call.inputs[1], attrs_.class_dim),
        weights_(call, 3, e_.n),
        targets_(call.inputs[2].Data<int64_t>()),
        reader_(call.inputs[1], e_.n, call.scratch) {
    const double total = static_cast<double>(*call.inputs[4].Data<T>());
    divisor_ = attrs_.reduction == Reduction::kMean ? total : 1.0;
  }

  void Run() const {
    if (e_.total() == 0) { return; }
    ForEachSoftmaxTile(e_, call_.threads, [&](int64_t at, int64_t columns) {
      const int64_t first = at / (e_.n * e_.inner) * e_.inner + at % e_.inner;
      e_.inner == 1 ? RunRow(at, first) : RunColumns(at, first, columns);
    });
  }

 private:
  bool Ignored(int64_t i) const { return targets_[i] == attrs_.ignore_index; }

  void RunRow(int64_t at, int64_t i) const {
    const ArrayView& x = call_.inputs[1];
    const ArrayView& dx = call_.outputs[0];
    const size_t size = SizeOf(dx.dtype);
    char* to = dx.Data<char>() + static_cast<size_t>(at) * size;
    if (Ignored(i)) {
      std::memset(to, 0, static_cast<size_t>(e_.n) * size);
      return;
    }
    const bool widens = x.dtype == DataType::kBFloat16;
    T* row = widens ? reader_.Buffer(x) : reinterpret_cast<T*>(to);
    T a, b, c;
    Factors(i, &a, &b, &c);
    GetSoftmaxLoops<T>().row_loss_backward(reader_.Read(x, at), row, e_.n, Max()[i], LogSum()[i], a,
                                           b, weights_.data);
    row[targets_[i]] -= c;
    if (widens) {
      GetElementwiseLoops().cast[static_cast<int>(DataType::kFloat)]
                                [static_cast<int>(DataType::kBFloat16)](to, row, e_.n);
    }
  }

  void RunColumns(int64_t at, int64_t first, int64_t columns) const {
    const T* x = call_.inputs[1].Data<T>() + at;
    T* dx = call_.outputs[0].Data<T>() + at;
    T a[kSoftmaxTile], b[kSoftmaxTile], c[kSoftmaxTile];
    for (int64_t j = 0; j < columns; ++j) { Factors(first + j, a + j, b + j, c + j); }
    GetSoftmaxLoops<T>().columns_loss_backward(x, dx, e_.inner, e_.n, columns, Max() + first,
                                               LogSum() + first, a, b, weights_.data);
    for (int64_t j = 0; j < columns; ++j) {
      if (Ignored(first + j)) {
        for (int64_t k = 0; k < e_.n; ++k) { dx[k * e_.inner + j] = T{0}; }
      } else {
        dx[targets_[first + j] * e_.inner + j] -= c[j];
      }
    }
  }

  const T* Max() const { return call_.inputs[5].Data<T>(); }
  const T* LogSum() const { return call_.inputs[6].Data<T>(); }

  // dx = a softmax(x) - b w - (c at the target) for sample i.
  void Factors(int64_t i, T* a, T* b, T* c) const {
    const int64_t t = targets_[i];
    *a = *b = *c = T{0};
    if (Ignored(i)) { return; }
    const T* dy = call_.inputs[0].Data<T>();
    const double g =
        static_cast<double>(dy[attrs_.reduction == Reduction::kNone ? i : 0]) / divisor_;
    const double s = attrs_.label_smoothing;
    const double share = s / static_cast<double>(e_.n);
    *a = static_cast<T>(g * ((1.0 - s) * weights_[t] + share * weights_.total));
    *b = static_cast<T>(g * share);
    *c = static_cast<T>(g * (1.0 - s) * weights_[t]);
  }

  const KernelCall& call_;
  const SoftmaxLossAttrs& attrs_;
  const SoftmaxExtents e_;
  const Weights<T> weights_;
  const int64_t* targets_;
  const RowReader<T> reader_;
  double divisor_ = 1.0;
};

Maybe<void> RunForward(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<SoftmaxLossAttrs>();
  const ArrayView& x = call.inputs[0];
  JUST(CheckClassTargets("cross_entropy", call.inputs[1], x.shape[attrs.class_dim],
                         attrs.ignore_index));
  if (x.dtype == DataType::kDouble) {
    Forward<double>(call).Run();
  } else {
    Forward<float>(call).Run();
  }
  return Ok();
}

Maybe<void> RunBackward(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<SoftmaxLossAttrs>();
  const ArrayView& x = call.inputs[1];
  JUST(CheckClassTargets("cross_entropy", call.inputs[2], x.shape[attrs.class_dim],
                         attrs.ignore_index));
  if (x.dtype == DataType::kDouble) {
    Backward<double>(call).Run();
  } else {
    Backward<float>(call).Run();
  }
  return Ok();
}

size_t Buffers(const KernelCall& call, int x) {
  const ArrayView& view = call.inputs[x];
  const int64_t n = view.shape[call.GetAttrs<SoftmaxLossAttrs>().class_dim];
  return RowReader<float>::BufferBytes(view, n) * static_cast<size_t>(call.threads);
}
size_t ForwardScratch(const KernelCall& call) {
  return Forward<float>::TermBytes(call) + Buffers(call, 0);
}
size_t BackwardScratch(const KernelCall& call) { return Buffers(call, 1); }

double ForwardCost(const KernelCall& call) {
  return 30.0 + 0.7 * static_cast<double>(call.inputs[0].Count()) + ElementwiseCostNs(call);
}
double BackwardCost(const KernelCall& call) {
  return 30.0 + 0.7 * static_cast<double>(call.outputs[0].Count()) + ElementwiseCostNs(call);
}

// Dense rows of bfloat16 that are read as they are: without weights, the loss in float32.
bool HasShortRows(const KernelCall& call, int x, const ArrayView& loss) {
  const ArrayView& view = call.inputs[x];
  const ArrayView& target = call.inputs[x + 1];
  return view.dtype == DataType::kBFloat16 && view.contiguous && !call.HasInput(x + 2) &&
         call.GetAttrs<SoftmaxLossAttrs>().class_dim == view.ndim - 1 &&
         loss.dtype == DataType::kFloat && loss.contiguous && target.contiguous &&
         target.dtype == DataType::kInt64;
}
const char* AcceptShortForward(const KernelCall& call) {
  return HasShortRows(call, 0, call.outputs[0]) ? nullptr : "not dense rows of bfloat16";
}
const char* AcceptShortBackward(const KernelCall& call) {
  return HasShortRows(call, 1, call.inputs[0]) ? nullptr : "not dense rows of bfloat16";
}

constexpr DenseKernel kForward = {&RunForward, &ForwardCost, &ForwardScratch};
constexpr DenseKernel kBackward = {&RunBackward, &BackwardCost, &BackwardScratch};

}  // namespace

ONEFLOW_REGISTER_KERNEL(softmax_loss_rows, {"softmax_loss.cpu.rows", &RunForward,
                                            &AcceptShortForward, &ForwardCost, &ForwardScratch});
ONEFLOW_REGISTER_KERNEL(softmax_loss_backward_rows,
                        {"softmax_loss_backward.cpu.rows", &RunBackward, &AcceptShortBackward,
                         &BackwardCost, &BackwardScratch});
ONEFLOW_REGISTER_DENSE_KERNEL(softmax_loss, "softmax_loss.cpu.vector", kForward);
ONEFLOW_REGISTER_DENSE_KERNEL(softmax_loss_backward, "softmax_loss_backward.cpu.vector", kBackward);

}  // namespace cpu
}  // namespace oneflow
