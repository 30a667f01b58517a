// Signals over time, written in other ops. See composites.h.
//
// Thread safety: as functional calls.
#ifndef ONEFLOW_FUNCTIONAL_COMPOSITES_SIGNAL_H_
#define ONEFLOW_FUNCTIONAL_COMPOSITES_SIGNAL_H_

#include <optional>
#include <string>

#include "oneflow/common/maybe.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow::functional::composites {

// composites_signal.cc: by a product with the waves of the transform, so that it costs n_fft
// multiplications for each number of a frame.
Maybe<TensorPtr> Stft(const TensorPtr& input, int64_t n_fft, std::optional<int64_t> hop_length,
                      std::optional<int64_t> win_length, const TensorPtr& window, bool center,
                      const std::string& pad_mode, bool normalized, bool onesided,
                      bool return_complex);

}  // namespace oneflow::functional::composites

#endif  // ONEFLOW_FUNCTIONAL_COMPOSITES_SIGNAL_H_
