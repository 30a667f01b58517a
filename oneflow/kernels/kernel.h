// Kernel: the computation of an op on one kind of device, and the registry of them.
//
// A kernel sees pointers, shapes, attributes and a stream: never a tensor, the vm, or Python. It
// allocates nothing that lives on (scratch is the caller's) and returns a failure as an Error.
// Everything that can be checked from shapes and dtypes was checked when the op was issued; a kernel
// checks what depends on data (an index out of range), and does so before it writes when it runs in
// place.
//
// Thread safety: a kernel function is called by one thread at a time for each stream, by several
// for several streams; it has no state but caches that lock or are thread-local.
// Registration happens during static initialisation; look-ups after it need no lock.
#ifndef ONEFLOW_KERNELS_KERNEL_H_
#define ONEFLOW_KERNELS_KERNEL_H_

#include <cstddef>
#include <cstdint>

#include "oneflow/common/maybe.h"
#include "oneflow/core/device.h"
#include "oneflow/core/dtype.h"
#include "oneflow/core/shape.h"

namespace oneflow {

// A strided array in memory. `data` points at element (0, ..., 0); strides count elements and are
// never negative. Borrowed: shape and strides live as long as the call.
// An optional input that was not given has `given == false` and nothing else set.
struct ArrayView {
  void* data = nullptr;
  const int64_t* shape = nullptr;
  const int64_t* strides = nullptr;
  int ndim = 0;
  DataType dtype = DataType::kFloat;
  bool contiguous = false;
  bool given = true;

  template <typename T>
  T* Data() const {
    return static_cast<T*>(data);
  }
  int64_t Count() const {
    int64_t n = 1;
    for (int i = 0; i < ndim; ++i) { n *= shape[i]; }
    return n;
  }
};

struct KernelCall {
  const ArrayView* inputs = nullptr;
  const ArrayView* outputs = nullptr;
  int num_inputs = 0;
  int num_outputs = 0;
  const void* attrs = nullptr;  // the op's attribute struct (kernels/attrs.h)
  void* scratch = nullptr;      // as many bytes as the kernel's scratch function asked for
  size_t scratch_bytes = 0;
  void* native_stream = nullptr;  // cudaStream_t on CUDA
  int threads = 1;                // how many threads the kernel may use (see device/cpu/parallel.h)

  template <typename Attrs>
  const Attrs& GetAttrs() const {
    return *static_cast<const Attrs*>(attrs);
  }
  bool HasInput(int i) const { return i < num_inputs && inputs[i].given; }
};

// An output is either the very array of an input (same data, shape and strides: in place) or shares
// no byte with any input. Inputs of elementwise ops need not have the output's shape, only one that
// broadcasts to it.
using KernelFn = Maybe<void> (*)(const KernelCall& call);
// May this kernel serve the call? Sees dtypes, shapes, strides, attributes; data pointers are null.
// A refusal gives a short reason, shown in verbose mode (ONEFLOW_KERNEL_VERBOSE=1) and in the error
// when no kernel is left. nullptr: yes.
using KernelAcceptFn = const char* (*)(const KernelCall& call);
// Estimated serial time in nanoseconds.
using KernelCostFn = double (*)(const KernelCall& call);
// Bytes of scratch, aligned to 64; sees `threads` as the run will.
using KernelScratchFn = size_t (*)(const KernelCall& call);

struct Kernel {
  const char* name;  // "add.cpu.vector"; unique
  KernelFn run;
  KernelAcceptFn accepts = nullptr;   // nullptr: accepts everything
  KernelCostFn cost = nullptr;        // nullptr: kDefaultCostPerElementNs for each output element
  KernelScratchFn scratch = nullptr;  // nullptr: none
};

// Found by name, as the op table lists them; nullptr when this build has none.
const Kernel* FindKernel(const char* name);

class KernelRegistrar {
 public:
  explicit KernelRegistrar(const Kernel& kernel);
};

// At namespace scope in a kernel file:
//   ONEFLOW_REGISTER_KERNEL(add_vector, {"add.cpu.vector", &RunAdd});
#define ONEFLOW_REGISTER_KERNEL(id, ...) \
  static const ::oneflow::KernelRegistrar kernel_registrar_##id(::oneflow::Kernel __VA_ARGS__)

}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_KERNEL_H_
