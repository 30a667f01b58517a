// Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel random
// numbers: as easy as 1, 2, 3" (SC 2011), and what tensors are filled with.
//
// Block b of a stream (key, offset) is a pure function of (key, offset + b): any number of threads,
// in any order, on any machine, produces the same numbers. All arithmetic that turns bits into
// floating-point numbers is plain IEEE multiply and add in double (no fused operations: the build
// says -ffp-contract=off), with our own log and cosine, so it does not depend on the instruction
// set or on libm.
//
// Thread safety: pure functions.
#ifndef ONEFLOW_CORE_PHILOX_H_
#define ONEFLOW_CORE_PHILOX_H_

#include <cstdint>

namespace oneflow {

struct PhiloxBlock {
  uint32_t v[4];
};

// The ten rounds. `counter` is 128 bits wide: low = block number, high = sub-stream.
PhiloxBlock Philox4x32(uint64_t key, uint64_t counter_low, uint64_t counter_high);

// [0, 1) with 53 random bits, from two words.
inline double PhiloxUniform(uint32_t a, uint32_t b) {
  return static_cast<double>(((static_cast<uint64_t>(a) << 32) | b) >> 11) * 0x1.0p-53;
}

// Two independent standard normal numbers from one block (Box and Muller 1958), tails to 8.5 sigma.
void PhiloxNormal(const PhiloxBlock& block, double* x, double* y);

}  // namespace oneflow

#endif  // ONEFLOW_CORE_PHILOX_H_
