// OpDef: what an op is, apart from how it is computed: its operands, its rule for shapes, dtypes
// and SBP, and which kernels serve it. One constant for each row of the op table, generated.
//
// Thread safety: constants. KernelsFor() resolves names on first use, and is safe to race.
#ifndef ONEFLOW_OP_OP_DEF_H_
#define ONEFLOW_OP_OP_DEF_H_

#include <atomic>
#include <cstddef>

#include "oneflow/common/maybe.h"
#include "oneflow/core/sbp.h"
#include "oneflow/core/tensor_meta.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {

inline constexpr int kMaxOpOutputs = 8;
inline constexpr int kMaxKernelsPerOp = 8;

struct InferContext {
  const char* op;                   // for messages: `[op] expects ...`
  const TensorMeta* const* inputs;  // an optional input that was not given is nullptr
  int num_inputs;
  const void* attrs;

  template <typename Attrs>
  const Attrs& GetAttrs() const {
    return *static_cast<const Attrs*>(attrs);
  }
};

// Checks shapes, dtypes and attributes and fills in the outputs: shape, dtype, device, and for a
// view also strides and offset. For all others the dispatcher makes the outputs dense.
// On entry each output has the device and dtype of the first input (cpu:0, float32 without inputs).
using InferFn = Maybe<void> (*)(const InferContext& context, TensorMeta* outputs);

// How operands may be split over ranks; see core/sbp.h. Part of a row since the first day, used
// when global tensors arrive.
using SbpFn = Maybe<void> (*)(const InferContext& context, SbpSignatureList* out);

// What an in-place target holds after its op failed.
enum class InplaceFailure : uint8_t {
  kNoInplace,   // the op has no in-place form
  kKeepsValue,  // the target keeps its old value; the error goes to the next sync
  kSkips,       // an accumulation or update (gradients, optimizer steps): skipped, nothing poisoned
};

struct OpDef {
  const char* name;
  int num_inputs;   // -1 - n: n tensors, then a list of any length
  int num_outputs;  // -1: in place on lists
  InferFn infer;
  SbpFn sbp;
  size_t attrs_size;
  // Byte offset in the attributes of a RandomSlot that the dispatcher fills in; -1: draws nothing.
  int random_slot;
  bool is_view;   // outputs share the storage of input 0; no kernel runs
  bool promotes;  // inputs of different dtypes are cast to their PromoteTypes first
  bool syncs;     // the output's shape depends on data
  InplaceFailure inplace_failure;
  const char* kernel_names[kNumDeviceTypes][kMaxKernelsPerOp];  // best first, ended by nullptr

  struct KernelList {
    const Kernel* kernels[kMaxKernelsPerOp] = {};
    int count = 0;
  };
  const KernelList& KernelsFor(DeviceType type) const;

  // Where among the operands the list begins. All of it has this one bit in masks of operands.
  int ListAt() const { return num_inputs < 0 ? -1 - num_inputs : 31; }

  mutable KernelList resolved[kNumDeviceTypes];
  mutable std::atomic<bool> is_resolved[kNumDeviceTypes];
};

// The first kernel of `def` for the device type that accepts the call. RuntimeError-family error
// naming each refusal when none does (NotImplementedError when there is none for the device).
Maybe<const Kernel*> ChooseKernel(const OpDef& def, DeviceType type, const KernelCall& call);

}  // namespace oneflow

#endif  // ONEFLOW_OP_OP_DEF_H_
