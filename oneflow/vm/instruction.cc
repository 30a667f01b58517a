#include "oneflow/vm/instruction.h"

#include <cstring>
#include <exception>
#include <new>

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

Maybe<void> RunKernel(const OpCall& call, const char* category) {
  TraceScope trace(category, call.op);
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

Instruction::Instruction(const OpCall& from, StackId stack)
    : call_(from),
      stack_(stack),
      stack_context_(CurrentStackContext()),
      views_(from.call.num_inputs + from.call.num_outputs),
      storages_(from.num_reads + from.num_writes) {
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
    attrs_.reset(new char[from.attrs_size]);
    std::memcpy(attrs_.get(), from.call.attrs, from.attrs_size);
    call_.call.attrs = attrs_.get();
  }
  int n = 0;
  for (int i = 0; i < from.num_reads; ++i) { storages_[n++] = from.reads[i]; }
  for (int i = 0; i < from.num_writes; ++i) { storages_[n++] = from.writes[i]; }
  for (int i = 0; i < n; ++i) { storages_[i]->AddRef(); }
  call_.reads = storages_.data();
  call_.writes = storages_.data() + from.num_reads;
}

Instruction::~Instruction() {
  for (int i = 0; i < call_.num_reads + call_.num_writes; ++i) { storages_[i]->Release(); }
  if (stack_ != kNoStack) {
    if (StackSource* source = StackSource::Get()) { source->Unpin(stack_); }
  }
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
  const Maybe<void> ran = RunKernel(call_);
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
