// The lifetime log: one line for each create, close and destruct, with its thread and time.
//
// Written to stderr under ONEFLOW_LOG_LIFETIME=1, and to a recorder that a test sets. Free of cost
// otherwise. Thread safety: all functions; lines are in the order in which things happened.
#ifndef ONEFLOW_LIFETIME_LIFETIME_LOG_H_
#define ONEFLOW_LIFETIME_LIFETIME_LOG_H_

#include <string>
#include <string_view>
#include <vector>

#include "oneflow/common/mutex.h"

namespace oneflow {
namespace lifetime {

// Example: LogLifetime("create", "graph", "LinearGraph_0") prints
// `oneflow: lifetime: +0.012345s thread 4711 create graph 'LinearGraph_0'`.
void LogLifetime(const char* event, const char* kind, std::string_view name);

// For tests: while one lives, it collects lines such as "create graph 'LinearGraph_0'".
// REQUIRES: one at a time.
class LifetimeRecorder {
 public:
  LifetimeRecorder();
  ~LifetimeRecorder();
  LifetimeRecorder(const LifetimeRecorder&) = delete;
  LifetimeRecorder& operator=(const LifetimeRecorder&) = delete;

  std::vector<std::string> lines() const;
  void Add(std::string line);

 private:
  mutable Mutex mutex_;
  std::vector<std::string> lines_ GUARDED_BY(mutex_);
};

}  // namespace lifetime
}  // namespace oneflow

#endif  // ONEFLOW_LIFETIME_LIFETIME_LOG_H_
