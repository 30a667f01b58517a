// Grad mode: whether ops of the calling thread are recorded on the tape.
//
// Thread safety: thread-local.
#ifndef ONEFLOW_AUTOGRAD_GRAD_MODE_H_
#define ONEFLOW_AUTOGRAD_GRAD_MODE_H_

namespace oneflow {

inline thread_local bool grad_mode_enabled = true;

inline bool GradModeEnabled() { return grad_mode_enabled; }
inline void SetGradModeEnabled(bool enabled) { grad_mode_enabled = enabled; }

// Sets the mode for the life of the object.
class ScopedGradMode {
 public:
  explicit ScopedGradMode(bool enabled) : previous_(grad_mode_enabled) {
    grad_mode_enabled = enabled;
  }
  ~ScopedGradMode() { grad_mode_enabled = previous_; }
  ScopedGradMode(const ScopedGradMode&) = delete;
  ScopedGradMode& operator=(const ScopedGradMode&) = delete;

 private:
  bool previous_;
};

}  // namespace oneflow

#endif  // ONEFLOW_AUTOGRAD_GRAD_MODE_H_
