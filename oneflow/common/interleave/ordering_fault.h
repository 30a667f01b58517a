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
  kLaunchedBeforeRecorded,  // an op is queued, and others may look, before its storages know of it
  kSleepsBeforeSayingSo,    // a stream looks for work before it says that it is going to sleep
  kPoisonAfterCompletion,   // a failed op is complete before its outputs are poisoned
  kFreedBeforeCompletion,   // memory of somebody else is given back while a queued op uses it
  kStopsBeforeQueueIsClosed,  // streams end while an op is still being queued
  // lifetime
  kClosesUnderLease,      // a graph is closed while a run holds it
  kAdmitsAfterLastLook,   // whether a graph is closed is looked up apart from taking the lease
  kReportsBeforeJobEnds,  // a close returns before it is done
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
