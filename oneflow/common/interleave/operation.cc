#include "oneflow/common/interleave/operation.h"

namespace oneflow {
namespace interleave {

const char* NameOf(OpKind kind) {
  switch (kind) {
    case OpKind::kNone: return "starts";
    case OpKind::kLoad: return "load";
    case OpKind::kStore: return "store";
    case OpKind::kUpdate: return "update";
    case OpKind::kLock: return "lock";
    case OpKind::kTryLock: return "try-lock";
    case OpKind::kUnlock: return "unlock";
    case OpKind::kWait: return "wait";
    case OpKind::kWake: return "wake";
    case OpKind::kNotifyOne: return "notify-one";
    case OpKind::kNotifyAll: return "notify-all";
    case OpKind::kTimeout: return "timeout";
    case OpKind::kReadPlain: return "read";
    case OpKind::kWritePlain: return "write";
    case OpKind::kDestroy: return "destroy";
    case OpKind::kJoin: return "join";
    case OpKind::kPause: return "pause";
    case OpKind::kPark: return "park";
    case OpKind::kChoose: return "choose";
  }
  return "";
}

Access AccessOf(const Op& op) {
  switch (op.kind) {
    case OpKind::kLoad:
    case OpKind::kReadPlain: return Access::kRead;
    case OpKind::kStore:
    case OpKind::kUpdate:
    case OpKind::kTryLock:
    case OpKind::kWait:
    case OpKind::kNotifyOne:
    case OpKind::kNotifyAll:
    case OpKind::kTimeout:
    case OpKind::kWritePlain:
    case OpKind::kDestroy: return Access::kWrite;
    case OpKind::kLock:
    case OpKind::kWake: return Access::kAcquire;
    case OpKind::kUnlock: return Access::kRelease;
    case OpKind::kNone:
    case OpKind::kJoin:
    case OpKind::kPause:
    case OpKind::kPark:
    case OpKind::kChoose: return Access::kNone;
  }
  return Access::kNone;
}

Access SecondAccessOf(const Op& op) {
  if (op.second == nullptr) { return Access::kNone; }
  return op.kind == OpKind::kWait ? Access::kRelease : Access::kWrite;
}

namespace {

bool Conflict(Access a, Access b) {
  if (a == Access::kNone || b == Access::kNone) { return false; }
  return a != Access::kRead || b != Access::kRead;
}

bool Compete(Access a, Access b) {
  if (!Conflict(a, b)) { return false; }
  if (a == Access::kRelease) { return b != Access::kAcquire && b != Access::kRelease; }
  return b != Access::kRelease || a != Access::kAcquire;
}

template <typename Test>
bool AnyShared(const Op& a, const Op& b, Test test) {
  if (a.object == nullptr || b.object == nullptr) { return false; }
  if (a.object == b.object && test(AccessOf(a), AccessOf(b))) { return true; }
  if (a.second == nullptr && b.second == nullptr) { return false; }
  return (a.second == b.object && test(SecondAccessOf(a), AccessOf(b))) ||
         (a.object == b.second && test(AccessOf(a), SecondAccessOf(b))) ||
         (a.second != nullptr && a.second == b.second &&
          test(SecondAccessOf(a), SecondAccessOf(b)));
}

}  // namespace

bool Dependent(const Op& a, const Op& b) { return AnyShared(a, b, Conflict); }

bool MayRace(const Op& a, const Op& b) { return AnyShared(a, b, Compete); }

}  // namespace interleave
}  // namespace oneflow
