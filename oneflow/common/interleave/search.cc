#include "oneflow/common/interleave/search.h"

#include <sstream>
#include <utility>

namespace oneflow {
namespace interleave {

namespace {

size_t Index(int process) { return static_cast<size_t>(process); }

int Lowest(ProcessSet set) { return __builtin_ctz(set); }

constexpr ProcessSet kAllThreads = Only(kMaxThreads) - 1;

// FNV-1a over kinds and lines.
uint64_t SignatureOf(const Situation& now) {
  uint64_t hash = 14695981039346656037ull;
  for (ProcessSet left = now.present; left != 0; left &= left - 1) {
    const Op& next = *now.next[Index(Lowest(left))];
    const auto what =
        static_cast<unsigned>(next.place.line) * 32 + static_cast<unsigned>(next.kind);
    hash = (hash ^ what ^ now.present) * 1099511628211ull;
  }
  return hash;
}

}  // namespace

Search::Search(const Options& options) : options_(options) { TakeReplay(options.replay); }

void Search::BeginSchedule() {
  steps_.clear();
  step_clocks_.clear();
  clocks_.fill(VectorClock());
  analysed_.fill(0);
  redundant_ = false;
}

int Search::Decide(const Situation& now) {
  const size_t depth = steps_.size();
  if (!replay_.empty()) {
    if (depth >= replay_.size()) { return Prefer(now.enabled, now.running); }
    const int process = replay_[depth].first;
    if (Has(now.enabled, process)) { return process; }
    divergence_ = "the schedule to replay is not one of this program";
    return Prefer(now.enabled, now.running);
  }
  if (redundant_) { return Prefer(now.enabled, now.running); }
  return depth < nodes_.size() ? DecideAgain(now) : DecideNew(now);
}

int Search::DecideAgain(const Situation& now) {
  Node& node = nodes_[steps_.size()];
  if (now.enabled != node.enabled || SignatureOf(now) != node.signature) {
    divergence_ = "after the same decisions the program did something else";
  }
  analysed_.fill(steps_.size());  // this situation has been looked at before
  return node.chosen;
}

int Search::DecideNew(const Situation& now) {
  Node node;
  node.enabled = now.enabled;
  node.running = now.running;
  node.signature = SignatureOf(now);
  if (!nodes_.empty()) {
    const Node& before = nodes_.back();
    const bool preempts = before.chosen < kMaxThreads && before.chosen != before.running &&
                          Has(before.enabled, before.running);
    node.preemptions = before.preemptions + (preempts ? 1 : 0);
  }
  if (options_.reduction == Reduction::kClasses) {
    FindRaces(now);
    node.sleeping = SleepersAfterLastStep(now);
    const ProcessSet awake = node.enabled & ~node.sleeping;
    if (awake == 0) {
      redundant_ = true;  // runs to its end all the same, so that nothing is left behind
      return Prefer(now.enabled, now.running);
    }
    node.chosen = Prefer(awake, now.running);
    node.wanted = Only(node.chosen);
  } else {
    node.wanted = Affordable(node);
    node.chosen = Prefer(node.wanted, now.running);
  }
  nodes_.push_back(node);
  return node.chosen;
}

int Search::DecideChoice(int choices) {
  const size_t depth = steps_.size();
  if (!replay_.empty()) { return depth < replay_.size() ? replay_[depth].second : 0; }
  if (redundant_) { return 0; }
  Node& node = nodes_[depth];
  node.choices = choices;
  return node.choice;
}

void Search::Commit(int process, int choice, const Op& op) {
  VectorClock& mine = clock(process);
  const auto join = [&](Object* object, Access access) {
    if (object == nullptr || access == Access::kNone) { return; }
    mine.Join(object->writes);
    if (access != Access::kRead) { mine.Join(object->reads); }
  };
  join(op.object, AccessOf(op));
  join(op.second, SecondAccessOf(op));
  Step step;
  step.process = process;
  step.choice = choice;
  step.op = op;
  step.object_id = op.object == nullptr ? 0 : op.object->id;
  step.second_id = op.second == nullptr ? 0 : op.second->id;
  steps_.push_back(step);
  mine.at[Index(process)] = static_cast<uint32_t>(steps_.size());
  const auto publish = [&](Object* object, Access access) {
    if (object == nullptr || access == Access::kNone) { return; }
    (access == Access::kRead ? object->reads : object->writes).Join(mine);
    if (access == Access::kWrite || access == Access::kRelease) {
      object->changes.push_back(steps_.size());
    }
  };
  publish(op.object, AccessOf(op));
  publish(op.second, SecondAccessOf(op));
  step_clocks_.push_back(mine);
}

// For each process: the last step that competes with what it is about to do, and that could have
// come after it.
void Search::FindRaces(const Situation& now) {
  for (ProcessSet left = now.present; left != 0; left &= left - 1) {
    const int p = Lowest(left);
    const Op* next = now.next[Index(p)];
    if (next->kind == OpKind::kPause) {
      // Something else might have ended it, had that step come later.
      if (next->cause > analysed_[Index(p)]) { Want(next->cause - 1, p); }
      analysed_[Index(p)] = steps_.size();
      continue;
    }
    const VectorClock& known = clock(p);
    for (size_t i = steps_.size(); i > analysed_[Index(p)]; --i) {
      const Step& step = steps_[i - 1];
      // Quickly past the many that touch something else.
      if (step.op.object != next->object && step.op.second == nullptr && next->second == nullptr) {
        continue;
      }
      if (step.process == p || known.at[Index(step.process)] >= i) { continue; }
      if (!MayRace(step.op, *next)) { continue; }
      const bool plain = next->kind == OpKind::kReadPlain || next->kind == OpKind::kWritePlain;
      if (plain && step.op.kind != OpKind::kDestroy) {
        std::ostringstream text;
        text << "thread " << step.process << " (" << step.op.place.file << ":" << step.op.place.line
             << ") and thread " << p << " (" << next->place.file << ":" << next->place.line
             << ") touch the same plain variable at the same time";
        race_ = text.str();
      }
      Want(i - 1, p);
      break;
    }
    analysed_[Index(p)] = steps_.size();
  }
}

// Sees to it that before `step` something is tried that leads to `process` going first.
void Search::Want(size_t step, int process) {
  Node& node = nodes_[step];
  if (Has(node.enabled, process)) {
    node.wanted |= Only(process);
    return;
  }
  ProcessSet leading = 0;
  for (int q = 0; q < kMaxProcesses; ++q) {
    if (Has(node.enabled, q) && clock(process).at[Index(q)] > step + 1) { leading |= Only(q); }
  }
  if (leading == 0) {
    node.wanted |= node.enabled;
  } else if ((leading & node.wanted) == 0) {
    node.wanted |= Only(Lowest(leading));
  }
}

ProcessSet Search::SleepersAfterLastStep(const Situation& now) const {
  if (nodes_.empty()) { return 0; }
  const Node& before = nodes_.back();
  ProcessSet sleeping = (before.sleeping | before.done) & ~Only(before.chosen);
  for (int q = 0; q < kMaxProcesses; ++q) {
    if (!Has(sleeping, q)) { continue; }
    const Op* next = now.next[Index(q)];
    if (!Has(now.enabled, q) || (next != nullptr && Dependent(*next, steps_.back().op))) {
      sleeping &= ~Only(q);
    }
  }
  return sleeping;
}

// Those that the bound on preemptions allows.
ProcessSet Search::Affordable(const Node& node) const {
  const bool must_stay = options_.reduction == Reduction::kPreemptions &&
                         node.preemptions >= options_.preemptions &&
                         Has(node.enabled, node.running);
  return must_stay ? node.enabled & (Only(node.running) | ~kAllThreads) : node.enabled;
}

// The running thread as long as it can, and time-outs last: the simplest schedule comes first.
int Search::Prefer(ProcessSet candidates, int running) const {
  if (Has(candidates, running)) { return running; }
  const ProcessSet threads = candidates & kAllThreads;
  return Lowest(threads != 0 ? threads : candidates);
}

bool Search::EndSchedule() {
  if (!replay_.empty()) { return false; }
  while (!nodes_.empty()) {
    Node& node = nodes_.back();
    if (++node.choice < node.choices) { return true; }
    node.done |= Only(node.chosen);
    const ProcessSet left = node.wanted & ~node.done & ~node.sleeping;
    if (left != 0) {
      node.chosen = Lowest(left);
      node.choice = 0;
      node.choices = 1;
      return true;
    }
    nodes_.pop_back();
  }
  return false;
}

// "0*12.1.0:2": process 0 twelve times, process 1 once, process 0 with its outcome 2.
std::string ScheduleText(const std::vector<Step>& steps) {
  std::ostringstream text;
  for (size_t i = 0; i < steps.size();) {
    size_t end = i + 1;
    while (end < steps.size() && steps[end].process == steps[i].process &&
           steps[end].choice == steps[i].choice) {
      ++end;
    }
    text << (i == 0 ? "" : ".") << steps[i].process;
    if (steps[i].choice != 0) { text << ":" << steps[i].choice; }
    if (end - i > 1) { text << "*" << end - i; }
    i = end;
  }
  return text.str();
}

void Search::TakeReplay(const std::string& text) {
  std::istringstream in(text);
  std::string word;
  while (std::getline(in, word, '.')) {
    int process = 0;
    int choice = 0;
    int times = 1;
    char mark = 0;
    std::istringstream parts(word);
    parts >> process;
    while (parts >> mark) { parts >> (mark == ':' ? choice : times); }
    for (int i = 0; i < times; ++i) { replay_.emplace_back(process, choice); }
  }
}

}  // namespace interleave
}  // namespace oneflow
