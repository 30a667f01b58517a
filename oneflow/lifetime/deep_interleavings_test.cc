// Larger scenarios of the session, for the nightly run: four threads, and wake-ups without a reason.
#include "oneflow/lifetime/model_testlib.h"
#include "oneflow/lifetime/session.h"

namespace oneflow {
namespace lifetime {
namespace {

class DeepInterleavings : public ModelTest {
 protected:
  DeepInterleavings() { options_.max_schedules = 30'000'000; }
};

void RunDeleteAndClose(bool two_runners) {
  Admission admission;
  admission.set_state(EnvState::kRunning);
  Closer closer;
  Session session(&admission, &closer);
  const GraphHandle graph = CHECK_JUST(session.AddGraph(std::make_unique<ModelGraph>("G")));
  const auto run = [&] {
    Maybe<GraphLease> lease = session.Acquire(graph);
    if (lease.ok()) { static_cast<ModelGraph&>(*lease.value()).name(); }
  };
  Parallel({run, [&] { two_runners ? run() : session.PostCloseGraph(graph); },
            [&] { Require(session.Close().ok(), "close"); }});
  Require(session.Close().ok(), "the last close");
  Require(session.num_graphs() == 0, "no graph is left");
  closer.Stop();
}

TEST_F(DeepInterleavings, TwoRunnersAndAClose) {
  Passes("two runners and a close", [] { RunDeleteAndClose(true); });
}

TEST_F(DeepInterleavings, RunDeleteAndClose) {
  Passes("run, delete and close", [] { RunDeleteAndClose(false); });
}

TEST_F(DeepInterleavings, CloseTwiceWithSpuriousWakeUps) {
  options_.spurious = 1;
  Passes("close twice, a wake-up without a reason in each thread", [] {
    Admission admission;
    admission.set_state(EnvState::kRunning);
    Closer closer;
    Session session(&admission, &closer);
    CHECK_JUST(session.AddGraph(std::make_unique<ModelGraph>("G")));
    const auto close = [&] { Require(session.Close().ok(), "close"); };
    Parallel({close, close});
    Require(session.num_graphs() == 0, "no graph is left");
    closer.Stop();
  });
}

}  // namespace
}  // namespace lifetime
}  // namespace oneflow
