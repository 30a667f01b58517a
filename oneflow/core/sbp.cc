#include "oneflow/core/sbp.h"

#include <charconv>

namespace oneflow {

Maybe<Sbp> Sbp::Parse(std::string_view text) {
  if (text == "B" || text == "broadcast") { return Broadcast(); }
  if (text == "P" || text == "partial_sum") { return PartialSum(); }
  for (std::string_view head : {std::string_view("S("), std::string_view("split(")}) {
    if (text.substr(0, head.size()) != head || text.back() != ')') { continue; }
    const std::string_view digits = text.substr(head.size(), text.size() - head.size() - 1);
    int dim = -1;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), dim);
    if (parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size() && dim >= 0 &&
        dim < 16) {
      return Split(dim);
    }
  }
  return ValueError("[sbp] expects S(<dim>), B or P, got '{}'", text);
}

std::string Sbp::ToString() const {
  if (kind_ == Kind::kSplit) { return Format("S({})", static_cast<int>(dim_)); }
  return kind_ == Kind::kBroadcast ? "B" : "P";
}

}  // namespace oneflow
