#include "oneflow/common/format.h"

#include <fmt/args.h>
#include <fmt/format.h>

namespace oneflow {
namespace format_detail {

std::string FormatArgs(std::string_view pattern, const Arg* args, size_t count) {
  fmt::dynamic_format_arg_store<fmt::format_context> store;
  for (size_t i = 0; i < count; ++i) {
    switch (args[i].kind) {
      case Arg::Kind::kInt: store.push_back(args[i].i); break;
      case Arg::Kind::kUint: store.push_back(args[i].u); break;
      case Arg::Kind::kDouble: store.push_back(args[i].d); break;
      case Arg::Kind::kString: store.push_back(args[i].s); break;
      case Arg::Kind::kPointer: store.push_back(args[i].p); break;
    }
  }
  // {fmt} reports a broken pattern by an exception; here it becomes text (see the header).
  try {
    return fmt::vformat(fmt::string_view(pattern.data(), pattern.size()), store);
  } catch (const fmt::format_error& e) {
    return std::string(pattern) + " (bad format: " + e.what() + ")";
  }
}

}  // namespace format_detail
}  // namespace oneflow
