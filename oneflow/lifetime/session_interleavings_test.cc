// A session and several threads, in every order of their steps: make, run, delete, close.
#include "oneflow/lifetime/model_testlib.h"
#include "oneflow/lifetime/runtime_thread.h"
#include "oneflow/lifetime/session.h"

namespace oneflow {
namespace lifetime {
namespace {

using SessionInterleavings = ModelTest;

// The session of one schedule; its end closes what is open.
class World {
 public:
  World() { admission_.set_state(EnvState::kRunning); }
  ~World() {
    Require(session_.Close().ok(), "the last close");
    Require(session_.num_graphs() == 0, "no graph is left");
    closer_.Stop();
  }

  GraphHandle Add(const char* name) {
    return CHECK_JUST(session_.AddGraph(std::make_unique<ModelGraph>(name)));
  }
  // True when it ran; else the error says why not.
  bool Run(const GraphHandle& handle) {
    Maybe<GraphLease> lease = session_.Acquire(handle);
    if (!lease.ok()) {
      Require(lease.error()->message() == "graph '" + handle.name + "' is closed",
              "the named error");
      return false;
    }
    static_cast<ModelGraph&>(*lease.value()).Run();
    return true;
  }
  Session* operator->() { return &session_; }

 private:
  Admission admission_;
  Closer closer_;
  Session session_{&admission_, &closer_};
};

// ---- run against close

void RunWhileClosing() {
  World world;
  const GraphHandle graph = world.Add("G");
  Parallel({[&] { world.Run(graph); }, [&] { Require(world->Close().ok(), "close"); }});
  Require(!world.Run(graph), "it is closed");
}

TEST_F(SessionInterleavings, RunWhileClosing) { Passes("run while closing", RunWhileClosing); }

TEST_F(SessionInterleavings, FindsACloseUnderALease) {
  Finds(OrderingFault::kClosesUnderLease, Failure::kDataRace, "session.cc", RunWhileClosing);
}

TEST_F(SessionInterleavings, FindsALookApartFromTheLease) {
  Finds(OrderingFault::kLooksBeforeLeasing, Failure::kCrash, "session.cc", RunWhileClosing);
}

TEST_F(SessionInterleavings, FindsAReportBeforeTheEnd) {
  Finds(OrderingFault::kReportsBeforeDone, Failure::kRequirement, "closer.cc", RunWhileClosing);
}

TEST_F(SessionInterleavings, FindsClosingBeforeRefusing) {
  // Who returns a lease does not see that somebody waits for it.
  Finds(OrderingFault::kClosesBeforeRefusing, Failure::kDeadlock, "session.cc", RunWhileClosing);
}

// ---- make and delete against close

TEST_F(SessionInterleavings, MakeWhileClosing) {
  Passes("make and run while closing", [] {
    World world;
    Parallel({[&] { world.Run(world.Add("G")); }, [&] { Require(world->Close().ok(), "close"); }});
  });
}

TEST_F(SessionInterleavings, DeleteWhileClosing) {
  Passes("delete while closing", [] {
    World world;
    const GraphHandle graph = world.Add("G");
    Parallel(
        {[&] { world->PostCloseGraph(graph); }, [&] { Require(world->Close().ok(), "close"); }});
    Require(!world.Run(graph), "it is closed");
  });
}

TEST_F(SessionInterleavings, DeleteWhileRunning) {
  Passes("delete while running", [] {
    World world;
    const GraphHandle graph = world.Add("G");
    Parallel({[&] { world.Run(graph); }, [&] { world->PostCloseGraph(graph); }});
    Require(!world.Run(graph), "it is closed");
  });
}

TEST_F(SessionInterleavings, CloseAGraphTwice) {
  Passes("close a graph twice", [] {
    World world;
    const GraphHandle graph = world.Add("G");
    const auto close = [&] {
      Require(world->CloseGraph(graph).ok(), "close");
      Require(!world.Run(graph), "it is closed");
    };
    Parallel({close, close});
  });
}

TEST_F(SessionInterleavings, CloseTwice) {
  Passes("close twice", [] {
    World world;
    const GraphHandle graph = world.Add("G");
    const auto close = [&] {
      Require(world->Close().ok(), "close");
      Require(!world.Run(graph), "it is closed");
    };
    Parallel({close, close});
  });
}

TEST_F(SessionInterleavings, CloseOnARuntimeThread) {
  Passes("close on a runtime thread", [] {
    World world;
    const GraphHandle graph = world.Add("G");
    Parallel({[&] {
                ScopedRuntimeThread runtime_thread("worker");
                Maybe<GraphLease> lease = world->Acquire(graph);
                // With the lease in hand: it would wait for itself if it did not post.
                Require(world->Close().ok(), "close");
              },
              [&] { world.Run(graph); }});
  });
}

}  // namespace
}  // namespace lifetime
}  // namespace oneflow
