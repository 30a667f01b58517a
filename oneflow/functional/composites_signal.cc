#include "oneflow/functional/composites_signal.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "oneflow/core/saturated.h"
#include "oneflow/functional/composites.h"
#include "oneflow/functional/generated/functional.h"

namespace oneflow::functional::composites {

namespace {

constexpr double kPi = 3.14159265358979323846;

// The sample that stands at place `i` of a signal of `size` samples, which goes on at its ends.
int64_t SampleAt(int64_t i, int64_t size, const std::string& mode) {
  if (mode == "replicate") { return std::min(std::max<int64_t>(i, 0), size - 1); }
  if (mode == "circular") { return (i % size + size) % size; }
  return i < 0 ? -i : i < size ? i : 2 * (size - 1) - i;  // reflect
}

// (batch, samples) with `n` more on each side.
Maybe<TensorPtr> Padded(const TensorPtr& x, int64_t n, const std::string& mode) {
  const int64_t size = x->shape()[1];
  if (mode == "constant") {
    const TensorPtr zero = JUST(zeros(Dims{x->shape()[0], n}, x->dtype(), x->device()));
    return cat({zero, x, zero}, 1);
  }
  const bool known = mode == "reflect" || mode == "replicate" || mode == "circular";
  if (!known || size <= (mode == "reflect" ? n : 0)) {
    return RuntimeError(
        "[stft] expects pad_mode reflect, replicate, circular or constant, and more "
        "than {} samples, got {} and {}",
        n, mode, size);
  }
  const TensorPtr places = JUST(AllocateHostTensor("stft", Shape{size + 2 * n}, DataType::kInt64));
  auto* place = reinterpret_cast<int64_t*>(places->data());
  for (int64_t i = -n; i < size + n; ++i) { *place++ = SampleAt(i, size, mode); }
  return index_select(x, 1, places);
}

template <typename T>
void FillWaves(T* to, int64_t n, int64_t frequencies, double factor) {
  std::vector<T> cosines(static_cast<size_t>(n)), sines(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    const double angle = 2.0 * kPi * static_cast<double>(i) / static_cast<double>(n);
    cosines[static_cast<size_t>(i)] = static_cast<T>(factor * std::cos(angle));
    sines[static_cast<size_t>(i)] = static_cast<T>(-factor * std::sin(angle));
  }
  for (int64_t t = 0; t < n; ++t) {
    for (int64_t f = 0; f < frequencies; ++f) {
      const auto turn = static_cast<size_t>(t * f % n);
      *to++ = cosines[turn];
      *to++ = sines[turn];
    }
  }
}

// (n, 2 frequencies): real and imaginary part of each wave, times `factor`.
Maybe<TensorPtr> Waves(DataType dtype, int64_t n, int64_t frequencies, double factor) {
  const TensorPtr waves = JUST(AllocateHostTensor("stft", Shape{n, 2 * frequencies}, dtype));
  if (dtype == DataType::kDouble) {
    FillWaves(reinterpret_cast<double*>(waves->data()), n, frequencies, factor);
  } else {
    FillWaves(reinterpret_cast<float*>(waves->data()), n, frequencies, factor);
  }
  return waves;
}

Maybe<void> CheckStft(const TensorPtr& input, int64_t n_fft, int64_t samples, int64_t hop,
                      int64_t win, const TensorPtr& window) {
  if (input->dtype() != DataType::kFloat && input->dtype() != DataType::kDouble) {
    return RuntimeError("[stft] expects float32 or float64, got {}", DataTypeName(input->dtype()));
  }
  if (n_fft <= 0 || n_fft > samples) {
    return RuntimeError("[stft] expects n_fft from 1 to {} (the samples), got {}", samples, n_fft);
  }
  if (hop <= 0) { return RuntimeError("[stft] expects a hop_length of at least 1, got {}", hop); }
  if (win <= 0 || win > n_fft) {
    return RuntimeError("[stft] expects win_length from 1 to n_fft = {}, got {}", n_fft, win);
  }
  if (window != nullptr && (window->ndim() != 1 || window->shape()[0] != win)) {
    return RuntimeError("[stft] expects a window (win_length,) = ({},), got {}", win,
                        window->shape());
  }
  return Ok();
}

// The window in the middle of n_fft samples; null where all count alike.
Maybe<TensorPtr> Centered(const TensorPtr& window, DataType dtype, int64_t win, int64_t n_fft) {
  if (window == nullptr && win == n_fft) { return TensorPtr(); }
  const TensorPtr own =
      window == nullptr ? JUST(ones(Dims{win}, dtype, std::nullopt)) : JUST(cast(window, dtype));
  if (win == n_fft) { return own; }
  const int64_t left = (n_fft - win) / 2;
  const TensorPtr before = JUST(zeros(Dims{left}, dtype, std::nullopt));
  return cat({before, own, JUST(zeros(Dims{n_fft - win - left}, dtype, std::nullopt))}, 0);
}

}  // namespace

Maybe<TensorPtr> Stft(const TensorPtr& input, int64_t n_fft, std::optional<int64_t> hop_length,
                      std::optional<int64_t> win_length, const TensorPtr& window, bool center,
                      const std::string& pad_mode, bool normalized, bool onesided,
                      bool return_complex) {
  if (input->ndim() != 1 && input->ndim() != 2) {
    return RuntimeError("[stft] expects input (samples,) or (batch, samples), got {}",
                        input->shape());
  }
  if (return_complex) {
    return NotImplementedError("[stft] expects return_complex=False: there are no complex dtypes");
  }
  const int64_t hop = hop_length.value_or(n_fft / 4), win = win_length.value_or(n_fft);
  const int64_t padding = center && n_fft > 0 ? n_fft / 2 * 2 : 0;
  const int64_t samples = Saturated(Wide{input->shape().back()} + padding);
  JUST(CheckStft(input, n_fft, samples, hop, win, window));
  TensorPtr x = input->ndim() == 2 ? input : JUST(unsqueeze(input, 0));
  if (center) { x = JUST(Padded(x, n_fft / 2, pad_mode)); }
  TensorPtr frames = JUST(unfold_tensor(x, 1, n_fft, hop));
  const TensorPtr shape = JUST(Centered(window, x->dtype(), win, n_fft));
  if (shape != nullptr) { frames = JUST(mul(frames, shape)); }
  const int64_t frequencies = onesided ? n_fft / 2 + 1 : n_fft;
  const double factor = normalized ? 1.0 / std::sqrt(static_cast<double>(n_fft)) : 1.0;
  const TensorPtr waves = JUST(Waves(x->dtype(), n_fft, frequencies, factor));
  const TensorPtr spectrum = JUST(matmul(frames, waves, false, false, 1.0));
  const Dims split{x->shape()[0], frames->shape()[1], frequencies, 2};
  const TensorPtr out = JUST(transpose(JUST(reshape(spectrum, split)), 1, 2));
  return input->ndim() == 2 ? Maybe<TensorPtr>(out) : squeeze(out, Dims{0});
}

}  // namespace oneflow::functional::composites
