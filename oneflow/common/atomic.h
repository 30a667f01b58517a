// Atomic<T>: std::atomic<T>, for everything that two threads hand over by it.
//
// In a build for the exhaustive scheduler (ONEFLOW_MODEL_CHECK, see common/interleave) it is a class
// whose every access is a scheduling point. Counters that order nothing may stay std::atomic.
#ifndef ONEFLOW_COMMON_ATOMIC_H_
#define ONEFLOW_COMMON_ATOMIC_H_

#include <atomic>

#ifdef ONEFLOW_MODEL_CHECK
#include "oneflow/common/interleave/model_atomic.h"
#endif

namespace oneflow {

#ifdef ONEFLOW_MODEL_CHECK
template <typename T>
using Atomic = interleave::ModelAtomic<T>;
#else
template <typename T>
using Atomic = std::atomic<T>;
#endif

}  // namespace oneflow

#endif  // ONEFLOW_COMMON_ATOMIC_H_
