// Generator: the state of a random number stream: a seed, and how many blocks were handed out.
//
// An op that draws takes a slot of blocks when it is issued (in program order), so results do not
// depend on when, where, or with how many threads it runs.
//
// Thread safety: all methods, by one mutex. Ownership: shared (IntrusivePtr).
#ifndef ONEFLOW_CORE_GENERATOR_H_
#define ONEFLOW_CORE_GENERATOR_H_

#include <cstdint>

#include "oneflow/common/intrusive_ptr.h"
#include "oneflow/common/mutex.h"

namespace oneflow {

// What a kernel needs to draw: blocks offset, offset + 1, ... of the stream `seed`.
struct RandomSlot {
  uint64_t seed = 0;
  uint64_t offset = 0;
};

class Generator : public RefCounted<Generator> {
 public:
  explicit Generator(uint64_t seed) : seed_(seed) {}

  uint64_t seed() const;
  uint64_t offset() const;
  void ManualSeed(uint64_t seed);
  void SetState(uint64_t seed, uint64_t offset);
  // Hands out `blocks` blocks.
  RandomSlot Reserve(uint64_t blocks);

 private:
  mutable Mutex mutex_;
  uint64_t seed_ GUARDED_BY(mutex_);
  uint64_t offset_ GUARDED_BY(mutex_) = 0;
};

using GeneratorPtr = IntrusivePtr<Generator>;

// The process's default generator. Its first seed comes from the system's entropy.
const GeneratorPtr& DefaultGenerator();

}  // namespace oneflow

#endif  // ONEFLOW_CORE_GENERATOR_H_
