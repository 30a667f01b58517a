// Attributes of the ops that draw, beside normal and uniform (attrs.h).
//
// Element i of a result is number i % 2 of block offset + i / 2, unless the struct says otherwise.
// Thread safety: plain values, copied by memcpy.
#ifndef ONEFLOW_KERNELS_ATTRS_RANDOM_H_
#define ONEFLOW_KERNELS_ATTRS_RANDOM_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "oneflow/core/dtype.h"
#include "oneflow/core/generator.h"
#include "oneflow/kernels/attr_types.h"

namespace oneflow {

// Integers of [low, low + range); a range of 0 means 2^64.
struct RandintAttrs {
  int64_t low = 0;
  uint64_t range = 1;
  RandomSlot slot;
};
struct RandintOpAttrs {
  RandintAttrs kernel;
  IntList shape;
};

// 1 with the probability that the operand's element, or `p` where that is given, says.
struct BernoulliAttrs {
  double p = 0.0;
  bool has_p = false;
  RandomSlot slot;
};

struct BernoulliOpAttrs {
  BernoulliAttrs kernel;
  DataType dtype = DataType::kFloat;
};

// Exponential with this rate.
struct ExponentialAttrs {
  double rate = 1.0;
  RandomSlot slot;
};
struct ExponentialOpAttrs {
  ExponentialAttrs kernel;
  IntList shape;
};

// 0 ... n - 1, shuffled: element i is exchanged with one after it, number i % 2 of block i / 2.
struct RandpermAttrs {
  RandomSlot slot;
};
struct RandpermOpAttrs {
  RandpermAttrs kernel;
  int64_t n = 0;
};

// Rows of the operand are weights of categories. Row r draws from sub-stream r + 1 of the blocks.
struct MultinomialAttrs {
  int64_t num_samples = 1;
  bool replacement = false;
  RandomSlot slot;
};

static_assert(offsetof(RandintOpAttrs, kernel) == 0 && offsetof(BernoulliOpAttrs, kernel) == 0 &&
                  offsetof(ExponentialOpAttrs, kernel) == 0 &&
                  offsetof(RandpermOpAttrs, kernel) == 0,
              "a kernel reads its own struct at the start");
static_assert(std::is_trivially_copyable_v<RandintOpAttrs> &&
                  std::is_trivially_copyable_v<BernoulliOpAttrs> &&
                  std::is_trivially_copyable_v<ExponentialOpAttrs> &&
                  std::is_trivially_copyable_v<RandpermOpAttrs> &&
                  std::is_trivially_copyable_v<MultinomialAttrs>,
              "an instruction copies attributes by memcpy");

}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_ATTRS_RANDOM_H_
