// A kernel in three copies, as of_isa_kernels() makes them.
#ifndef ONEFLOW_BUILD_DEFS_ISA_EXAMPLE_H_
#define ONEFLOW_BUILD_DEFS_ISA_EXAMPLE_H_

namespace oneflow {

namespace baseline {
const char* Compiled();
}  // namespace baseline

namespace avx2 {
const char* Compiled();
}  // namespace avx2

namespace avx512 {
const char* Compiled();
}  // namespace avx512

}  // namespace oneflow

#endif  // ONEFLOW_BUILD_DEFS_ISA_EXAMPLE_H_
