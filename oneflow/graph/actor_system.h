// ActorSystem: actors, registers between them, and the messages that drive them.
//
// An actor acts once for each *piece*: when every register that it reads holds that piece's value, and
// every register that it writes has a free slot. It then tells the consumers of what it wrote, and the
// producers that it has read. A register has one producer, any number of consumers, and as many slots
// as pieces may be under way in it: that gives pipelining, and back-pressure. Between actors there is
// nothing but messages.
//
// Actors of one thread share its mailbox. Thread 0 is whoever calls Run(), so that a graph of one
// actor needs no other; the others start with the first run, and end with Stop().
//
// When an actor fails the run is drained: what has not acted yet only passes its messages on. The error
// is that of the first failure; the next run starts afresh.
//
// Thread safety: Stop() from any thread; one Run() at a time (the vm sees to that). Blocking: Run()
// until every actor has acted, Stop() until the run that is under way is over. Neither takes a lock of
// the host language.
#ifndef ONEFLOW_GRAPH_ACTOR_SYSTEM_H_
#define ONEFLOW_GRAPH_ACTOR_SYSTEM_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "oneflow/common/atomic.h"
#include "oneflow/common/maybe.h"
#include "oneflow/common/mutex.h"
#include "oneflow/common/thread.h"

namespace oneflow {
namespace graph {

struct ActorSpec {
  std::string name;
  int thread = 0;
  // Called with 0, 1, 2, ..., counted over all runs.
  std::function<Maybe<void>(int64_t piece)> act;
};

struct RegisterSpec {
  int producer = 0;
  std::vector<int> consumers;
  int slots = 1;
};

class ActorSystem {
 public:
  // REQUIRES registers without cycles. `name` is the graph's.
  ActorSystem(std::string name, std::vector<ActorSpec> actors,
              const std::vector<RegisterSpec>& registers);
  ~ActorSystem();  // stops
  ActorSystem(const ActorSystem&) = delete;
  ActorSystem& operator=(const ActorSystem&) = delete;

  // Every actor acts `pieces` times. RuntimeError: graph '...' is closed; EnvironmentError when a thread
  // cannot be started; else the error of the first actor that failed.
  Maybe<void> Run(int64_t pieces = 1);
  // Refuses runs from here on, waits for the one that is under way, joins the threads. Idempotent.
  void Stop();

  int num_actors() const { return static_cast<int>(actors_.size()); }

 private:
  struct Message {
    enum class Kind : uint8_t { kRun, kValue, kRead, kDone, kStop };
    Kind kind;
    int actor;  // whom it is for
    int at;     // which of its registers (kValue: read, kRead: written), with kRead whose consumer
    int64_t count;  // of pieces, with kRun
  };
  struct Input {
    int producer;
    int output;    // of the producer's registers
    int consumer;  // of that register's consumers, this actor
    int64_t arrived = 0;
  };
  struct Output {
    struct Consumer {
      int actor;
      int input;
      int64_t read = 0;
    };
    std::vector<Consumer> consumers;
    int slots;
  };
  // Touched by its own thread only.
  struct Actor {
    ActorSpec spec;
    std::vector<Input> inputs;
    std::vector<Output> outputs;
    int64_t acted = 0;
    int64_t wanted = 0;
  };
  struct Mailbox {
    Mutex mutex;
    CondVar not_empty;
    std::vector<Message> messages GUARDED_BY(mutex);
  };
  struct Worker {
    Mailbox mailbox;
    std::vector<Message> local;  // to actors of the same thread; no lock
    std::vector<Message> taken;
    Thread thread;
  };

  Maybe<void> StartThreads();
  void Loop(int thread);
  // Handles what has come; false when there was nothing and `wait` is false, or a kStop.
  bool Handle(int thread);
  void Post(int from_thread, const Message& message);
  void PostTo(int from_thread, int to_thread, const Message& message);
  void Take(Worker* worker);
  void Receive(int thread, const Message& message);
  void TryAct(int thread, int actor);
  bool CanAct(const Actor& actor) const;
  void Act(int thread, Actor* actor);
  bool AllDone() const { return done_ == num_actors(); }

  const std::string name_;
  std::vector<Actor> actors_;
  std::vector<std::unique_ptr<Worker>> workers_;
  bool started_ = false;  // REQUIRES the one Run()
  int done_ = 0;          // actors that finished this run; of thread 0
  Mutex state_mutex_;
  CondVar idle_;
  bool open_ GUARDED_BY(state_mutex_) = true;
  int running_ GUARDED_BY(state_mutex_) = 0;
  Atomic<bool> failed_{false};
  Mutex error_mutex_;
  ErrorPtr error_ GUARDED_BY(error_mutex_);
};

}  // namespace graph
}  // namespace oneflow

#endif  // ONEFLOW_GRAPH_ACTOR_SYSTEM_H_
