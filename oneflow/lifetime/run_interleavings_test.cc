// A graph with an actor thread of its own, in every order of the steps of run, close, delete and
// exit. The graph is a stand-in for the graph engine's; session, closer and leases are the real ones.
#include <deque>
#include <memory>
#include <utility>

#include "oneflow/common/mutex.h"
#include "oneflow/common/thread.h"
#include "oneflow/lifetime/model_testlib.h"
#include "oneflow/lifetime/session.h"

namespace oneflow {
namespace lifetime {
namespace {

using RunInterleavings = ModelTest;

// Runs are handed to the actor, which ends each one's record. Close() waits for the records.
class ActorGraph : public GraphResource {
 public:
  // With `launched_first` a run is handed over before its record exists: how OneFlow crashes.
  ActorGraph(bool launched_first, Atomic<int>* runs)
      : launched_first_(launched_first), runs_(runs), actor_([this] { Act(); }) {}

  const std::string& name() const override { return name_; }
  void Run() {
    if (launched_first_) { Launch(); }
    {
      MutexLock lock(&mutex_);
      records_.push_back(++last_);
    }
    if (!launched_first_) { Launch(); }
  }
  void Close(Deadline) override {
    {
      MutexLock lock(&mutex_);
      while (!records_.empty()) { changed_.Wait(&mutex_); }
      closing_ = true;
      changed_.NotifyAll();
    }
    actor_.join();
  }

 private:
  void Launch() {
    MutexLock lock(&mutex_);
    ++launched_;
    changed_.NotifyAll();
  }
  void Act() {
    MutexLock lock(&mutex_);
    for (;;) {
      while (launched_ == 0 && !closing_) { changed_.Wait(&mutex_); }
      if (launched_ == 0) { return; }
      --launched_;
      Require(!records_.empty(), "a run that has ended has a record");
      records_.pop_front();
      runs_->fetch_add(1);
      changed_.NotifyAll();
    }
  }

  const std::string name_ = "G";
  const bool launched_first_;
  Atomic<int>* const runs_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<int> records_;
  int last_ = 0;
  int launched_ = 0;
  bool closing_ = false;
  Thread actor_;
};

// Two runs, while another thread does `end`.
template <typename End>
std::function<void()> RunsAgainst(bool launched_first, End end) {
  return [=] {
    Atomic<int> done{0};
    int started = 0;
    Admission admission;
    admission.set_state(EnvState::kRunning);
    Closer closer;
    Session session(&admission, &closer);
    const GraphHandle graph =
        CHECK_JUST(session.AddGraph(std::make_unique<ActorGraph>(launched_first, &done)));
    Parallel({[&] {
                for (int i = 0; i < 2; ++i) {
                  Maybe<GraphLease> lease = session.Acquire(graph);
                  if (!lease.ok()) { return; }
                  static_cast<ActorGraph&>(*lease.value()).Run();
                  ++started;
                }
              },
              [&] { end(&session, graph); }});
    Require(session.Close().ok(), "the last close");
    Require(session.num_graphs() == 0, "no graph is left");
    Require(done.load() == started, "each run that was admitted has ended");
    closer.Stop();
  };
}

TEST_F(RunInterleavings, CloseWithRunsInFlight) {
  Passes("close with runs in flight", RunsAgainst(false, [](Session* session, const GraphHandle&) {
           Require(session->Close().ok(), "close");
         }));
}

TEST_F(RunInterleavings, DeleteWithRunsInFlight) {
  Passes("delete with runs in flight",
         RunsAgainst(false, [](Session* session, const GraphHandle& graph) {
           session->PostCloseGraph(graph);
         }));
}

TEST_F(RunInterleavings, FindsARunThatIsLaunchedBeforeItIsRecorded) {
  Finds(OrderingFault::kNone, Failure::kRequirement, "run_interleavings_test.cc",
        RunsAgainst(true, [](Session* session, const GraphHandle&) {
          Require(session->Close().ok(), "close");
        }));
}

}  // namespace
}  // namespace lifetime
}  // namespace oneflow
