// For LD_PRELOAD: writes down who ends the process, into the file that ONEFLOW_INTERPOSE_LOG names.
//
// Each call of abort, exit, _exit, _Exit, quick_exit, raise(SIGABRT), a failed assert, and each
// std::terminate becomes one line: the function, then `module+offset` of each frame, innermost first.
// interpose.py reads it. The call then does what it always does.
//
// Not seen: a return from main, whose exit() is libc's own affair, and signals.
// Thread safety: one write() a line.
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>

namespace {

constexpr int kMaxFrames = 64;
thread_local bool reported = false;  // terminate() ends in abort(): one line for both

void Report(const char* function) {
  if (reported) { return; }
  reported = true;
  const char* path = std::getenv("ONEFLOW_INTERPOSE_LOG");
  if (path == nullptr) { return; }
  char line[8192];
  int length = std::snprintf(line, sizeof(line), "%s", function);
  void* frames[kMaxFrames];
  const int count = backtrace(frames, kMaxFrames);
  for (int i = 2; i < count; ++i) {  // without this function and the one that called it
    Dl_info info;
    const bool known = dladdr(frames[i], &info) != 0 && info.dli_fname != nullptr;
    const auto base = known ? reinterpret_cast<uintptr_t>(info.dli_fbase) : 0;
    const int left = static_cast<int>(sizeof(line)) - length;
    const int wrote = std::snprintf(
        line + length, static_cast<size_t>(left), "\t%s+%zu", known ? info.dli_fname : "?",
        static_cast<size_t>(reinterpret_cast<uintptr_t>(frames[i]) - base));
    if (wrote >= left - 1) { break; }
    length += wrote;
  }
  line[length++] = '\n';
  const int fd = ::open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) { return; }
  const ssize_t ignored = ::write(fd, line, static_cast<size_t>(length));
  static_cast<void>(ignored);
  ::close(fd);
}

template <typename Function>
Function Real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

using Plain = void (*)();
using WithStatus = void (*)(int);

[[noreturn]] void OnTerminate() {
  Report("terminate");
  Real<Plain>("abort")();
  __builtin_unreachable();
}

__attribute__((constructor)) void Begin() {
  void* frame;
  backtrace(&frame, 1);  // loads what it needs now, not in a process that is dying
  std::set_terminate(&OnTerminate);
}

}  // namespace

#define VISIBLE __attribute__((visibility("default")))

extern "C" {

VISIBLE void abort() noexcept {
  Report("abort");
  Real<Plain>("abort")();
  __builtin_unreachable();
}

VISIBLE void exit(int status) noexcept {
  Report("exit");
  Real<WithStatus>("exit")(status);
  __builtin_unreachable();
}

VISIBLE void _exit(int status) {
  Report("_exit");
  Real<WithStatus>("_exit")(status);
  __builtin_unreachable();
}

VISIBLE void _Exit(int status) noexcept {
  Report("_Exit");
  Real<WithStatus>("_Exit")(status);
  __builtin_unreachable();
}

VISIBLE void quick_exit(int status) noexcept {
  Report("quick_exit");
  Real<WithStatus>("quick_exit")(status);
  __builtin_unreachable();
}

VISIBLE int raise(int signal) noexcept {
  if (signal == SIGABRT) { Report("raise"); }
  return Real<int (*)(int)>("raise")(signal);
}

VISIBLE void __assert_fail(const char* expression, const char* file, unsigned line,
                           const char* function) noexcept {
  Report("assert");
  Real<void (*)(const char*, const char*, unsigned, const char*)>("__assert_fail")(expression, file,
                                                                                   line, function);
  __builtin_unreachable();
}

}  // extern "C"

// std::terminate(); the runtime's own calls of it go to the handler above.
extern "C" VISIBLE void OneflowTerminate() __asm__("_ZSt9terminatev");
void OneflowTerminate() {
  Report("terminate");
  Real<Plain>("_ZSt9terminatev")();
  __builtin_unreachable();
}
