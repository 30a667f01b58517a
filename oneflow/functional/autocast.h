// Autocast: ops of a thread get their floating operands in another dtype, where the op is on a list.
//
// Two lists of ops, by name: those that are fast in a short dtype (products), and those that want
// float32 (norms, softmax, losses). Other ops take what comes. Casts are recorded like any op, so that
// gradients come back in the dtype of the parameters.
//
// Thread safety: the state is the thread's; one atomic counts the threads that have it on, so that
// dispatch asks nothing else where none has.
#ifndef ONEFLOW_FUNCTIONAL_AUTOCAST_H_
#define ONEFLOW_FUNCTIONAL_AUTOCAST_H_

#include <atomic>

#include "oneflow/common/maybe.h"
#include "oneflow/core/device.h"
#include "oneflow/core/dtype.h"
#include "oneflow/tensor/tensor.h"

namespace oneflow {

namespace autocast {

enum class Kind { kAsGiven, kShort, kFloat };

// What the lists say of an op.
Kind KindOf(const char* op);

inline std::atomic<int> threads_with_it_on{0};
inline bool MayBeOn() { return threads_with_it_on.load(std::memory_order_relaxed) != 0; }

// Of the calling thread.
bool Enabled();
void SetEnabled(bool enabled);
// The short dtype of each kind of device. REQUIRES a floating one.
DataType ShortDtype(DeviceType device);
void SetShortDtype(DeviceType device, DataType dtype);
// Whether the cast of a parameter is kept, for the next op that wants it.
bool CacheEnabled();
void SetCacheEnabled(bool enabled);
void ClearCache();

using CastFn = Maybe<TensorPtr> (*)(const TensorPtr& tensor, DataType dtype);
// Fills `replaced` with the operands as `op` should get them, or leaves it empty if they are so already.
Maybe<void> CastOperands(const char* op, const TensorPtr* operands, int count, CastFn cast,
                         TensorTuple* replaced);

// Off for the life of the object: gradients have the dtypes of what was computed.
class Pause {
 public:
  explicit Pause(bool pauses = true);
  ~Pause();
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;

 private:
  bool was_on_ = false;
};

}  // namespace autocast

}  // namespace oneflow

#endif  // ONEFLOW_FUNCTIONAL_AUTOCAST_H_
