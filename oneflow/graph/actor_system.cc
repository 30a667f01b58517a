#include "oneflow/graph/actor_system.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "oneflow/common/interleave/ordering_fault.h"
#include "oneflow/lifetime/runtime_thread.h"

namespace oneflow {
namespace graph {

using interleave::Misordered;
using interleave::OrderingFault;

ActorSystem::ActorSystem(std::string name, std::vector<ActorSpec> actors,
                         const std::vector<RegisterSpec>& registers)
    : name_(std::move(name)) {
  int threads = 1;
  for (ActorSpec& spec : actors) {
    threads = std::max(threads, spec.thread + 1);
    Actor actor;
    actor.spec = std::move(spec);
    actors_.push_back(std::move(actor));
  }
  for (const RegisterSpec& spec : registers) {
    Actor& producer = actors_[static_cast<size_t>(spec.producer)];
    const int output = static_cast<int>(producer.outputs.size());
    producer.outputs.push_back({{}, spec.slots});
    for (int consumer : spec.consumers) {
      Actor& reader = actors_[static_cast<size_t>(consumer)];
      std::vector<Output::Consumer>& list = producer.outputs.back().consumers;
      const int input = static_cast<int>(reader.inputs.size());
      reader.inputs.push_back({spec.producer, output, static_cast<int>(list.size())});
      list.push_back({consumer, input});
    }
  }
  for (int i = 0; i < threads; ++i) { workers_.push_back(std::make_unique<Worker>()); }
}

ActorSystem::~ActorSystem() { Stop(); }

Maybe<void> ActorSystem::StartThreads() {
  for (size_t i = 1; i < workers_.size(); ++i) {
    if (workers_[i]->thread.joinable()) { continue; }
    // Signals belong to the program's own threads.
    sigset_t all;
    sigset_t old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    const std::error_code refused = StartThread(&workers_[i]->thread, [this, i] {
      lifetime::ScopedRuntimeThread runtime_thread("actors " + std::to_string(i));
      Loop(static_cast<int>(i));
    });
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
    if (refused) {
      return EnvironmentError("graph '{}' cannot start a thread: {}", name_, refused.message());
    }
  }
  started_ = true;
  return Ok();
}

Maybe<void> ActorSystem::Run(int64_t pieces) {
  {
    MutexLock lock(&state_mutex_);
    if (!open_) { return RuntimeError("graph '{}' is closed", name_); }
    if (Misordered(OrderingFault::kRunsPastTheClose)) {
      state_mutex_.Unlock();
      state_mutex_.Lock();
    }
    ++running_;
  }
  Maybe<void> result = started_ ? Maybe<void>(Ok()) : StartThreads();
  if (result.ok()) {
    done_ = 0;
    failed_.store(false);
    for (int i = 0; i < num_actors(); ++i) { Post(0, {Message::Kind::kRun, i, 0, pieces}); }
    while (!AllDone()) { Handle(0); }
    if (failed_.load()) {
      MutexLock lock(&error_mutex_);
      result = std::exchange(error_, nullptr);
    }
  }
  MutexLock lock(&state_mutex_);
  --running_;
  idle_.NotifyAll();
  return result;
}

void ActorSystem::Stop() {
  {
    MutexLock lock(&state_mutex_);
    open_ = false;
    while (running_ > 0) { idle_.Wait(&state_mutex_); }
  }
  for (size_t i = 1; i < workers_.size(); ++i) {
    if (!workers_[i]->thread.joinable()) { continue; }
    PostTo(-1, static_cast<int>(i), {Message::Kind::kStop, -1, 0, 0});
    workers_[i]->thread.join();
  }
}

void ActorSystem::Loop(int thread) {
  while (Handle(thread)) {}
}

void ActorSystem::Post(int from_thread, const Message& message) {
  PostTo(from_thread, actors_[static_cast<size_t>(message.actor)].spec.thread, message);
}

void ActorSystem::PostTo(int from_thread, int to_thread, const Message& message) {
  Worker& to = *workers_[static_cast<size_t>(to_thread)];
  if (from_thread == to_thread) {
    to.local.push_back(message);
    return;
  }
  MutexLock lock(&to.mailbox.mutex);
  if (Misordered(OrderingFault::kMailboxKeepsTheLast)) { to.mailbox.messages.clear(); }
  to.mailbox.messages.push_back(message);
  to.mailbox.not_empty.NotifyOne();
}

// Waits for messages from other threads.
void ActorSystem::Take(Worker* worker) {
  Mailbox& mailbox = worker->mailbox;
  MutexLock lock(&mailbox.mutex);
  if (mailbox.messages.empty() && Misordered(OrderingFault::kMailboxSleepsTooEarly)) {
    mailbox.mutex.Unlock();
    mailbox.mutex.Lock();
    mailbox.not_empty.Wait(&mailbox.mutex);
  }
  while (mailbox.messages.empty()) { mailbox.not_empty.Wait(&mailbox.mutex); }
  worker->taken.swap(mailbox.messages);
}

// Handles messages; waits for one when there is none. False: stop.
bool ActorSystem::Handle(int thread) {
  Worker& worker = *workers_[static_cast<size_t>(thread)];
  if (worker.local.empty()) { Take(&worker); }
  bool goes_on = true;
  for (const Message& message : worker.taken) {
    if (message.kind == Message::Kind::kStop) {
      goes_on = false;
    } else {
      Receive(thread, message);
    }
  }
  worker.taken.clear();
  // What is received may add to the list.
  for (size_t i = 0; i < worker.local.size(); ++i) { Receive(thread, Message(worker.local[i])); }
  worker.local.clear();
  return goes_on;
}

void ActorSystem::Receive(int thread, const Message& message) {
  if (message.kind == Message::Kind::kDone) {
    ++done_;
    return;
  }
  Actor& actor = actors_[static_cast<size_t>(message.actor)];
  switch (message.kind) {
    case Message::Kind::kRun: actor.wanted += message.count; break;
    case Message::Kind::kValue: ++actor.inputs[static_cast<size_t>(message.at)].arrived; break;
    case Message::Kind::kRead: {
      Output& output = actor.outputs[static_cast<size_t>(message.at)];
      ++output.consumers[static_cast<size_t>(message.count)].read;
      break;
    }
    default: break;
  }
  TryAct(thread, message.actor);
}

bool ActorSystem::CanAct(const Actor& actor) const {
  if (actor.acted == actor.wanted) { return false; }
  for (const Input& input : actor.inputs) {
    if (input.arrived <= actor.acted) { return false; }
  }
  if (Misordered(OrderingFault::kActsOnAFullRegister)) { return true; }
  for (const Output& output : actor.outputs) {
    for (const Output::Consumer& consumer : output.consumers) {
      if (actor.acted - consumer.read >= output.slots) { return false; }
    }
  }
  return true;
}

void ActorSystem::TryAct(int thread, int index) {
  Actor& actor = actors_[static_cast<size_t>(index)];
  while (CanAct(actor)) { Act(thread, &actor); }
}

void ActorSystem::Act(int thread, Actor* actor) {
  const auto acknowledge = [&] {
    for (const Input& input : actor->inputs) {
      Post(thread, {Message::Kind::kRead, input.producer, input.output, input.consumer});
    }
  };
  const bool last = actor->acted + 1 == actor->wanted;
  const bool early = Misordered(OrderingFault::kDoneBeforeActing);
  if (Misordered(OrderingFault::kAcknowledgesTooEarly)) { acknowledge(); }
  if (last && early) { PostTo(thread, 0, {Message::Kind::kDone, -1, 0, 0}); }
  if (!failed_.load()) {
    const Maybe<void> acted = actor->spec.act(actor->acted);
    if (!acted.ok()) {
      MutexLock lock(&error_mutex_);
      if (error_ == nullptr) { error_ = acted.error(); }
      failed_.store(true);
    }
  }
  ++actor->acted;
  for (const Output& output : actor->outputs) {
    for (const Output::Consumer& consumer : output.consumers) {
      Post(thread, {Message::Kind::kValue, consumer.actor, consumer.input, 0});
      if (Misordered(OrderingFault::kTellsTwice)) {
        Post(thread, {Message::Kind::kValue, consumer.actor, consumer.input, 0});
      }
    }
  }
  if (!Misordered(OrderingFault::kAcknowledgesTooEarly)) { acknowledge(); }
  if (last && !early) { PostTo(thread, 0, {Message::Kind::kDone, -1, 0, 0}); }
}

}  // namespace graph
}  // namespace oneflow
