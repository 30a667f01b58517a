#include "oneflow/kernels/kernel.h"

#include <cstring>
#include <map>
#include <string>

namespace oneflow {

namespace {
// A function-local static, because registrars run during static initialisation in any order.
// Leaked: kernels are looked up until the process ends.
std::map<std::string, Kernel>& Table() {
  static auto* table = new std::map<std::string, Kernel>();
  return *table;
}
}  // namespace

const Kernel* FindKernel(const char* name) {
  const auto found = Table().find(name);
  return found == Table().end() ? nullptr : &found->second;
}

KernelRegistrar::KernelRegistrar(const Kernel& kernel) { Table().emplace(kernel.name, kernel); }

}  // namespace oneflow
