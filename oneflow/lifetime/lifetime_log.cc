#include "oneflow/lifetime/lifetime_log.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "oneflow/common/env_var.h"
#include "oneflow/common/log.h"

namespace oneflow {
namespace lifetime {

namespace {

// Guards the recorder's life against a thread that is just adding a line.
Mutex recorder_mutex;
LifetimeRecorder* recorder GUARDED_BY(recorder_mutex) = nullptr;

bool Enabled() {
  static const bool enabled = EnvBool("ONEFLOW_LOG_LIFETIME", false);
  return enabled;
}

double SecondsSinceFirstLine() {
  using Clock = std::chrono::steady_clock;
  static const Clock::time_point start = Clock::now();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

void LogLifetime(const char* event, const char* kind, std::string_view name) {
  const auto line = [&] { return Format("{} {} '{}'", event, kind, name); };
  if (Enabled()) {
    WriteStderr(Format("oneflow: lifetime: +{:.6f}s thread {} {}\n", SecondsSinceFirstLine(),
                       static_cast<int64_t>(::syscall(SYS_gettid)), line()));
  }
  MutexLock lock(&recorder_mutex);
  if (recorder != nullptr) { recorder->Add(line()); }
}

LifetimeRecorder::LifetimeRecorder() {
  MutexLock lock(&recorder_mutex);
  recorder = this;
}

LifetimeRecorder::~LifetimeRecorder() {
  MutexLock lock(&recorder_mutex);
  recorder = nullptr;
}

std::vector<std::string> LifetimeRecorder::lines() const {
  MutexLock lock(&mutex_);
  return lines_;
}

void LifetimeRecorder::Add(std::string line) {
  MutexLock lock(&mutex_);
  lines_.push_back(std::move(line));
}

}  // namespace lifetime
}  // namespace oneflow
