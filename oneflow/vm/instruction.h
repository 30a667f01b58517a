// Instruction: one op call, self-contained, so that it can wait in a stream's queue.
//
// An OpCall is the borrowed form: everything points into the issuing function's stack frame, and an
// op that runs inline never needs more. Copying an OpCall into an Instruction copies shapes,
// strides and attributes, and takes references to the storages' records (not handles: memory is
// freed in stream order, see storage.h).
//
// Thread safety: an Instruction is written by its issuer, then read by its stream's thread.
// Happens-before: the queue's release store and acquire load.
#ifndef ONEFLOW_VM_INSTRUCTION_H_
#define ONEFLOW_VM_INSTRUCTION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "oneflow/common/stack_context.h"
#include "oneflow/common/stack_source.h"
#include "oneflow/kernels/kernel.h"
#include "oneflow/vm/storage.h"

namespace oneflow {

class Stream;
struct Arrangement;

// How the storages of a call must lie, for one that knows of arrangements.
struct ArrangedOperands {
  const Arrangement* const* wanted;  // of its reads, then its writes; nullptr: plain
  // Set by Vm::Issue(): nothing was issued, since a storage that should be arranged must stay plain.
  bool refused = false;
  int converted = 0;  // storages that were brought into another order first
};

// What happens to an op's targets when it fails, or when one of its inputs is poisoned.
enum class OnFailure : uint8_t {
  kPoison,      // outputs hold nothing: poisoned
  kKeepTarget,  // in place: the target keeps its old value, the error goes to the next sync
  kSkip,        // an accumulation or update: as kKeepTarget, and a poisoned input just skips it
};

struct OpCall {
  const char* op = nullptr;  // static text
  const Kernel* kernel = nullptr;
  KernelCall call;  // views and attributes, borrowed
  size_t attrs_size = 0;
  Storage* const* reads = nullptr;
  Storage* const* writes = nullptr;
  int num_reads = 0;
  int num_writes = 0;
  int num_updates =
      0;  // the last so many of the writes are never poisoned: they keep what they hold
  OnFailure on_failure = OnFailure::kPoison;
  bool overwrites = true;  // every written storage is written in full: clears its poison
  // Inline if it is estimated under this; 0: by the vm's own rule for an op.
  double inline_limit_ns = 0;
  Stream* stream = nullptr;
  ArrangedOperands* arranged = nullptr;  // nullptr: all its storages must be plain
};

class Instruction;
// Puts an instruction, emptied, where Instruction::Make() finds it. From any thread.
struct RecycleInstruction {
  void operator()(Instruction* instruction) const;
};
using InstructionPtr = std::unique_ptr<Instruction, RecycleInstruction>;

class Instruction {
 public:
  // Keeps the calling thread's stack context. Takes memory only where none is free, or `from` has more
  // operands than the free one ever had. REQUIRES the vm's issue lock.
  static InstructionPtr Make(const OpCall& from, StackId stack);
  Instruction(const Instruction&) = delete;
  Instruction& operator=(const Instruction&) = delete;

  struct Outcome {
    ErrorPtr error;        // nullptr: nothing to tell
    bool skipped = false;  // an op in place, because of this error of an earlier op
  };
  // Waits for other streams, runs the kernel, poisons on failure. Called by the stream's thread.
  Outcome Execute();

  // Will never run: what it would have written is poisoned.
  void Abandon(const ErrorPtr& error);

  void AddWait(StreamPoint point) { waits_.push_back(point); }
  // Before the instruction's point passes, *listener becomes the error that kept it from doing what it
  // should, unless it is an update that may be skipped. For an issuer that waits for it.
  void SetListener(std::shared_ptr<ErrorPtr> listener) { listener_ = std::move(listener); }
  const char* op() const { return call_.op; }

 private:
  friend struct RecycleInstruction;
  Instruction() = default;
  ~Instruction() = default;
  static Instruction* TakeFree();
  void Fill(const OpCall& from, StackId stack);
  void Clear();
  void CopyViews(const ArrayView* from, int count, ArrayView* to);
  Outcome Skip(const ErrorPtr& poison);
  Outcome Fail(const ErrorPtr& error);
  void PoisonWrites(const ErrorPtr& error);
  void Tell(const ErrorPtr& error) {
    if (listener_ != nullptr) { *listener_ = error; }
  }

  OpCall call_;
  StackId stack_ = kNoStack;
  StackContextPtr stack_context_;
  // Cleared, and not given up, between two uses.
  std::vector<ArrayView> views_;
  std::vector<Storage*> storages_;
  std::vector<StreamPoint> waits_;
  std::vector<int64_t> dims_;
  std::vector<char> attrs_;
  std::shared_ptr<ErrorPtr> listener_;
  Instruction* next_free_ = nullptr;
};

// Why an op never ran, as an error of that op: `[op] why`.
ErrorPtr NotRun(const char* op, const char* why);
inline constexpr char kForked[] = "expects to be computed before fork(), but it was still queued";

// Runs the kernel of `call` with scratch and threads set; names the op in a failure, and turns an
// exception of a library into an Error. In a trace it appears under `category` with the line of
// `stack`; nullptr: not at all.
Maybe<void> RunKernel(const OpCall& call, const char* category = "vm", StackId stack = kNoStack);

}  // namespace oneflow

#endif  // ONEFLOW_VM_INSTRUCTION_H_
