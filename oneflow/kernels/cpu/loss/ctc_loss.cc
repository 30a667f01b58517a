// The kernels of connectionist temporal classification (Graves and others, ICML 2006), computed with
// logarithms in double.
//
// A target of S labels becomes a path of 2 S + 1 states: blank, label, blank, label, ..., blank.
// alpha[t][s] is the logarithm of the probability of all beginnings that are in state s at time t.
// ctc_loss: log_probs (T, N, C), targets (N, S) or all of them joined, input_lengths (N),
//   target_lengths (N) -> loss (N), alpha (N, T, 2 S + 1), 1 / max(target length, 1) (N).
// ctc_loss_backward: dy (N), those four, loss, alpha -> the gradient of log_probs, as of the result
//   of a log_softmax: exp(log_probs) - the posterior of each label.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_norm.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/dense_kernel.h"

namespace oneflow {
namespace cpu {

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

// log(exp(a) + exp(b)); NaN where one of them is: std::max would lose it.
double LogAdd(double a, double b) {
  const double max = a > b ? a : b;
  const double min = a > b ? b : a;
  if (max == kNever) { return min + max; }
  return max + std::log1p(std::exp(min - max));
}

// The operands, whose places in the call begin at `at`.
template <typename T>
struct Problem {
  const CtcLossAttrs& attrs;
  int64_t time, samples, classes;
  const T* log_probs;
  const ArrayView& targets;
  const int64_t* input_lengths;
  const int64_t* target_lengths;

  Problem(const KernelCall& call, int at)
      : attrs(call.GetAttrs<CtcLossAttrs>()),
        time(call.inputs[at].shape[0]),
        samples(call.inputs[at].shape[1]),
        classes(call.inputs[at].shape[2]),
        log_probs(call.inputs[at].Data<T>()),
        targets(call.inputs[at + 1]),
        input_lengths(call.inputs[at + 2].Data<int64_t>()),
        target_lengths(call.inputs[at + 3].Data<int64_t>()) {}

  int64_t states() const { return 2 * attrs.max_target_length + 1; }
  // Numbers that one sample works with: two steps, and the classes.
  int64_t work() const { return 2 * states() + classes; }
  int64_t target_at(int64_t n) const {
    if (targets.ndim == 2) { return n * targets.shape[1]; }
    int64_t at = 0;
    for (int64_t i = 0; i < n; ++i) { at += target_lengths[i]; }
    return at;
  }

  Maybe<void> Check() const {
    int64_t joined = 0;
    for (int64_t n = 0; n < samples; ++n) {
      if (input_lengths[n] < 0 || input_lengths[n] > time) {
        return RuntimeError("[ctc_loss] expects input_lengths in [0, {}], got {} at index {}", time,
                            input_lengths[n], n);
      }
      const int64_t most = targets.ndim == 2
                               ? std::min(attrs.max_target_length, targets.shape[1])
                               : std::min(attrs.max_target_length, targets.shape[0] - joined);
      if (target_lengths[n] < 0 || target_lengths[n] > most) {
        return RuntimeError("[ctc_loss] expects target_lengths in [0, {}], got {} at index {}",
                            most, target_lengths[n], n);
      }
      joined += target_lengths[n];
      const int64_t* labels = targets.Data<int64_t>() + target_at(n);
      for (int64_t s = 0; s < target_lengths[n]; ++s) {
        if (labels[s] < 0 || labels[s] >= classes) {
          return IndexError("[ctc_loss] expects targets in [0, {}), got {} in sample {}", classes,
                            labels[s], n);
        }
      }
    }
    return Ok();
  }
};

// One sample's path through time.
template <typename T>
class Path {
 public:
  Path(const Problem<T>& p, int64_t n)
      : p_(p),
        n_(n),
        labels_(p.targets.template Data<int64_t>() + p.target_at(n)),
        states_(2 * p.target_lengths[n] + 1) {}

  int64_t states() const { return states_; }
  int64_t time() const { return p_.input_lengths[n_]; }
  int64_t Label(int64_t s) const { return s % 2 == 0 ? p_.attrs.blank : labels_[s / 2]; }
  // Whether state s may follow state s - 2.
  bool Skips(int64_t s) const { return s >= 2 && s % 2 == 1 && Label(s) != Label(s - 2); }
  double LogProb(int64_t t, int64_t label) const {
    return static_cast<double>(p_.log_probs[(t * p_.samples + n_) * p_.classes + label]);
  }

  // alpha, p.states() apart; returns the loss. `work` has room for p.work().
  double Forward(T* alpha, double* work) const {
    const int64_t step = p_.states();
    std::fill(alpha, alpha + p_.time * step, static_cast<T>(kNever));
    if (time() == 0) { return states_ == 1 ? 0.0 : -kNever; }
    double* before = work;
    double* now = before + states_;
    std::fill(before, now + states_, kNever);
    now[0] = LogProb(0, p_.attrs.blank);
    if (states_ > 1) { now[1] = LogProb(0, Label(1)); }
    for (int64_t t = 0; t < time(); ++t) {
      if (t > 0) {
        std::swap(before, now);
        for (int64_t s = 0; s < states_; ++s) { now[s] = Arrive(before, s) + LogProb(t, Label(s)); }
      }
      for (int64_t s = 0; s < states_; ++s) { alpha[t * step + s] = static_cast<T>(now[s]); }
    }
    const double last = now[states_ - 1];
    return -(states_ > 1 ? LogAdd(last, now[states_ - 2]) : last);
  }

  // dx of this sample, times g. A last label that is the blank itself is outside of what CTC defines;
  // then the label's share of the last step counts, not the blank's, as in other frameworks.
  void Backward(const T* alpha, double loss, double g, T* dx, double* work) const {
    const int64_t step = p_.states();
    const int64_t classes = p_.classes;
    double* after = work;
    double* now = after + states_;
    double* posterior = now + states_;
    std::fill(after, posterior, kNever);
    for (int64_t t = time() - 1; t >= 0; --t) {
      std::fill(posterior, posterior + classes, kNever);
      std::swap(after, now);
      for (int64_t s = 0; s < states_; ++s) {
        const bool last = t == time() - 1;
        const double leave = last ? (s + 2 >= states_ ? 0.0 : kNever) : Leave(after, s);
        now[s] = leave + LogProb(t, Label(s));
        if (last && s > 0 && s == states_ - 1 && Label(s - 1) == Label(s)) { continue; }
        double& sum = posterior[Label(s)];
        sum = LogAdd(sum, static_cast<double>(alpha[t * step + s]) + now[s]);
      }
      T* to = dx + (t * p_.samples + n_) * classes;
      for (int64_t c = 0; c < classes; ++c) {
        const double log_prob = LogProb(t, c);
        const double part = posterior[c];
        // Where no path fits, the gradient is NaN, as the loss is infinite.
        const bool none = part == kNever && !std::isinf(loss);
        const double share = none ? 0.0 : std::exp(part + loss - log_prob);
        to[c] = static_cast<T>(g * (std::exp(log_prob) - share));
      }
    }
  }

 private:
  double Arrive(const double* before, int64_t s) const {
    double sum = before[s];
    if (s >= 1) { sum = LogAdd(sum, before[s - 1]); }
    return Skips(s) ? LogAdd(sum, before[s - 2]) : sum;
  }
  double Leave(const double* after, int64_t s) const {
    double sum = after[s];
    if (s + 1 < states_) { sum = LogAdd(sum, after[s + 1]); }
    return s + 2 < states_ && Skips(s + 2) ? LogAdd(sum, after[s + 2]) : sum;
  }

  const Problem<T>& p_;
  int64_t n_;
  const int64_t* labels_;
  int64_t states_;
};

template <typename T>
Maybe<void> Forward(const KernelCall& call) {
  const Problem<T> p(call, 0);
  JUST(p.Check());
  T* loss = call.outputs[0].Data<T>();
  T* alpha = call.outputs[1].Data<T>();
  T* inverse_length = call.outputs[2].Data<T>();
  auto* work = static_cast<double*>(call.scratch);
  ParallelFor(call.threads, p.samples, 1, [&](int64_t n, int64_t) {
    const double value =
        Path<T>(p, n).Forward(alpha + n * p.time * p.states(), work + n * p.work());
    loss[n] = static_cast<T>(p.attrs.zero_infinity && std::isinf(value) ? 0.0 : value);
    inverse_length[n] =
        static_cast<T>(1.0 / static_cast<double>(std::max<int64_t>(1, p.target_lengths[n])));
  });
  return Ok();
}

template <typename T>
Maybe<void> Backward(const KernelCall& call) {
  const Problem<T> p(call, 1);
  JUST(p.Check());
  const T* dy = call.inputs[0].Data<T>();
  const T* alpha = call.inputs[6].Data<T>();
  T* dx = call.outputs[0].Data<T>();
  auto* work = static_cast<double*>(call.scratch);
  std::fill(dx, dx + call.outputs[0].Count(), T{0});
  ParallelFor(call.threads, p.samples, 1, [&](int64_t n, int64_t) {
    const Path<T> path(p, n);
    const T* at = alpha + n * p.time * p.states();
    if (path.time() == 0) { return; }
    const T* end = at + (path.time() - 1) * p.states() + path.states();
    const double last = static_cast<double>(end[-1]);
    // The loss itself: the saved one may have been set to zero.
    const double loss = -(path.states() > 1 ? LogAdd(last, static_cast<double>(end[-2])) : last);
    if (p.attrs.zero_infinity && std::isinf(loss)) { return; }
    path.Backward(at, loss, static_cast<double>(dy[n]), dx, work + n * p.work());
  });
  return Ok();
}

// ---- decoding -----------------------------------------------------------------------------------

template <typename T>
Maybe<void> Decode(const KernelCall& call) {
  const ArrayView& log_probs = call.inputs[0];
  const int64_t time = log_probs.shape[0], samples = log_probs.shape[1];
  const int64_t classes = log_probs.shape[2];
  const int64_t* lengths = call.inputs[1].Data<int64_t>();
  const bool merges = call.GetAttrs<CtcGreedyDecoderAttrs>().merge_repeated;
  for (int64_t n = 0; n < samples; ++n) {
    if (lengths[n] < 0 || lengths[n] > time) {
      return RuntimeError("[ctc_greedy_decoder] expects input_lengths in [0, {}], got {} at index "
                          "{}",
                          time, lengths[n], n);
    }
  }
  for (int64_t n = 0; n < samples; ++n) {
    int64_t* decoded = call.outputs[0].Data<int64_t>() + n * time;
    std::fill(decoded, decoded + time, int64_t{0});
    double sum = 0.0;
    int64_t before = -1, count = 0;
    for (int64_t t = 0; t < lengths[n]; ++t) {
      const T* row = log_probs.Data<T>() + (t * samples + n) * classes;
      const int64_t best = std::max_element(row, row + classes) - row;
      sum -= static_cast<double>(row[best]);
      // The last class is the blank.
      if (best != classes - 1 && !(merges && best == before)) { decoded[count++] = best; }
      before = best;
    }
    call.outputs[1].Data<T>()[n] = static_cast<T>(sum);
  }
  return Ok();
}

Maybe<void> RunForward(const KernelCall& call) {
  return call.inputs[0].dtype == DataType::kDouble ? Forward<double>(call) : Forward<float>(call);
}
Maybe<void> RunBackward(const KernelCall& call) {
  return call.inputs[0].dtype == DataType::kDouble ? Backward<double>(call) : Backward<float>(call);
}
Maybe<void> RunDecode(const KernelCall& call) {
  return call.inputs[0].dtype == DataType::kDouble ? Decode<double>(call) : Decode<float>(call);
}

// Taken here: a thread of a parallel region that finds no memory would end the process.
size_t ForwardScratch(const KernelCall& call) {
  const Problem<float> p(call, 0);
  return static_cast<size_t>(p.samples * p.work()) * sizeof(double);
}
size_t BackwardScratch(const KernelCall& call) {
  const Problem<float> p(call, 1);
  return static_cast<size_t>(p.samples * p.work()) * sizeof(double);
}

double ForwardCost(const KernelCall& call) {
  return 100.0 + 40.0 * static_cast<double>(call.outputs[1].Count());
}
double BackwardCost(const KernelCall& call) {
  return 100.0 + 60.0 * static_cast<double>(call.inputs[6].Count()) +
         20.0 * static_cast<double>(call.outputs[0].Count());
}

constexpr DenseKernel kForward = {&RunForward, &ForwardCost, &ForwardScratch};
constexpr DenseKernel kBackward = {&RunBackward, &BackwardCost, &BackwardScratch};
constexpr DenseKernel kDecode = {&RunDecode, &ElementwiseCostNs};

}  // namespace

ONEFLOW_REGISTER_DENSE_KERNEL(ctc_loss, "ctc_loss.cpu.vector", kForward);
ONEFLOW_REGISTER_DENSE_KERNEL(ctc_loss_backward, "ctc_loss_backward.cpu.vector", kBackward);
ONEFLOW_REGISTER_DENSE_KERNEL(ctc_greedy_decoder, "ctc_greedy_decoder.cpu.vector", kDecode);

}  // namespace cpu
}  // namespace oneflow
