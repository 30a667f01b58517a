// Ordering faults: mistakes in the order of two steps of the real classes, which scenarios plant and
// the exhaustive scheduler has to find.
//
// A fault stands where it would be made, on any path: outside of the model build the answer is a
// constant, and the compiler leaves nothing of the question.
//
// Thread safety: PlantOrderingFault() before Explore().
#ifndef ONEFLOW_COMMON_INTERLEAVE_ORDERING_FAULT_H_
#define ONEFLOW_COMMON_INTERLEAVE_ORDERING_FAULT_H_

namespace oneflow {
namespace interleave {

enum class OrderingFault : int {
  kNone,
  // vm
  kLaunchedBeforeRecorded,    // an op is queued, and others look, before its storages know of it
  kSleepsBeforeSayingSo,      // a stream looks for work before it says that it goes to sleep
  kNotifiesBeforeAdvancing,   // who waits for an instruction is woken before it is complete
  kPoisonsAfterAdvancing,     // a failed op is complete before its outputs are poisoned
  kFreesBeforeCompletion,     // the pool does not hear of instructions that still use the memory
  kReleasesWithTheHandle,     // memory of the host goes back while an instruction still uses it
  kStopsBeforeClosingQueues,  // streams end while an op can still be queued
  // lifetime
  kClosesBeforeRefusing,  // a session closes graphs for which runs are still admitted
  kAdmitsBeforeAdding,    // a graph is admitted, and joins its session once that may be closed
  kClosesUnderLease,      // a graph is closed while a run holds it
  kLooksBeforeLeasing,    // that a graph is open is found out apart from taking the lease
  kLooksBeforeEntering,   // a thread looks whether the door is closed before it stands in it
  kReportsBeforeDone,     // who waits for a close is told before it is done
  // graph
  kActsOnAFullRegister,    // an actor writes a register that its consumers have not read yet
  kAcknowledgesTooEarly,   // a register is given back before the actor has read it
  kTellsTwice,             // consumers hear of a new value twice
  kMailboxKeepsTheLast,    // a message takes the place of one that was not read yet
  kMailboxSleepsTooEarly,  // a thread looks into its mailbox before it says that it goes to sleep
  kDoneBeforeActing,       // a run is over before its last actor has acted
  kRunsPastTheClose,       // that a graph is open is found out apart from the beginning of its run
};

#ifdef ONEFLOW_MODEL_CHECK
inline OrderingFault planted_ordering_fault = OrderingFault::kNone;
inline void PlantOrderingFault(OrderingFault fault) { planted_ordering_fault = fault; }
inline bool Misordered(OrderingFault fault) { return planted_ordering_fault == fault; }
#else
constexpr bool Misordered(OrderingFault) { return false; }
#endif

}  // namespace interleave
}  // namespace oneflow

#endif  // ONEFLOW_COMMON_INTERLEAVE_ORDERING_FAULT_H_
