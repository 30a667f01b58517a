#include "oneflow/common/planted_faults_testlib.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <string>

#include "oneflow/common/env_var.h"
#include "oneflow/common/format.h"

namespace oneflow {

namespace {

struct Known {
  Fault fault;
  const char* name;
};

constexpr Known kKnown[] = {{Fault::kNone, "none"},
#define ONEFLOW_FAULT_ROW_(enumerator, name) {Fault::enumerator, name},
                            ONEFLOW_PLANTED_FAULTS(ONEFLOW_FAULT_ROW_)
#undef ONEFLOW_FAULT_ROW_
};

std::string Wanted() { return EnvString("ONEFLOW_PLANTED_FAULT", "none"); }

const Known* Find(const std::string& name) {
  for (const Known& known : kKnown) {
    if (name == known.name) { return &known; }
  }
  return nullptr;
}

// The environment is read when the first question comes.
std::atomic<Fault>& Planted() {
  static std::atomic<Fault> planted{[] {
    const Known* known = Find(Wanted());
    return known == nullptr ? Fault::kNone : known->fault;
  }()};
  return planted;
}

// For tests of what watches over these calls: each is made at once, from this library's code.
void EndAtOnce(Fault fault) {
  switch (fault) {
    case Fault::kCallsAbort: std::abort();
    case Fault::kCallsExit: std::exit(7);
    case Fault::kCallsUnderscoreExit: ::_exit(7);
    case Fault::kCallsQuickExit: std::quick_exit(7);
    case Fault::kCallsTerminate: std::terminate();
    default: return;
  }
}

}  // namespace

bool FaultPlanted(Fault fault) { return Planted().load(std::memory_order_relaxed) == fault; }

void DieIfPlanted(Fault fault, int signal) {
  if (!FaultPlanted(fault)) { return; }
  if (signal == SIGABRT) { std::abort(); }
  std::raise(signal);
}

Maybe<void> CheckPlantedFault() {
  const std::string name = Wanted();
  if (Find(name) != nullptr) {
    EndAtOnce(Planted().load());
    return Ok();
  }
  std::string names;
  for (const Known& known : kKnown) {
    names += Format("{}{}", names.empty() ? "" : ", ", known.name);
  }
  return ValueError("ONEFLOW_PLANTED_FAULT expects one of {}, got {}", names, name);
}

void PlantFault(Fault fault) { Planted().store(fault); }

const char* FaultName(Fault fault) { return kKnown[static_cast<int>(fault)].name; }

}  // namespace oneflow
