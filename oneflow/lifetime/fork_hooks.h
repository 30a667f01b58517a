// Fork hooks: what has to be done around fork(), in one order for the whole process.
//
// Before the fork the prepare hooks run by rising order (streams are drained, then locks are taken,
// outermost first); after it, in the parent and in the child, the other hooks run by falling order.
// Hooks of equal order run in the order of registration, and are undone in reverse.
//
// Thread safety: all functions. Hooks run on the forking thread, with its host lock, if it holds it;
// they must not register hooks.
#ifndef ONEFLOW_LIFETIME_FORK_HOOKS_H_
#define ONEFLOW_LIFETIME_FORK_HOOKS_H_

#include <functional>

namespace oneflow {
namespace lifetime {

// Outermost first: a hook may wait for what a later one locks, never the other way round.
enum class ForkOrder : int {
  kDrainStreams,  // up to the shutdown deadline
  kLifetime,      // session and closer
  kVm,            // the issue lock
  kCompute,       // the compute token
  kPool,          // memory pools
  kRecorder,      // the stack recorder
};

struct ForkHooks {
  std::function<void()> prepare;
  std::function<void()> in_parent;
  std::function<void()> in_child;
};

// Any of the three may be empty. Hooks stay for the life of the process.
void RegisterForkHooks(ForkOrder order, ForkHooks hooks);

// True in a process that was forked from one that used this library.
bool InForkChild();

}  // namespace lifetime
}  // namespace oneflow

#endif  // ONEFLOW_LIFETIME_FORK_HOOKS_H_
