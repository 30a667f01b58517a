// Placement: on which processes, and on which kind of device, a global tensor lives.
//
// The ranks form a grid of any number of dimensions: 4 ranks as (4,), or 2 x 2 as (2, 2); an Sbp is
// given for each dimension of the grid. Ranks are in row-major order.
// Source: Yuan et al., "OneFlow: Redesign the Distributed Deep Learning Framework from Scratch",
// arXiv:2110.15032, section 3.
//
// Thread safety: plain value.
#ifndef ONEFLOW_CORE_PLACEMENT_H_
#define ONEFLOW_CORE_PLACEMENT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "oneflow/common/maybe.h"
#include "oneflow/core/device.h"
#include "oneflow/core/dims.h"

namespace oneflow {

class Placement {
 public:
  // ValueError when the grid does not hold exactly these ranks, a rank is negative or occurs twice.
  static Maybe<Placement> Make(DeviceType type, std::vector<int64_t> ranks, Dims grid);
  // A grid of one dimension.
  static Maybe<Placement> Make(DeviceType type, std::vector<int64_t> ranks);
  // Reads what ToString() writes, nested lists of any depth: "cpu:[0, 1]", "cuda:[[0, 1], [2, 3]]".
  static Maybe<Placement> Parse(std::string_view text);

  DeviceType type() const { return type_; }
  const Dims& grid() const { return grid_; }
  const std::vector<int64_t>& ranks() const { return ranks_; }
  // Position of `rank` in row-major order; -1 when it takes no part.
  int64_t IndexOf(int64_t rank) const;
  // Coordinates in the grid of the process at `index`. REQUIRES 0 <= index < ranks().size().
  Dims Coordinates(int64_t index) const;
  std::string ToString() const;

  friend bool operator==(const Placement& a, const Placement& b) {
    return a.type_ == b.type_ && a.grid_ == b.grid_ && a.ranks_ == b.ranks_;
  }
  friend bool operator!=(const Placement& a, const Placement& b) { return !(a == b); }

 private:
  Placement(DeviceType type, std::vector<int64_t> ranks, Dims grid)
      : type_(type), ranks_(std::move(ranks)), grid_(std::move(grid)) {}

  DeviceType type_;
  std::vector<int64_t> ranks_;
  Dims grid_;
};

}  // namespace oneflow

#endif  // ONEFLOW_CORE_PLACEMENT_H_
