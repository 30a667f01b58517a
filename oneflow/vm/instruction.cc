#include "oneflow/vm/instruction.h"

#include <algorithm>
#include <exception>
#include <new>
#include <string>

#include "oneflow/common/atomic.h"
#include "oneflow/common/interleave/ordering_fault.h"
#include "oneflow/common/planted_fault.h"
#include "oneflow/common/trace.h"
#include "oneflow/vm/stream.h"

namespace oneflow {

ErrorPtr NotRun(const char* op, const char* why) {
  ErrorPtr error = RuntimeError("[{}] {}", op, why);
  error->set_op(op);
  return error;
}

namespace {

// "(2, 3), (3,)", as Python writes them.
std::string ShapesOf(const KernelCall& call) {
  std::string text;
  for (int i = 0; i < call.num_inputs; ++i) {
    if (!call.inputs[i].given) { continue; }
    const ArrayView& view = call.inputs[i];
    text += text.empty() ? "(" : ", (";
    for (int d = 0; d < view.ndim; ++d) {
      text += (d == 0 ? "" : ", ") + std::to_string(view.shape[d]);
    }
    text += view.ndim == 1 ? ",)" : ")";
  }
  return text;
}

}  // namespace

Maybe<void> RunKernel(const OpCall& call, const char* category, StackId stack) {
  TraceScope trace(category, call.op);
  if (__builtin_expect(trace.sink() != nullptr, 0)) {
    trace.Tell({stack, trace.sink()->WantsShapes() ? ShapesOf(call.call) : std::string()});
  }
  ErrorPtr failure;
  try {
    Maybe<void> ran = call.kernel->run(call.call);
    if (__builtin_expect(ran.ok(), 1)) { return Ok(); }
    failure = ran.error();
  } catch (const ErrorException& e) { failure = e.error(); } catch (const std::bad_alloc&) {
    failure = OutOfMemoryError("[{}] kernel {} found no memory for its own use", call.op,
                               call.kernel->name);
  } catch (const std::exception& e) {
    failure = InternalError("[{}] kernel {} threw: {}", call.op, call.kernel->name, e.what());
  } catch (...) {
    failure =
        InternalError("[{}] kernel {} threw what is no std::exception", call.op, call.kernel->name);
  }
  if (failure->kind() == ErrorKind::kInternal) {
    failure->AddFrame(__FILE__, __LINE__, "kernel->run(call)");
  }
  failure->MarkFromKernel();
  if (failure->op().empty()) { failure->set_op(call.op); }
  if (FaultPlanted(Fault::kKernelErrorEscapes)) { CHECK_JUST(Maybe<void>(failure)); }
  return failure;
}

namespace {

// Instructions that wait to be used again: at most so many, as a queue may have been long once. None
// where a tool watches over memory: it would not see a use after the end.
#if defined(ONEFLOW_MODEL_CHECK) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kMostFree = 0;
#else
constexpr int kMostFree = 256;
#endif
// Only whoever holds the vm's issue lock takes one away; so none is taken, used and put back while
// another thread looks at it, and a plain linked list without locks serves.
Atomic<Instruction*> first_free{nullptr};
Atomic<int> num_free{0};

}  // namespace

Instruction* Instruction::TakeFree() {
  if (kMostFree == 0) { return nullptr; }
  Instruction* first = first_free.load(std::memory_order_acquire);
  while (first != nullptr &&
         !first_free.compare_exchange_weak(first, first->next_free_, std::memory_order_acquire)) {}
  if (first != nullptr) { num_free.fetch_sub(1, std::memory_order_relaxed); }
  return first;
}

InstructionPtr Instruction::Make(const OpCall& from, StackId stack) {
  Instruction* instruction = TakeFree();
  if (instruction == nullptr) { instruction = new Instruction; }
  InstructionPtr made(instruction);
  made->Fill(from, stack);
  return made;
}

void RecycleInstruction::operator()(Instruction* instruction) const {
  instruction->Clear();
  if (kMostFree == 0 || num_free.load(std::memory_order_relaxed) >= kMostFree) {
    delete instruction;
    return;
  }
  num_free.fetch_add(1, std::memory_order_relaxed);
  Instruction* first = first_free.load(std::memory_order_relaxed);
  do {
    instruction->next_free_ = first;
  } while (!first_free.compare_exchange_weak(first, instruction, std::memory_order_release));
}

void Instruction::Fill(const OpCall& from, StackId stack) {
  call_ = from;
  call_.arranged = nullptr;  // the issuer's
  stack_ = stack;
  stack_context_ = StackContextPtr(CurrentStackContext());
  views_.resize(static_cast<size_t>(from.call.num_inputs + from.call.num_outputs));
  storages_.resize(static_cast<size_t>(from.num_reads + from.num_writes));
  if (stack_ != kNoStack) {
    if (StackSource* source = StackSource::Get()) { source->Pin(stack_); }
  }
  size_t total = 0;
  for (int i = 0; i < from.call.num_inputs; ++i) {
    total += 2 * static_cast<size_t>(from.call.inputs[i].ndim);
  }
  for (int i = 0; i < from.call.num_outputs; ++i) {
    total += 2 * static_cast<size_t>(from.call.outputs[i].ndim);
  }
  dims_.reserve(total);  // exact: pointers into it stay valid
  CopyViews(from.call.inputs, from.call.num_inputs, views_.data());
  CopyViews(from.call.outputs, from.call.num_outputs, views_.data() + from.call.num_inputs);
  call_.call.inputs = views_.data();
  call_.call.outputs = views_.data() + from.call.num_inputs;
  if (from.attrs_size > 0) {
    const auto* attrs = static_cast<const char*>(from.call.attrs);
    attrs_.assign(attrs, attrs + from.attrs_size);
    call_.call.attrs = attrs_.data();
  }
  std::copy(from.reads, from.reads + from.num_reads, storages_.begin());
  std::copy(from.writes, from.writes + from.num_writes, storages_.begin() + from.num_reads);
  for (Storage* storage : storages_) { storage->AddRef(); }
  call_.reads = storages_.data();
  call_.writes = storages_.data() + from.num_reads;
}

void Instruction::Clear() {
  for (Storage* storage : storages_) { storage->Release(); }
  if (stack_ != kNoStack) {
    if (StackSource* source = StackSource::Get()) { source->Unpin(stack_); }
  }
  stack_context_ = StackContextPtr();
  listener_.reset();
  storages_.clear();
  views_.clear();
  waits_.clear();
  dims_.clear();
  attrs_.clear();
}

void Instruction::CopyViews(const ArrayView* from, int count, ArrayView* to) {
  for (int i = 0; i < count; ++i) {
    to[i] = from[i];
    to[i].shape = dims_.data() + dims_.size();
    dims_.insert(dims_.end(), from[i].shape, from[i].shape + from[i].ndim);
    to[i].strides = dims_.data() + dims_.size();
    dims_.insert(dims_.end(), from[i].strides, from[i].strides + from[i].ndim);
  }
}

void Instruction::PoisonWrites(const ErrorPtr& error) {
  for (int i = 0; i < call_.num_writes - call_.num_updates; ++i) { call_.writes[i]->Poison(error); }
}

void Instruction::Abandon(const ErrorPtr& error) {
  PoisonWrites(error);
  Tell(error);
}

Instruction::Outcome Instruction::Execute() {
  for (const StreamPoint& point : waits_) { Stream::AwaitOnWorker(point); }
  for (int i = 0; i < call_.num_reads; ++i) {
    if (const ErrorPtr poison = call_.reads[i]->poison()) { return Skip(poison); }
  }
  const Maybe<void> ran = RunKernel(call_, "vm", stack_);
  if (!ran.ok()) { return Fail(ran.error()); }
  if (call_.overwrites) {
    for (int i = 0; i < call_.num_writes - call_.num_updates; ++i) {
      call_.writes[i]->ClearPoison();
    }
  }
  return {};
}

Instruction::Outcome Instruction::Skip(const ErrorPtr& poison) {
  if (call_.on_failure == OnFailure::kSkip) { return {}; }
  if (call_.on_failure == OnFailure::kPoison && !FaultPlanted(Fault::kPoisonNotSpread)) {
    PoisonWrites(poison);
  }
  Tell(poison);
  const bool told = call_.on_failure == OnFailure::kPoison || listener_ != nullptr;
  return told ? Outcome() : Outcome{poison, true};
}

Instruction::Outcome Instruction::Fail(const ErrorPtr& error) {
  // A graph knows the line of the op that failed; its own is that of the call.
  if (error->stack() == kNoStack) {
    error->set_stack(stack_,
                     FaultPlanted(Fault::kStackBackwardLineOnly) ? nullptr : stack_context_.get());
  }
  error->MarkPublished();
  const bool late = interleave::Misordered(interleave::OrderingFault::kPoisonsAfterAdvancing);
  const bool poisons =
      call_.on_failure == OnFailure::kPoison || FaultPlanted(Fault::kInPlacePoisons);
  if (poisons && !late) { PoisonWrites(error); }
  Tell(error);
  return {error, false};
}

}  // namespace oneflow
