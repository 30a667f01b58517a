#include "oneflow/common/memory_calls_testlib.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

// glibc's own, under names that nobody else takes.
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* old, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
}

namespace oneflow {
namespace {

constexpr int kDepth = 32;

std::atomic<bool> counting{false};
std::atomic<int64_t> calls_here{0};
std::atomic<int64_t> calls_elsewhere{0};
std::atomic<int64_t> calls_excused{0};
std::atomic<int64_t> system_calls{0};
const char* excused_library = "";
thread_local bool is_caller = false;
thread_local bool looking = false;  // what looking itself takes does not count
void* first_frames[kDepth];
std::atomic<int> num_first{0};
void* break_before = nullptr;
size_t maps_before = 0;

// Where the program's break is, without moving it.
void* Break() { return reinterpret_cast<void*>(::syscall(SYS_brk, 0)); }

void Note(std::atomic<int64_t>* count, void* const* frames, int n) {
  count->fetch_add(1);
  int none = 0;
  if (count == &calls_here || count == &calls_excused ||
      !num_first.compare_exchange_strong(none, n)) {
    return;
  }
  std::memcpy(first_frames, frames, sizeof(void*) * static_cast<size_t>(n));
}

bool IsExcused(void* const* frames, int n) {
  for (int i = 0; i < n; ++i) {
    Dl_info info{};
    if (::dladdr(frames[i], &info) != 0 && info.dli_fname != nullptr &&
        std::strstr(info.dli_fname, excused_library) != nullptr) {
      return true;
    }
  }
  return false;
}

void NoteMalloc() {
  if (!counting.load(std::memory_order_relaxed) || looking) { return; }
  looking = true;
  void* frames[kDepth];
  const int n = ::backtrace(frames, kDepth);
  Note(IsExcused(frames, n) ? &calls_excused
       : is_caller          ? &calls_here
                            : &calls_elsewhere,
       frames, n);
  looking = false;
}

void NoteSystem() {
  if (!counting.load(std::memory_order_relaxed) || looking) { return; }
  looking = true;
  void* frames[kDepth];
  const int n = ::backtrace(frames, kDepth);
  Note(&system_calls, frames, n);
  looking = false;
}

}  // namespace

void MemoryCalls::Begin(const char* library) {
  void* frame = nullptr;
  ::backtrace(&frame, 1);  // loads what it needs
  excused_library = library;
  is_caller = true;
  for (std::atomic<int64_t>* count :
       {&calls_here, &calls_elsewhere, &calls_excused, &system_calls}) {
    count->store(0);
  }
  num_first.store(0);
  break_before = Break();
  maps_before = ::mallinfo2().hblks;
  counting.store(true);
}

MemoryCalls MemoryCalls::End() {
  counting.store(false);
  is_caller = false;
  MemoryCalls calls;
  calls.here = calls_here.load();
  calls.elsewhere = calls_elsewhere.load();
  calls.excused = calls_excused.load();
  // What glibc's malloc does for itself does not pass by here, but it shows.
  const bool grew = Break() != break_before || ::mallinfo2().hblks != maps_before;
  calls.system = system_calls.load() + (grew ? 1 : 0);
  for (int i = 0; i < num_first.load(); ++i) {
    Dl_info info{};
    ::dladdr(first_frames[i], &info);
    char text[64];
    const auto offset = static_cast<char*>(first_frames[i]) - static_cast<char*>(info.dli_fbase);
    std::snprintf(text, sizeof(text), "+0x%lx\n", static_cast<unsigned long>(offset));
    calls.first += std::string(info.dli_fname == nullptr ? "?" : info.dli_fname) + text;
  }
  return calls;
}

}  // namespace oneflow

using oneflow::NoteMalloc;
using oneflow::NoteSystem;

extern "C" {

void* malloc(size_t bytes) {
  NoteMalloc();
  return __libc_malloc(bytes);
}

void* calloc(size_t count, size_t bytes) {
  NoteMalloc();
  return __libc_calloc(count, bytes);
}

void* realloc(void* old, size_t bytes) {
  NoteMalloc();
  return __libc_realloc(old, bytes);
}

void* memalign(size_t alignment, size_t bytes) {
  NoteMalloc();
  return __libc_memalign(alignment, bytes);
}

void* aligned_alloc(size_t alignment, size_t bytes) {
  NoteMalloc();
  return __libc_memalign(alignment, bytes);
}

int posix_memalign(void** out, size_t alignment, size_t bytes) {
  NoteMalloc();
  *out = __libc_memalign(alignment, bytes);
  return *out == nullptr ? ENOMEM : 0;
}

void* mmap(void* address, size_t bytes, int protection, int flags, int file, off_t offset) {
  NoteSystem();
  return reinterpret_cast<void*>(
      ::syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}

void* mmap64(void* address, size_t bytes, int protection, int flags, int file, off64_t offset) {
  NoteSystem();
  return reinterpret_cast<void*>(
      ::syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}

int munmap(void* address, size_t bytes) {
  NoteSystem();
  return static_cast<int>(::syscall(SYS_munmap, address, bytes));
}

void* mremap(void* old, size_t old_bytes, size_t new_bytes, int flags, ...) {
  NoteSystem();
  va_list more;
  va_start(more, flags);
  void* address = (flags & MREMAP_FIXED) != 0 ? va_arg(more, void*) : nullptr;
  va_end(more);
  return reinterpret_cast<void*>(::syscall(SYS_mremap, old, old_bytes, new_bytes, flags, address));
}

int brk(void* address) {
  NoteSystem();
  static const auto next = reinterpret_cast<int (*)(void*)>(::dlsym(RTLD_NEXT, "brk"));
  return next(address);
}

void* sbrk(intptr_t increment) {
  if (increment != 0) { NoteSystem(); }
  static const auto next = reinterpret_cast<void* (*)(intptr_t)>(::dlsym(RTLD_NEXT, "sbrk"));
  return next(increment);
}

}  // extern "C"
