// Env: the one owner at the top: of the subsystems, and of the session with its graphs.
//
// boot registers subsystems and calls Start(); the exit hook calls Shutdown(), which
//   1. closes admission: no new graphs, communicators or loaders (state kClosing);
//   2. closes the session, its graphs newest first;
//   3. stops the subsystems in reverse order of registration;
//   4. joins the closer's thread (state kClosed). From here on everything runs inline.
// Nothing is destroyed afterwards: the Env of the process is leaked, with all that it owns.
//
// Thread safety: all methods but Register(), which belongs to one thread before Start().
// Blocking: Shutdown() waits without the host's lock, up to the shutdown deadline; past it the
// process ends with a report (late_exit.h).
#ifndef ONEFLOW_LIFETIME_ENV_H_
#define ONEFLOW_LIFETIME_ENV_H_

#include <memory>
#include <string_view>
#include <vector>

#include "oneflow/common/maybe.h"
#include "oneflow/common/mutex.h"
#include "oneflow/lifetime/admission.h"
#include "oneflow/lifetime/closer.h"
#include "oneflow/lifetime/session.h"
#include "oneflow/lifetime/subsystem.h"

namespace oneflow {
namespace lifetime {

class Env {
 public:
  // The Env of the process; made by the first call, never freed.
  static Env* Get();

  // Public for tests only. REQUIRES before destruction: not started, or shut down.
  Env();
  ~Env();
  Env(const Env&) = delete;
  Env& operator=(const Env&) = delete;

  // An error after Start(), and for a name that is taken.
  Maybe<void> Register(std::unique_ptr<Subsystem> subsystem);
  // Starts the subsystems in order. When one fails, those before it are stopped in reverse, and its
  // error is returned; the Env is then as before.
  Maybe<void> Start();
  // Idempotent; a second caller waits for the first. Without a successful Start() it does nothing.
  // `status` is what the process was going to exit with. On a runtime thread it posts and returns.
  // An interrupt meanwhile makes the subsystems give up what they have not begun.
  void Shutdown(int status = 0);

  EnvState state() const { return admission_.state(); }
  const Admission& admission() const { return admission_; }
  // RuntimeError once `who` ("[all_reduce]") can no longer be served.
  Maybe<void> CheckOpen(std::string_view who) const { return admission_.Check(who); }
  Session* session() { return &session_; }

 private:
  explicit Env(bool of_process);
  void CloseInJob(Deadline deadline);
  void GiveUp();
  void StopSubsystem(Subsystem* subsystem, Deadline deadline);
  void InstallForkHooks();

  const bool of_process_;  // the one of Get(): it knows of fork()
  Admission admission_;
  Closer closer_;
  Session session_;
  std::vector<std::unique_ptr<Subsystem>> subsystems_;
};

}  // namespace lifetime
}  // namespace oneflow

#endif  // ONEFLOW_LIFETIME_ENV_H_
