#include "oneflow/core/placement.h"

#include <algorithm>
#include <charconv>

#include "oneflow/core/shape.h"

namespace oneflow {

namespace {

// Reads "[[0, 1], [2, 3]]" into ranks and the sizes of the grid. Fails on ragged lists.
class GridReader {
 public:
  explicit GridReader(std::string_view text) : rest_(text) {}

  bool Read(std::vector<int64_t>* ranks, Dims* grid) {
    ranks_ = ranks;
    grid_ = grid;
    return ReadList(0) && Skip() && rest_.empty();
  }

 private:
  bool Skip() {
    while (!rest_.empty() && rest_.front() == ' ') { rest_.remove_prefix(1); }
    return true;
  }
  bool Eat(char c) {
    Skip();
    if (rest_.empty() || rest_.front() != c) { return false; }
    rest_.remove_prefix(1);
    return true;
  }
  bool ReadItem(int depth) {
    Skip();
    if (!rest_.empty() && rest_.front() == '[') { return ReadList(depth); }
    if (depth_of_ranks_ == 0) { depth_of_ranks_ = depth; }
    int64_t rank = -1;
    const auto parsed = std::from_chars(rest_.data(), rest_.data() + rest_.size(), rank);
    if (parsed.ec != std::errc() || depth != depth_of_ranks_) { return false; }
    rest_.remove_prefix(static_cast<size_t>(parsed.ptr - rest_.data()));
    ranks_->push_back(rank);
    return true;
  }
  bool ReadList(int depth) {
    if (depth >= kMaxDims || !Eat('[')) { return false; }
    int64_t items = 0;
    do {
      if (!ReadItem(depth + 1)) { return false; }
      ++items;
    } while (Eat(','));
    while (grid_->size() <= depth) { grid_->PushBack(0); }
    int64_t& size = (*grid_)[depth];
    if (size != 0 && size != items) { return false; }
    size = items;
    return Eat(']');
  }

  std::string_view rest_;
  std::vector<int64_t>* ranks_ = nullptr;
  Dims* grid_ = nullptr;
  int depth_of_ranks_ = 0;
};

void AppendGrid(const Placement& placement, int depth, int64_t* index, std::string* out) {
  if (depth == placement.grid().size()) {
    *out += std::to_string(placement.ranks()[static_cast<size_t>((*index)++)]);
    return;
  }
  *out += "[";
  for (int64_t i = 0; i < placement.grid()[depth]; ++i) {
    if (i > 0) { *out += ", "; }
    AppendGrid(placement, depth + 1, index, out);
  }
  *out += "]";
}

}  // namespace

Maybe<Placement> Placement::Make(DeviceType type, std::vector<int64_t> ranks, Dims grid) {
  for (int64_t size : grid) {
    if (size <= 0) { return ValueError("[placement] expects a grid without zeros, got {}", grid); }
  }
  const int64_t count = static_cast<int64_t>(ranks.size());
  if (grid.empty() || ElementCount(grid) != count) {
    return ValueError("[placement] expects a grid of {} ranks, got {}", count, grid);
  }
  std::vector<int64_t> sorted = ranks;
  std::sort(sorted.begin(), sorted.end());
  if (sorted.front() < 0) {
    return ValueError("[placement] expects ranks of at least 0, got {}", sorted.front());
  }
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    return ValueError("[placement] expects each rank once, got rank {} twice", *twice);
  }
  return Placement(type, std::move(ranks), std::move(grid));
}

Maybe<Placement> Placement::Make(DeviceType type, std::vector<int64_t> ranks) {
  const Dims grid{static_cast<int64_t>(ranks.size())};
  return Make(type, std::move(ranks), grid);
}

Maybe<Placement> Placement::Parse(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  std::vector<int64_t> ranks;
  Dims grid;
  if ((kind != "cpu" && kind != "cuda") || colon == std::string_view::npos ||
      !GridReader(text.substr(colon + 1)).Read(&ranks, &grid)) {
    return ValueError("[placement] expects text such as 'cpu:[0, 1]' or 'cuda:[[0, 1], [2, 3]]', "
                      "got '{}'",
                      text);
  }
  return Make(kind == "cpu" ? DeviceType::kCPU : DeviceType::kCUDA, std::move(ranks), grid);
}

int64_t Placement::IndexOf(int64_t rank) const {
  const auto found = std::find(ranks_.begin(), ranks_.end(), rank);
  return found == ranks_.end() ? -1 : found - ranks_.begin();
}

Dims Placement::Coordinates(int64_t index) const {
  Dims out(grid_.size(), 0);
  for (int i = grid_.size() - 1; i >= 0; --i) {
    out[i] = index % grid_[i];
    index /= grid_[i];
  }
  return out;
}

std::string Placement::ToString() const {
  std::string out = std::string(DeviceTypeName(type_)) + ":";
  int64_t index = 0;
  AppendGrid(*this, 0, &index, &out);
  return out;
}

}  // namespace oneflow
