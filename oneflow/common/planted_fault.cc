#include "oneflow/common/planted_fault.h"

namespace oneflow {

// Weak: planted_faults_testlib.cc has the others.
__attribute__((weak)) bool FaultPlanted(Fault) { return false; }

__attribute__((weak)) void DieIfPlanted(Fault, int) {}

__attribute__((weak)) Maybe<void> CheckPlantedFault() { return Ok(); }

}  // namespace oneflow
