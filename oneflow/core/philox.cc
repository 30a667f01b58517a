#include "oneflow/core/philox.h"

#include "oneflow/core/philox_inline.h"

namespace oneflow {

PhiloxBlock Philox4x32(uint64_t key, uint64_t counter_low, uint64_t counter_high) {
  PhiloxBlock block{{static_cast<uint32_t>(counter_low), static_cast<uint32_t>(counter_low >> 32),
                     static_cast<uint32_t>(counter_high),
                     static_cast<uint32_t>(counter_high >> 32)}};
  philox::Rounds(static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32), &block.v[0],
                 &block.v[1], &block.v[2], &block.v[3]);
  return block;
}

void PhiloxNormal(const PhiloxBlock& block, double* x, double* y) {
  philox::Normal(block.v[0], block.v[1], block.v[2], block.v[3], x, y);
}

}  // namespace oneflow
