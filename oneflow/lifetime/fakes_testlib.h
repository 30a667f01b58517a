// Graphs and subsystems whose end a test can hold back.
#ifndef ONEFLOW_LIFETIME_FAKES_TESTLIB_H_
#define ONEFLOW_LIFETIME_FAKES_TESTLIB_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "oneflow/lifetime/graph_resource.h"
#include "oneflow/lifetime/lifetime_log.h"
#include "oneflow/lifetime/subsystem.h"

namespace oneflow {
namespace lifetime {

inline void SleepMs(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

// Stays unfinished while `held` is true.
struct Hold {
  std::atomic<bool> held{false};
  std::atomic<bool> reached{false};  // somebody waits here

  void Await(Deadline deadline) {
    reached = true;
    while (held && !deadline.Expired()) { SleepMs(1); }
  }
};

class FakeGraph : public GraphResource {
 public:
  explicit FakeGraph(std::string name, Hold* hold = nullptr)
      : name_(std::move(name)), hold_(hold) {}
  ~FakeGraph() override { LogLifetime("destructor", "fake graph", name_); }

  const std::string& name() const override { return name_; }
  void Close(Deadline deadline) override {
    if (hold_ != nullptr) { hold_->Await(deadline); }
  }
  std::string Unfinished() const override { return "1 run in flight"; }

 private:
  std::string name_;
  Hold* hold_;
};

class FakeSubsystem : public Subsystem {
 public:
  explicit FakeSubsystem(const char* name, Hold* hold = nullptr) : name_(name), hold_(hold) {}

  const char* name() const override { return name_; }
  Maybe<void> Start() override {
    if (fails) { return EnvironmentError("no such device"); }
    return Ok();
  }
  void Stop(Deadline deadline) override {
    if (hold_ != nullptr) { hold_->Await(deadline); }
  }
  void GiveUp() override {
    if (gives_up) { hold_->held = false; }
  }
  std::string Unfinished() const override { return "3 instructions queued"; }

  bool fails = false;
  bool gives_up = false;

 private:
  const char* name_;
  Hold* hold_;
};

}  // namespace lifetime
}  // namespace oneflow

#endif  // ONEFLOW_LIFETIME_FAKES_TESTLIB_H_
