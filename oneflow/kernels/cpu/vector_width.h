// The width of one vector register of the instruction set that a file is compiled for.
//
// For loops written with the compiler's vector types: wider ones than the registers would go
// through memory. Included only by files that of_isa_kernels() compiles: in an unnamed namespace.
#ifndef ONEFLOW_KERNELS_CPU_VECTOR_WIDTH_H_
#define ONEFLOW_KERNELS_CPU_VECTOR_WIDTH_H_

namespace oneflow {
namespace cpu {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <typename T>
constexpr int kVectorLanes = kVectorBytes / static_cast<int>(sizeof(T));

}  // namespace
}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_VECTOR_WIDTH_H_
