// What the tests of kernels share: arrays in every layout, guarded against stray writes, and calls
// under every instruction set and number of threads.
//
// For tests only. Thread safety: none.
#ifndef ONEFLOW_KERNELS_CPU_KERNEL_TESTING_H_
#define ONEFLOW_KERNELS_CPU_KERNEL_TESTING_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "oneflow/core/dims.h"
#include "oneflow/kernels/cpu/isa.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {
namespace testing {

using Rng = std::mt19937_64;
int64_t Pick(Rng* rng, int64_t low, int64_t high);  // inclusive
bool OneIn(Rng* rng, int n);
DataType PickDtype(Rng* rng, const std::vector<DataType>& dtypes);

enum class Layout {
  kDense,
  kPermuted,   // dense memory, dimensions in another order
  kStepped,    // gaps between elements
  kRepeating,  // some strides are 0: inputs only
};

// An array with memory of its own, between guard bytes.
class HostArray {
 public:
  HostArray(DataType dtype, const Dims& shape);  // dense
  HostArray(DataType dtype, const Dims& shape, const Dims& strides);
  HostArray(const HostArray& other);
  HostArray& operator=(const HostArray&) = delete;

  ArrayView view() const;
  DataType dtype() const { return dtype_; }
  const Dims& shape() const { return shape_; }
  int64_t count() const;

  // Random values; with `special`, also NaN, infinities, zeros of both signs, extreme integers.
  void Fill(Rng* rng, bool special);
  double At(int64_t i) const;  // element number i, row-major
  void Set(int64_t i, double value);

  // False when a byte was written that belongs to no element.
  bool GuardsIntact() const;

 private:
  void MarkElements();
  int64_t OffsetAt(int64_t i) const;

  DataType dtype_;
  Dims shape_;
  Dims strides_;
  std::vector<unsigned char> bytes_;
  std::vector<bool> is_element_;  // for each byte
};

HostArray RandomArray(Rng* rng, DataType dtype, const Dims& shape, Layout layout);
Layout PickLayout(Rng* rng, bool input);
// Mostly small, sometimes with a size 0 or 1, sometimes long enough for several chunks.
Dims RandomShape(Rng* rng, int min_ndim, int max_ndim);
// A shape that broadcasts to `shape`.
Dims ShapeThatBroadcasts(Rng* rng, const Dims& shape);

// "" when both hold the same values; else says where they differ. NaN equals NaN. With tolerance 0,
// numbers must be equal; else |got - want| <= tolerance * max(1, |want|).
std::string Difference(const HostArray& got, const HostArray& want, double tolerance);

// (N, C, H, W) as (N, C / 16, H, W, 16), and back.
HostArray InBlocks(const HostArray& plain);
HostArray OutOfBlocks(const HostArray& blocked);

using Arrays = std::vector<const HostArray*>;  // nullptr: an optional input that was not given

// nullptr, or the reason why the kernel refuses.
const char* Refusal(const char* kernel, const Arrays& inputs, const Arrays& outputs,
                    const void* attrs);
// Runs a kernel, with the scratch that it asks for.
Maybe<void> Call(const char* kernel, const Arrays& inputs, const Arrays& outputs, const void* attrs,
                 int threads = 1);

// A call that is made again and again: for benchmarks.
class PreparedCall {
 public:
  PreparedCall(const char* kernel, const Arrays& inputs, const Arrays& outputs, const void* attrs,
               int threads = 1);
  ~PreparedCall();
  PreparedCall(const PreparedCall&) = delete;
  PreparedCall& operator=(const PreparedCall&) = delete;

  // All that the engine does with a kernel: accept, cost, scratch, run.
  void Run();

 private:
  const Kernel* kernel_;
  std::vector<ArrayView> inputs_;
  std::vector<ArrayView> outputs_;
  KernelCall call_;
};

struct Config {
  Isa isa;
  int threads;
};
// Each instruction set of this machine with one thread, and the best with two.
std::vector<Config> AllConfigs();
// Uses an instruction set for its life.
class ScopedIsa {
 public:
  explicit ScopedIsa(Isa isa) : before_(CurrentIsa()) { SetIsa(isa); }
  ~ScopedIsa() { SetIsa(before_); }
  ScopedIsa(const ScopedIsa&) = delete;
  ScopedIsa& operator=(const ScopedIsa&) = delete;

 private:
  Isa before_;
};

// A kernel beside the reference of its op.
struct ReferenceCase {
  std::string op;
  Arrays in;
  std::vector<HostArray> blank;  // a result each, for its dtype and layout
  const void* attrs = nullptr;
  double tolerance = 0.0;
  std::string kernel = "vector";  // <op>.cpu.<kernel>
  bool same_bits = true;          // under each configuration
};
// "" when the kernel gives what the reference gives, under each configuration, and writes nothing
// else; else what differs. With `other` the reference is given those operands: for positive controls.
std::string AgainstReference(const ReferenceCase& c, const Arrays* other = nullptr);
// What a kernel for this dtype may be off by, in units of a result of order one.
double ToleranceFor(DataType dtype);

}  // namespace testing
}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_KERNEL_TESTING_H_
