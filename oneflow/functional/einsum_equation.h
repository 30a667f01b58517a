// EinsumEquation: an einsum equation, taken apart.
//
// A label is a small number: 0 to 51 for letters (A to Z, then a to z, which is the order of an
// implicit result), and from kFirstEllipsisLabel on for the dims that `...` stands for, the last of
// which has the highest number, so that ellipses of several lengths meet at their ends.
// Thread safety: a value; pure functions.
#ifndef ONEFLOW_FUNCTIONAL_EINSUM_EQUATION_H_
#define ONEFLOW_FUNCTIONAL_EINSUM_EQUATION_H_

#include <string>
#include <vector>

#include "oneflow/common/maybe.h"
#include "oneflow/core/dims.h"

namespace oneflow::functional {

inline constexpr int kFirstEllipsisLabel = 52;

struct EinsumEquation {
  std::vector<std::vector<int>> operands;  // for each operand the label of each dim
  std::vector<int> result;
};

// RuntimeError for an equation that is none, or does not fit operands of these shapes.
Maybe<EinsumEquation> ParseEinsum(const std::string& equation, const std::vector<Dims>& shapes);

}  // namespace oneflow::functional

#endif  // ONEFLOW_FUNCTIONAL_EINSUM_EQUATION_H_
