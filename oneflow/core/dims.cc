#include "oneflow/core/dims.h"

namespace oneflow {

std::string Dims::ToString() const {
  std::string out = "(";
  for (int i = 0; i < size_; ++i) {
    if (i > 0) { out += ", "; }
    out += std::to_string(data()[i]);
  }
  out += size_ == 1 ? ",)" : ")";
  return out;
}

}  // namespace oneflow
