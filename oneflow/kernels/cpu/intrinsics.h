// The compiler's functions for single instructions, without its warnings about them: gcc's begin with a vector that is
// undefined, and warn of it where they are inlined. To be included before any other header that has them.
//
// Thread safety: pure functions.
#ifndef ONEFLOW_KERNELS_CPU_INTRINSICS_H_
#define ONEFLOW_KERNELS_CPU_INTRINSICS_H_

#if defined(__x86_64__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif

#endif  // ONEFLOW_KERNELS_CPU_INTRINSICS_H_
