#include "oneflow/comm/rendezvous.h"

#include <charconv>
#include <cstdlib>

#include "oneflow/common/env_var.h"

namespace oneflow {
namespace comm {

namespace {

constexpr const char* kVariables[] = {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR",
                                      "MASTER_PORT"};

// Comma-separated names of the variables that are, or are not, set.
std::string Names(bool set) {
  std::string out;
  for (const char* name : kVariables) {
    if (EnvString(name, "").empty() == set) { continue; }
    out += (out.empty() ? "" : ", ") + std::string(name);
  }
  return out;
}

Maybe<int64_t> ReadNumber(const char* name, int64_t low, int64_t high) {
  const std::string text = EnvString(name, "");
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || value < low || value > high) {
    return ValueError("[rendezvous] expects {} to be a whole number from {} to {}, got '{}'", name,
                      low, high, text);
  }
  return value;
}

}  // namespace

Maybe<Rendezvous> ReadRendezvous() {
  Rendezvous out;
  const std::string set = Names(true);
  // MASTER_ADDR and MASTER_PORT alone say nothing about ranks: shells of clusters export them.
  if (EnvString("RANK", "").empty() && EnvString("WORLD_SIZE", "").empty()) { return out; }
  if (EnvString("WORLD_SIZE", "").empty()) {
    return ValueError("[rendezvous] expects {} beside {}", Names(false), set);
  }
  constexpr int64_t kMaxRanks = 1 << 20;
  out.world_size = JUST(ReadNumber("WORLD_SIZE", 1, kMaxRanks));
  if (out.world_size == 1) {
    if (!EnvString("RANK", "").empty()) { JUST(ReadNumber("RANK", 0, 0)); }
    return out;
  }
  const std::string missing = Names(false);
  if (!missing.empty()) {
    return ValueError("[rendezvous] expects {} beside {}; `python -m oneflow.distributed.launch` "
                      "sets them all",
                      missing, set);
  }
  out.rank = JUST(ReadNumber("RANK", 0, out.world_size - 1));
  out.local_rank = JUST(ReadNumber("LOCAL_RANK", 0, out.rank));
  out.master_addr = EnvString("MASTER_ADDR", "");
  out.master_port = static_cast<int>(JUST(ReadNumber("MASTER_PORT", 1, 65535)));
  return out;
}

}  // namespace comm
}  // namespace oneflow
