// Search: which process takes the next step, so that in the end every schedule has been run.
//
// A depth-first search without stored states: a schedule is run from the start each time, and the
// search remembers the decisions of the last one (a node for each step), with what remains to be
// tried at each. Algorithm: Flanagan and Godefroid 2005, figure 4, with sleep sets. See explore.h.
//
// Thread safety: none.
#ifndef ONEFLOW_COMMON_INTERLEAVE_SEARCH_H_
#define ONEFLOW_COMMON_INTERLEAVE_SEARCH_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "oneflow/common/interleave/explore.h"
#include "oneflow/common/interleave/operation.h"

namespace oneflow {
namespace interleave {

struct Step {
  int process = 0;
  int choice = 0;
  Op op;
  int object_id = 0;
  int second_id = 0;
  bool has_value = false;
  long long value = 0;  // what an atomic held afterwards; which waiter, which choice
};

// Where the program stands: what each process is about to do.
struct Situation {
  // nullptr: nothing, or nothing whose order could be told.
  std::array<const Op*, kMaxProcesses> next{};
  ProcessSet enabled = 0;
  ProcessSet present = 0;  // those that have something in `next`
  int running = 0;         // the thread of the last step
};

class Search {
 public:
  explicit Search(const Options& options);

  void BeginSchedule();
  // The process to take the next step.
  int Decide(const Situation& now);
  // Which of `choices` outcomes the step has, right after Decide().
  int DecideChoice(int choices);
  // The step is taken. `clock_of`'s clock is brought up to date.
  void Commit(int process, int choice, const Op& op);
  // What `process` is about to do is new.
  void Renewed(int process) { analysed_[static_cast<size_t>(process)] = 0; }
  // False when there is no further schedule.
  bool EndSchedule();

  // What happened before a step, itself included; steps count from 1.
  const VectorClock& clock_of_step(size_t number) const { return step_clocks_[number - 1]; }
  VectorClock& clock(int process) { return clocks_[static_cast<size_t>(process)]; }
  std::vector<Step>& steps() { return steps_; }
  const std::vector<Step>& steps() const { return steps_; }
  bool redundant() const { return redundant_; }
  // Not empty: two steps that are not ordered touch a plain variable.
  const std::string& race() const { return race_; }
  // Not empty: the program did not do what it did before.
  const std::string& divergence() const { return divergence_; }

 private:
  struct Node {
    ProcessSet enabled = 0;
    ProcessSet wanted = 0;  // to be tried (Flanagan and Godefroid's backtrack set)
    ProcessSet done = 0;
    ProcessSet sleeping = 0;  // leads only to what has been explored
    int chosen = 0;
    int choice = 0;
    int choices = 1;
    int preemptions = 0;
    int running = 0;
    uint64_t signature = 0;  // of what everyone is about to do
  };

  int DecideNew(const Situation& now);
  int DecideAgain(const Situation& now);
  void FindRaces(const Situation& now);
  void Want(size_t step, int process);
  ProcessSet SleepersAfterLastStep(const Situation& now) const;
  ProcessSet Affordable(const Node& node) const;
  int Prefer(ProcessSet candidates, int running) const;
  void TakeReplay(const std::string& text);

  const Options options_;
  std::vector<Node> nodes_;  // node i stands before step i
  std::vector<Step> steps_;
  std::vector<VectorClock> step_clocks_;
  std::array<VectorClock, kMaxProcesses> clocks_;
  std::array<size_t, kMaxProcesses> analysed_{};  // steps that FindRaces() has compared with
  bool redundant_ = false;
  std::string race_;
  std::string divergence_;
  std::vector<std::pair<int, int>> replay_;  // process, choice
};

// The decisions in `steps` as one word for Options::replay.
std::string ScheduleText(const std::vector<Step>& steps);

}  // namespace interleave
}  // namespace oneflow

#endif  // ONEFLOW_COMMON_INTERLEAVE_SEARCH_H_
