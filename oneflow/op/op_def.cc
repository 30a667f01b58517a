#include "oneflow/op/op_def.h"

#include "oneflow/common/env_var.h"
#include "oneflow/common/log.h"
#include "oneflow/common/mutex.h"

namespace oneflow {

namespace {

Mutex resolve_mutex;

std::string DescribeOperands(const KernelCall& call) {
  std::string out;
  for (int i = 0; i < call.num_inputs; ++i) {
    const ArrayView& view = call.inputs[i];
    out += Format("{}{} {}", i == 0 ? "" : ", ", DataTypeName(view.dtype),
                  Dims(view.shape, view.ndim));
  }
  return out;
}

bool Verbose() {
  static const bool verbose = EnvBool("ONEFLOW_KERNEL_VERBOSE", false);
  return verbose;
}

}  // namespace

const OpDef::KernelList& OpDef::KernelsFor(DeviceType type) const {
  const int t = static_cast<int>(type);
  if (!is_resolved[t].load(std::memory_order_acquire)) {
    MutexLock lock(&resolve_mutex);
    if (!is_resolved[t].load(std::memory_order_relaxed)) {
      KernelList list;
      for (int i = 0; i < kMaxKernelsPerOp && kernel_names[t][i] != nullptr; ++i) {
        const Kernel* kernel = FindKernel(kernel_names[t][i]);
        if (kernel != nullptr) { list.kernels[list.count++] = kernel; }
      }
      resolved[t] = list;
      is_resolved[t].store(true, std::memory_order_release);
    }
  }
  return resolved[t];
}

Maybe<const Kernel*> ChooseKernel(const OpDef& def, DeviceType type, const KernelCall& call) {
  const OpDef::KernelList& list = def.KernelsFor(type);
  for (int i = 0; i < list.count; ++i) {
    const Kernel* kernel = list.kernels[i];
    const char* refusal = kernel->accepts == nullptr ? nullptr : kernel->accepts(call);
    if (__builtin_expect(refusal == nullptr, 1)) { return kernel; }
    if (Verbose()) {
      LogWarning("kernel {} refused ({}): {}", kernel->name, DescribeOperands(call), refusal);
    }
  }
  if (list.count == 0) {
    return NotImplementedError("[{}] has no {} kernel in this build", def.name,
                               DeviceTypeName(type));
  }
  std::string reasons;
  for (int i = 0; i < list.count; ++i) {
    const Kernel* kernel = list.kernels[i];
    reasons += Format("{}{}: {}", i == 0 ? "" : "; ", kernel->name, kernel->accepts(call));
  }
  return NotImplementedError("[{}] has no {} kernel for ({}): {}", def.name, DeviceTypeName(type),
                             DescribeOperands(call), reasons);
}

}  // namespace oneflow
