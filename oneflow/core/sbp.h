// SBP: how a global tensor lies over the ranks of a placement: split along a dimension, broadcast
// to all, or partial (values that must be added up).
// Source: Yuan et al., "OneFlow: Redesign the Distributed Deep Learning Framework from Scratch",
// arXiv:2110.15032, section 3.
//
// Thread safety: plain values.
#ifndef ONEFLOW_CORE_SBP_H_
#define ONEFLOW_CORE_SBP_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "oneflow/common/maybe.h"

namespace oneflow {

class Sbp {
 public:
  enum class Kind : uint8_t { kSplit, kBroadcast, kPartialSum };

  static Sbp Split(int dim) { return Sbp(Kind::kSplit, dim); }
  static Sbp Broadcast() { return Sbp(Kind::kBroadcast, -1); }
  static Sbp PartialSum() { return Sbp(Kind::kPartialSum, -1); }
  // Reads "S(0)", "split(0)", "B", "broadcast", "P", "partial_sum". ValueError otherwise.
  static Maybe<Sbp> Parse(std::string_view text);

  Kind kind() const { return kind_; }
  int dim() const { return dim_; }  // -1 unless split
  std::string ToString() const;     // "S(0)", "B", "P"

  friend bool operator==(Sbp a, Sbp b) { return a.kind_ == b.kind_ && a.dim_ == b.dim_; }
  friend bool operator!=(Sbp a, Sbp b) { return !(a == b); }

 private:
  Sbp(Kind kind, int dim) : kind_(kind), dim_(static_cast<int8_t>(dim)) {}
  Kind kind_;
  int8_t dim_;
};

// One way to run an op on one dimension of the rank grid: an Sbp for each input and output.
struct SbpSignature {
  std::vector<Sbp> inputs;
  std::vector<Sbp> outputs;
};
using SbpSignatureList = std::vector<SbpSignature>;

}  // namespace oneflow

#endif  // ONEFLOW_CORE_SBP_H_
