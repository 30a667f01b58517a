#include "oneflow/common/interleave/explore.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <sstream>
#include <utility>

#include "oneflow/common/interleave/scheduler.h"

namespace oneflow {
namespace interleave {

namespace {

// ---- the report on its way through a pipe

std::string Pack(const Report& report) {
  std::ostringstream out;
  out << static_cast<int>(report.failure) << ' ' << report.schedules << ' ' << report.redundant
      << ' ' << report.steps << ' ' << report.longest << ' ' << report.threads << ' '
      << report.seconds << ' ' << report.message.size() << ' ' << report.trace.size() << ' '
      << report.schedule.size() << '\n'
      << report.message << report.trace << report.schedule;
  return out.str();
}

bool Unpack(const std::string& text, Report* report) {
  std::istringstream in(text);
  int failure = 0;
  size_t message = 0;
  size_t trace = 0;
  size_t schedule = 0;
  in >> failure >> report->schedules >> report->redundant >> report->steps >> report->longest >>
      report->threads >> report->seconds >> message >> trace >> schedule;
  if (!in || in.get() != '\n') { return false; }
  const size_t begin = static_cast<size_t>(in.tellg());
  if (text.size() != begin + message + trace + schedule) { return false; }
  report->failure = static_cast<Failure>(failure);
  report->message = text.substr(begin, message);
  report->trace = text.substr(begin + message, trace);
  report->schedule = text.substr(begin + message + trace, schedule);
  return true;
}

void WriteAll(int fd, const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n <= 0) { return; }
    done += static_cast<size_t>(n);
  }
}

std::string ReadAll(int fd) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t n = ::read(fd, buffer, sizeof(buffer));
    if (n <= 0) { return text; }
    text.append(buffer, static_cast<size_t>(n));
  }
}

// ---- the child

int report_fd = -1;

// The child is this test program: it must not run what its normal end would.
[[noreturn]] void EndChild() {
  for (;;) { ::kill(::getpid(), SIGKILL); }
}

void OnCrash(int signal) {
  for (int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) { ::signal(s, SIG_DFL); }
  Report report;
  if (Scheduler* scheduler = Scheduler::Current()) { report = scheduler->DescribeCrash(); }
  report.failure = Failure::kCrash;
  report.message = std::string("signal: ") + ::strsignal(signal);
  WriteAll(report_fd, Pack(report));
  EndChild();
}

void CatchCrashes() {
  static char stack[64 * 1024];
  stack_t alternate{};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof(stack);
  ::sigaltstack(&alternate, nullptr);
  struct sigaction action{};
  action.sa_handler = OnCrash;
  action.sa_flags = SA_ONSTACK;
  for (int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) { ::sigaction(s, &action, nullptr); }
}

}  // namespace

Report Explore(const Options& options, const std::function<void()>& scenario) {
  if (options.in_this_process || !options.replay.empty()) {
    return Scheduler(options, scenario).RunAll();
  }
  Report report;
  int ends[2];
  if (::pipe(ends) != 0) {
    report.failure = Failure::kCrash;
    report.message = "no pipe";
    return report;
  }
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    report_fd = ends[1];
    CatchCrashes();
    WriteAll(report_fd, Pack(Scheduler(options, scenario).RunAll()));
    EndChild();
  }
  ::close(ends[1]);
  const std::string text = ReadAll(ends[0]);
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  if (!Unpack(text, &report)) {
    report.failure = Failure::kCrash;
    report.message = "the explorer itself died";
  }
  return report;
}

const char* NameOf(Failure failure) {
  switch (failure) {
    case Failure::kNone: return "passed";
    case Failure::kDeadlock: return "deadlock";
    case Failure::kThreadLeft: return "thread left";
    case Failure::kLivelock: return "livelock";
    case Failure::kUseAfterEnd: return "use after end";
    case Failure::kDataRace: return "data race";
    case Failure::kMisuse: return "misuse";
    case Failure::kRequirement: return "requirement";
    case Failure::kCrash: return "crash";
    case Failure::kNotDeterministic: return "not deterministic";
    case Failure::kTooMany: return "too many schedules";
  }
  return "";
}

std::string Report::Text() const {
  char counts[256];
  std::snprintf(counts, sizeof(counts),
                "%llu schedules + %llu redundant, %llu steps, longest %d, %d threads, %.2f s",
                static_cast<unsigned long long>(schedules),
                static_cast<unsigned long long>(redundant), static_cast<unsigned long long>(steps),
                longest, threads, seconds);
  if (passed()) { return counts; }
  return std::string(NameOf(failure)) + ": " + message + "\nafter " + counts + "\n" + trace +
         "replay: " + schedule + "\n";
}

void Require(bool fact, const std::string& text) {
  if (!fact) { Scheduler::Current()->Fail(Failure::kRequirement, text); }
}

int Choose(int n) {
  return Scheduler::Current()->Point({OpKind::kChoose, nullptr, nullptr, 0, n, Place()});
}

void Park() { Scheduler::Current()->Point({OpKind::kPark, nullptr, nullptr, 0, 1, Place()}); }

void Parallel(std::vector<std::function<void()>> bodies) {
  Scheduler* scheduler = Scheduler::Current();
  ProcessSet started = 0;
  for (auto& body : bodies) { started |= Only(scheduler->Start(std::move(body))); }
  scheduler->Join(started, Place());
}

void NameThread(const std::string& name) { Scheduler::Current()->SetName(name); }

}  // namespace interleave
}  // namespace oneflow
