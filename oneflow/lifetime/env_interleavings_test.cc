// The end of the runtime, in every order of its threads' steps.
#include <chrono>
#include <vector>

#include "oneflow/common/mutex.h"
#include "oneflow/common/thread.h"
#include "oneflow/lifetime/deferred_release.h"
#include "oneflow/lifetime/env.h"
#include "oneflow/lifetime/model_testlib.h"
#include "oneflow/lifetime/reentry_door.h"
#include "oneflow/lifetime/runtime_thread.h"
#include "oneflow/lifetime/unread_errors.h"

namespace oneflow {
namespace lifetime {
namespace {

using EnvInterleavings = ModelTest;

// A subsystem with a worker: what is handed to it before Stop() is done, later is done at once.
class Worker : public Subsystem {
 public:
  const char* name() const override { return "worker"; }
  void Stop(Deadline) override { stopped_.store(true); }
  bool stopped() const { return stopped_.load(); }

 private:
  Atomic<bool> stopped_{false};
};

// The Env of one schedule, started.
class World {
 public:
  World() {
    auto worker = std::make_unique<Worker>();
    worker_ = worker.get();
    CHECK_JUST(env_.Register(std::move(worker)));
    CHECK_JUST(env_.Start());
  }
  // As the exit hook.
  void Shutdown() {
    env_.Shutdown();
    Require(env_.state() == EnvState::kClosed, "closed");
    Require(worker_->stopped(), "the subsystem is stopped");
  }
  Maybe<GraphHandle> Add() { return env_.session()->AddGraph(std::make_unique<ModelGraph>("G")); }
  void Run(const GraphHandle& handle) {
    Maybe<GraphLease> lease = env_.session()->Acquire(handle);
    if (!lease.ok()) { return; }
    Require(!worker_->stopped(), "subsystems outlive the runs of graphs");
    static_cast<ModelGraph&>(*lease.value()).Run();
  }
  Env* operator->() { return &env_; }

 private:
  Env env_;
  Worker* worker_;
};

TEST_F(EnvInterleavings, RunAtTheExit) {
  Passes("run at the exit", [] {
    World world;
    const GraphHandle graph = CHECK_JUST(world.Add());
    Parallel({[&] { world.Run(graph); }, [&] { world.Shutdown(); }});
    Require(!world.Add().ok(), "no graph is made after the end");
  });
}

// Admission may close between the making of a graph and its joining the session.
void MakeAGraphAtTheExit() {
  World world;
  Parallel({[&] {
              const Maybe<GraphHandle> graph = world.Add();
              if (graph.ok()) { world.Run(graph.value()); }
            },
            [&] { world.Shutdown(); }});
  Require(world->session()->num_graphs() == 0, "no graph outlives the runtime");
}

TEST_F(EnvInterleavings, MakeAGraphAtTheExit) {
  Passes("make a graph at the exit", MakeAGraphAtTheExit);
}

TEST_F(EnvInterleavings, FindsAGraphThatIsAdmittedTooEarly) {
  Finds(OrderingFault::kAdmitsBeforeAdding, Failure::kRequirement, "session.cc",
        MakeAGraphAtTheExit);
}

TEST_F(EnvInterleavings, ShutdownTwice) {
  Passes("shut down twice", [] {
    World world;
    CHECK_JUST(world.Add());
    Parallel({[&] { world->Shutdown(); }, [&] { world->Shutdown(); }});
    Require(world->state() == EnvState::kClosed, "closed");
  });
}

// ---- the host language's lock

// Two threads come back for the lock while the main thread ends the host.
void ReenterAtTheExit() {
  ReentryDoor door;
  Mutex host;
  bool over = false;
  const auto come_back = [&] {
    if (!door.Enter()) { interleave::Park(); }
    MutexLock lock(&host);
    door.Entered();
    Require(!over, "nobody comes in once the host ends");
  };
  Parallel({come_back, come_back, [&] {
              host.Lock();
              door.Close();
              while (!door.Empty()) {
                host.Unlock();
                PausePolling(std::chrono::microseconds(100));
                host.Lock();
              }
              over = true;
              host.Unlock();
            }});
  Require(over, "the host ends");
}

TEST_F(EnvInterleavings, ReenterAtTheExit) { Passes("reenter at the exit", ReenterAtTheExit); }

TEST_F(EnvInterleavings, FindsALookBeforeTheDoor) {
  Finds(OrderingFault::kLooksBeforeEntering, Failure::kRequirement, "reentry_door.h",
        ReenterAtTheExit);
}

// ---- errors nobody has read

TEST_F(EnvInterleavings, AnErrorWhileTheReportIsPrinted) {
  Passes("an error while the report is printed", [] {
    ForgetUnreadErrors();
    std::string report;
    Parallel({[&] { RegisterRootFailure(RuntimeError("late")); },
              [&] {
                RenderUnreadErrors();
                report = UnreadErrorReport();
              }});
    Require(report.empty() || report.find("late") != std::string::npos, "whole, or not there");
    Require(UnreadErrorReport().find("late") != std::string::npos, "kept");
  });
}

// ---- objects of the host language

Atomic<int>* released = nullptr;

TEST_F(EnvInterleavings, DeferAndDrain) {
  Passes("defer and drain", [] {
    Atomic<int> count{0};
    released = &count;
    const auto defer = [] { DeferRelease([](void*) { released->fetch_add(1); }, nullptr); };
    Parallel({defer, defer, [] { DrainDeferredReleases(); }});
    DrainDeferredReleases();
    Require(count.load() == 2, "each is released once");
    Require(!HasDeferredReleases(), "none is left");
  });
}

}  // namespace
}  // namespace lifetime
}  // namespace oneflow
