// Where planted faults are asked for: a C++ test calls PlantFault(); the extension module that is
// linked with this library reads ONEFLOW_PLANTED_FAULT, the name of one fault, once.
//
// Thread safety: PlantFault() from any thread; a fault takes effect where it is asked for next.
#ifndef ONEFLOW_COMMON_PLANTED_FAULTS_TESTLIB_H_
#define ONEFLOW_COMMON_PLANTED_FAULTS_TESTLIB_H_

#include "oneflow/common/planted_fault.h"

namespace oneflow {

// Replaces the one that was planted before; kNone: all is well again.
void PlantFault(Fault fault);

// "kernel_error_escapes"; "none".
const char* FaultName(Fault fault);

// Planted for the life of the object.
class ScopedFault {
 public:
  explicit ScopedFault(Fault fault) { PlantFault(fault); }
  ~ScopedFault() { PlantFault(Fault::kNone); }
  ScopedFault(const ScopedFault&) = delete;
  ScopedFault& operator=(const ScopedFault&) = delete;
};

}  // namespace oneflow

#endif  // ONEFLOW_COMMON_PLANTED_FAULTS_TESTLIB_H_
