// The OpenMP threads of the calling thread, brought to life before a parallel region.
//
// A worker that sleeps is woken by the kernel's scheduler where it likes: with no core idle at that
// moment, behind the very thread that wakes it. That thread then polls for the worker that it keeps
// from running, both end up asleep on one core, and the next region starts from there, while the
// other core idles: regions of 15 us take 90, for as long as the program goes on. So whoever opens
// a region after a pause assembles its team first, and pushes a worker that does not show up away
// from its own core. Nothing is lost by waiting: work is split in equal parts, so the region could
// not have ended before the last worker had woken up and done its own.
//
// Threads stay free to move: a mask of cores is back as it was when the call returns, and masks
// that leave no other core (OMP_PROC_BIND) are not touched.
//
// Thread safety: each thread has a team of its own. Blocks for at most 80 us.
#ifndef ONEFLOW_DEVICE_CPU_TEAM_H_
#define ONEFLOW_DEVICE_CPU_TEAM_H_

#include <sys/types.h>

namespace oneflow {
namespace cpu {

// Returns when all `threads` of the team poll for work, or after 80 us.
void AssembleTeam(int threads);

// Moves a thread of this process from `core` to another one that it may use, at once if it runs or
// waits to run; false if there is no such thread or core. It may come back later.
bool PushFromCore(pid_t thread, int core);

}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_DEVICE_CPU_TEAM_H_
