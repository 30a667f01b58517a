// Atomic in the model build; see common/atomic.h. Every access is a scheduling point, whatever its
// memory order: what is explored is sequentially consistent.
#ifndef ONEFLOW_COMMON_INTERLEAVE_MODEL_ATOMIC_H_
#define ONEFLOW_COMMON_INTERLEAVE_MODEL_ATOMIC_H_

#include <atomic>
#include <type_traits>

#include "oneflow/common/interleave/scheduler.h"

namespace oneflow {
namespace interleave {

template <typename T>
long long ValueForTrace(const T& value) {
  if constexpr (std::is_pointer_v<T>) {
    return value == nullptr ? 0 : 1;
  } else {
    return static_cast<long long>(value);
  }
}

template <typename T>
class ModelAtomic {
 public:
  ModelAtomic() : ModelAtomic(T()) {}
  ModelAtomic(T value) : value_(value), first_(value) {}  // NOLINT: implicit, as std's
  ~ModelAtomic() { Scheduler::EndObject(object_, Place()); }
  ModelAtomic(const ModelAtomic&) = delete;
  ModelAtomic& operator=(const ModelAtomic&) = delete;

  T load(std::memory_order = std::memory_order_seq_cst, Place place = Place::Here()) const {
    Enter(OpKind::kLoad, place);
    return Note(value_);
  }
  void store(T value, std::memory_order = std::memory_order_seq_cst, Place place = Place::Here()) {
    Enter(OpKind::kStore, place);
    Set(value);
  }
  T exchange(T value, std::memory_order = std::memory_order_seq_cst, Place place = Place::Here()) {
    Enter(OpKind::kUpdate, place);
    const T before = value_;
    Set(value);
    return before;
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order = {},
                               std::memory_order = {}, Place place = Place::Here()) {
    Enter(OpKind::kUpdate, place);
    if (value_ == expected) {
      Set(desired);
      return true;
    }
    expected = Note(value_);
    return false;
  }
  // Never fails for no reason: the loop around it would only do the same again.
  bool compare_exchange_weak(T& expected, T desired, std::memory_order = {}, std::memory_order = {},
                             Place place = Place::Here()) {
    return compare_exchange_strong(expected, desired, {}, {}, place);
  }
  T fetch_add(T by, std::memory_order = std::memory_order_seq_cst, Place place = Place::Here()) {
    Enter(OpKind::kUpdate, place);
    const T before = value_;
    Set(static_cast<T>(before + by));
    return before;
  }
  T fetch_sub(T by, std::memory_order = std::memory_order_seq_cst, Place place = Place::Here()) {
    Enter(OpKind::kUpdate, place);
    const T before = value_;
    Set(static_cast<T>(before - by));
    return before;
  }
  operator T() const { return load(std::memory_order_seq_cst, Place()); }  // NOLINT: implicit
  T operator=(T value) {
    store(value, std::memory_order_seq_cst, Place());
    return value;
  }

 private:
  void Enter(OpKind kind, Place place) const {
    Scheduler* scheduler = Scheduler::Current();
    if (scheduler == nullptr) { return; }
    if (!scheduler->Touch(object_)) { value_ = first_; }
    if (scheduler->IsHidden(place)) { return; }
    scheduler->Point({kind, object_, nullptr, 0, 1, place});
  }
  const T& Note(const T& value) const {
    Scheduler* scheduler = Scheduler::Current();
    if (scheduler != nullptr) { scheduler->NoteValue(ValueForTrace(value)); }
    return value;
  }
  void Set(T value) {
    value_ = value;
    if (Scheduler::Current() == nullptr) { first_ = value; }
    Note(value);
  }

  Object* const object_ = Scheduler::NewObject("atomic");
  mutable T value_;
  T first_;  // of a static one: what it holds when an exploration begins
};

// Memory that several threads use, and that other means must order: two accesses that nothing
// orders, one of them a write, are a failure. For scenarios.
template <typename T>
class Plain {
 public:
  explicit Plain(T value = T()) : value_(value) {}
  ~Plain() { Scheduler::EndObject(object_, Place()); }
  Plain(const Plain&) = delete;
  Plain& operator=(const Plain&) = delete;

  T Read(Place place = Place::Here()) const {
    Enter(OpKind::kReadPlain, place);
    return value_;
  }
  void Write(T value, Place place = Place::Here()) {
    Enter(OpKind::kWritePlain, place);
    value_ = value;
  }

 private:
  void Enter(OpKind kind, Place place) const {
    Scheduler* scheduler = Scheduler::Current();
    if (scheduler == nullptr) { return; }
    scheduler->Touch(object_);
    scheduler->Point({kind, object_, nullptr, 0, 1, place});
  }

  Object* const object_ = Scheduler::NewObject("plain");
  T value_;
};

}  // namespace interleave
}  // namespace oneflow

#endif  // ONEFLOW_COMMON_INTERLEAVE_MODEL_ATOMIC_H_
