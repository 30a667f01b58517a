// MemoryCalls: counts the calls by which a test's process takes memory or gives it back. Counted by
// interposition: a test that links this library has its malloc, mmap, brk and their like in the place
// of libc's, for itself and for every shared library.
//
// Thread safety: Begin() and End() by one thread at a time; calls of all threads are counted between.
// Not for sanitizers, which have a malloc of their own.
#ifndef ONEFLOW_COMMON_MEMORY_CALLS_TESTLIB_H_
#define ONEFLOW_COMMON_MEMORY_CALLS_TESTLIB_H_

#include <cstdint>
#include <string>

namespace oneflow {

struct MemoryCalls {
  int64_t here = 0;  // malloc, calloc, realloc, aligned ones: by the thread that called Begin()
  int64_t elsewhere = 0;  // by other threads
  int64_t excused = 0;    // of either, from within the excused library
  // mmap, munmap, mremap, brk, sbrk, by whom ever: called, or seen to have happened inside malloc.
  int64_t system = 0;
  // Who made the first call that counts as `elsewhere`, or `system`: addresses, for addr2line.
  std::string first;

  // Counts from here on. `excused`: a part of the path of the shared library whose calls are counted
  // apart, by where they come from.
  static void Begin(const char* excused);
  static MemoryCalls End();
};

}  // namespace oneflow

#endif  // ONEFLOW_COMMON_MEMORY_CALLS_TESTLIB_H_
