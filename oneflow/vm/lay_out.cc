// The vm's part that brings storages into the order which an op, or the host, expects (arrangement.h).
#include "oneflow/common/planted_fault.h"
#include "oneflow/device/cpu/parallel.h"
#include "oneflow/vm/arrangement.h"
#include "oneflow/vm/in_flight.h"
#include "oneflow/vm/vm.h"

namespace oneflow {

// Issues what brings the call's storages into the order in which it wants them, which others may undo
// when it waits. False, with nothing issued and the lock free: one of them must stay plain. REQUIRES the
// issue lock; holds it again when it returns true.
Maybe<bool> Vm::LayOutOperands(const OpCall& call, InFlight* in_flight)
    ONEFLOW_TSA_(no_thread_safety_analysis) {
  const int count = call.num_reads + call.num_writes;
  const auto storage = [&](int i) {
    return i < call.num_reads ? call.reads[i] : call.writes[i - call.num_reads];
  };
  const auto wanted = [&](int i) {
    return call.arranged == nullptr ? nullptr : call.arranged->wanted[i];
  };
  for (int i = 0; i < count; ++i) {
    if (wanted(i) == nullptr || storage(i)->MayBeArranged()) { continue; }
    issue_.Unlock();
    call.arranged->refused = true;
    return false;
  }
  for (int i = 0; i < count; ++i) {
    if (storage(i)->arrangement() == wanted(i)) { continue; }
    if (call.arranged != nullptr) { ++call.arranged->converted; }
    JUST(LayOut(storage(i), wanted(i), call.stream, in_flight));
  }
  return true;
}

// REQUIRES the issue lock, which it may let go of meanwhile; holds it again on success, not on failure.
// What must stay plain stays so.
Maybe<void> Vm::LayOut(Storage* storage, const Arrangement* wanted, Stream* stream,
                       InFlight* in_flight) ONEFLOW_TSA_(no_thread_safety_analysis) {
  while (storage->arrangement() != wanted) {
    const Arrangement* const is = storage->arrangement();
    const Arrangement& order =
        is != nullptr ? *is : *wanted;  // from one to another by way of plain
    const Strides strides = ContiguousStrides(order.shape);
    const ArrayView view{storage->data(),
                         order.shape.data(),
                         strides.data(),
                         order.shape.size(),
                         order.dtype,
                         true,
                         true};
    OpCall call;
    call.op = order.kind->name;
    call.kernel = is != nullptr ? order.kind->restore : order.kind->arrange;
    call.call.outputs = &view;
    call.call.num_outputs = 1;
    call.call.threads = cpu::ThreadsForCost(call.kernel->cost(call.call));
    // What is poisoned is not moved: it has no value in any order.
    call.reads = call.writes = &storage;
    call.num_reads = call.num_writes = 1;
    call.overwrites = false;
    call.stream = stream;
    const bool run_inline = JUST(AwaitTurn(call, false, in_flight));
    if (storage->arrangement() != is) { continue; }
    const Arrangement* const now = is != nullptr ? nullptr : wanted;
    // The host may have come to see it while this call waited: then the op that asked is refused.
    if (now != nullptr && !storage->MayBeArranged()) { return Ok(); }
    if (is != nullptr && FaultPlanted(Fault::kArrangedTakenForPlain)) {
      storage->set_arrangement(nullptr);
      continue;
    }
    if (run_inline) {
      storage->set_arrangement(now);  // nobody issues before the call has run
      (void)RunInline(call, false, in_flight);
      JUST(LockIssue(in_flight));
      continue;
    }
    const Maybe<StreamPoint> pushed = Push(call, nullptr);
    if (!pushed.ok()) {
      issue_.Unlock();
      return pushed.error();
    }
    storage->set_arrangement(now);
  }
  return Ok();
}

// Waits until the host may look at the memory: it holds its value, in the plain order; with `readers`,
// nobody else looks at it.
Maybe<void> Vm::AwaitPlain(Storage* storage, bool readers, InFlight* in_flight)
    ONEFLOW_TSA_(no_thread_safety_analysis) {
  constexpr int kMostRounds = 4;
  for (int round = 0;; ++round) {
    JUST(LockIssue(in_flight));
    // Other threads may have issued anything while this one waited. Writes of theirs are the program's own
    // affair, but none of them may have it arranged, nor be about to bring it back.
    if (round > 0 && !storage->WasArranged()) { break; }
    const bool last = round == kMostRounds;
    if (last) { storage->StayPlain(); }
    if (__builtin_expect(storage->arrangement() != nullptr, 0)) {
      const Maybe<Stream*> stream = StreamFor(storage->device());
      if (!stream.ok()) {
        issue_.Unlock();
        return stream.error();
      }
      JUST(LayOut(storage, nullptr, stream.value(), in_flight));
    }
    std::vector<StreamPoint> points;
    const StreamPoint written = storage->last_write();
    if (readers) {
      points = storage->more_reads();
      points.push_back(storage->first_read());
    }
    issue_.Unlock();
    // As long as nothing is waited for nobody else can issue: the host's lock is held.
    bool passed = StreamClock::Passed(written);
    for (const StreamPoint& point : points) { passed = passed && StreamClock::Passed(point); }
    if (passed) { return Ok(); }
    in_flight->Begin();
    JUST(Stream::Wait(written));
    for (const StreamPoint& point : points) { JUST(Stream::Wait(point)); }
    if (last) { return Ok(); }
  }
  issue_.Unlock();
  return Ok();
}

Maybe<void> Vm::SyncRead(Storage* storage) ONEFLOW_TSA_(no_thread_safety_analysis) {
  InFlight in_flight(*storage);
  JUST(LockIssue(&in_flight));
  const bool ready =
      storage->arrangement() == nullptr && StreamClock::Passed(storage->last_write());
  issue_.Unlock();
  if (!ready) { JUST(AwaitPlain(storage, false, &in_flight)); }
  if (ErrorPtr poison = storage->poison()) { return poison; }
  return Ok();
}

Maybe<void> Vm::SyncWrite(Storage* storage) {
  InFlight in_flight(*storage);
  in_flight.Begin();
  return AwaitPlain(storage, true, &in_flight);
}

}  // namespace oneflow
