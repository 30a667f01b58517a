#include "oneflow/core/generator.h"

#include <random>

namespace oneflow {

uint64_t Generator::seed() const {
  MutexLock lock(&mutex_);
  return seed_;
}

uint64_t Generator::offset() const {
  MutexLock lock(&mutex_);
  return offset_;
}

void Generator::ManualSeed(uint64_t seed) { SetState(seed, 0); }

void Generator::SetState(uint64_t seed, uint64_t offset) {
  MutexLock lock(&mutex_);
  seed_ = seed;
  offset_ = offset;
}

RandomSlot Generator::Reserve(uint64_t blocks) {
  MutexLock lock(&mutex_);
  const RandomSlot slot{seed_, offset_};
  offset_ += blocks;
  return slot;
}

const GeneratorPtr& DefaultGenerator() {
  // Leaked: ops may still draw while the process exits.
  static const GeneratorPtr* generator = [] {
    std::random_device entropy;
    const uint64_t high = entropy();
    return new GeneratorPtr(MakeIntrusive<Generator>((high << 32) | entropy()));
  }();
  return *generator;
}

}  // namespace oneflow
