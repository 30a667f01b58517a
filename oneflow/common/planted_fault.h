// Planted faults: the code misbehaves on request, so that a test shows that it would notice.
//
// A fault is planted where it would be made: `if (FaultPlanted(Fault::kX)) { <do the wrong thing> }`.
// Only cold paths may ask (errors, waits that sleep, starts and ends), never the path of an op that
// succeeds. What is built for users always answers no, and does not know the faults' names; the
// answer comes from planted_faults_testlib where that is linked in: in the extension module
// //oneflow/api/python:_oneflow_internal_with_faults, which reads it from the environment, and in C++
// tests. How to plant a fault: python/tests/faults/README.md.
//
// Thread safety: all functions, from any thread, at any moment.
#ifndef ONEFLOW_COMMON_PLANTED_FAULT_H_
#define ONEFLOW_COMMON_PLANTED_FAULT_H_

#include "oneflow/common/maybe.h"

// X(enumerator, name). Each has a row in python/tests/faults/catalogue.py, which says what it does.
// clang-format off: one line each, so that two changes do not meet.
#define ONEFLOW_PLANTED_FAULTS(X) \
  X(kCallsAbort, "calls_abort") \
  X(kCallsExit, "calls_exit") \
  X(kCallsUnderscoreExit, "calls__exit") \
  X(kCallsQuickExit, "calls_quick_exit") \
  X(kCallsTerminate, "calls_terminate") \
  X(kKernelErrorEscapes, "kernel_error_escapes") \
  X(kAllocationFailureAborts, "allocation_failure_aborts") \
  X(kDivisionByZeroTraps, "division_by_zero_traps") \
  X(kMissingGpuAborts, "missing_gpu_aborts") \
  X(kBadIndexGivesZeros, "bad_index_gives_zeros") \
  X(kCheckJustInDestructor, "check_just_in_destructor") \
  X(kOutOfMemoryWrongOrder, "out_of_memory_wrong_order") \
  X(kOutOfMemoryWrongLine, "out_of_memory_wrong_line") \
  X(kStopDoesNotWakeStream, "stop_does_not_wake_stream") \
  X(kDeadlineIgnored, "deadline_ignored") \
  X(kUnreadErrorNotReported, "unread_error_not_reported") \
  X(kFramesReadWithoutGil, "frames_read_without_gil") \
  X(kDestructorThrowsOnceClosed, "destructor_throws_once_closed") \
  X(kSyncInDestructorHangs, "sync_in_destructor_hangs") \
  X(kLoaderWorkerNotEnded, "loader_worker_not_ended") \
  X(kForkChildWaitsForThreads, "fork_child_waits_for_threads") \
  X(kInterruptAborts, "interrupt_aborts") \
  X(kSharedMemoryLeftBehind, "shared_memory_left_behind") \
  X(kAdmissionStaysOpen, "admission_stays_open") \
  X(kOwnerFreedWithoutGil, "owner_freed_without_gil") \
  X(kStackLineOverwritten, "stack_line_overwritten") \
  X(kStackSharedByThreads, "stack_shared_by_threads") \
  X(kStackNamesBorrowed, "stack_names_borrowed") \
  X(kStackFormatsWithGil, "stack_formats_with_gil") \
  X(kStackSourceFromFilesOnly, "stack_source_from_files_only") \
  X(kStackFrameHook, "stack_frame_hook") \
  X(kStackInnermostFirst, "stack_innermost_first") \
  X(kStackBackwardLineOnly, "stack_backward_line_only") \
  X(kVisibleNotAwaited, "visible_not_awaited") \
  X(kFreedServesAtOnce, "freed_serves_at_once") \
  X(kLastOwnerForgotten, "last_owner_forgotten") \
  X(kPoisonNotSpread, "poison_not_spread") \
  X(kInPlacePoisons, "in_place_poisons") \
  X(kFailedMemoryLeaks, "failed_memory_leaks") \
  X(kWaitsIgnoreSignals, "waits_ignore_signals") \
  X(kBackwardNamesTheCallOnly, "backward_names_the_call_only") \
  X(kAnomalyNamesALaterNan, "anomaly_names_a_later_nan") \
  X(kCollectorSeesNoHooks, "collector_sees_no_hooks") \
  X(kGraphsOutliveThreads, "graphs_outlive_threads") \
  X(kArrangedTakenForPlain, "arranged_taken_for_plain") \
  /* end */
// clang-format on

namespace oneflow {

enum class Fault : int {
  kNone,
#define ONEFLOW_FAULT_ENUMERATOR_(enumerator, name) enumerator,
  ONEFLOW_PLANTED_FAULTS(ONEFLOW_FAULT_ENUMERATOR_)
#undef ONEFLOW_FAULT_ENUMERATOR_
};

// Is `fault` the one that was asked for?
bool FaultPlanted(Fault fault);

// If it is, the process dies by `signal`, as it would after a failed assertion (SIGABRT), a division
// (SIGFPE) or a bad pointer (SIGSEGV).
void DieIfPlanted(Fault fault, int signal);

// ValueError when a fault was asked for that does not exist. For the module's import.
Maybe<void> CheckPlantedFault();

}  // namespace oneflow

#endif  // ONEFLOW_COMMON_PLANTED_FAULT_H_
