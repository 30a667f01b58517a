#include "oneflow/functional/dispatch.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "oneflow/autograd/anomaly_mode.h"
#include "oneflow/autograd/grad_mode.h"
#include "oneflow/common/inline_array.h"
#include "oneflow/functional/autocast.h"
#include "oneflow/functional/global_results.h"
#include "oneflow/functional/graph_trace.h"
#include "oneflow/functional/promotion.h"
#include "oneflow/functional/view_change_node.h"
#include "oneflow/op/rules.h"
#include "oneflow/vm/vm.h"

namespace oneflow {

namespace {

std::atomic<CastFn> cast_fn{nullptr};

constexpr size_t kMaxAttrsBytes = 1024;
constexpr int kInline = 16;  // more operands than that take memory for their records

// The operands of one call, after promotion, and what was worked out about them.
struct Operands {
  Operands(const TensorPtr* inputs, int n) : tensors(inputs), count(n), metas(n) {}

  const TensorPtr* tensors;
  int count;
  TensorTuple own;  // used once an operand had to be replaced
  InlineArray<const TensorMeta*, kInline> metas;
  Device device;
  DataType dtype;
  bool global = false;  // is any of them?

  // Replaces operand i; the caller's array stays as it is.
  void Replace(int i, TensorPtr tensor) {
    if (own.empty()) {
      own.assign(tensors, tensors + count);
      tensors = own.data();
    }
    own[static_cast<size_t>(i)] = std::move(tensor);
  }
};

Maybe<void> Collect(const OpDef& def, const DispatchOptions& options, Operands* o) {
  o->device = options.device;
  o->dtype = options.dtype;
  const Tensor* first = nullptr;
  const bool records = GradModeEnabled();
  for (int i = 0; i < o->count; ++i) {
    const Tensor* t = o->tensors[i].get();
    if (t == nullptr) { continue; }
    if (records) { FollowBase(o->tensors[i]); }
    o->global = o->global || t->global() != nullptr;
    if (first == nullptr) {
      first = t;
      o->device = t->device();
      o->dtype = t->dtype();
    } else if (t->device() != o->device) {
      return RuntimeError("[{}] expects all tensors on one device, got {} and {}", def.name,
                          o->device, t->device());
    }
  }
  return Ok();
}

Maybe<void> Autocast(const OpDef& def, Operands* o) {
  JUST(autocast::CastOperands(def.name, o->tensors, o->count, cast_fn.load(), &o->own));
  if (o->own.empty()) { return Ok(); }
  o->tensors = o->own.data();
  for (int i = 0; i < o->count; ++i) {
    if (o->tensors[i] != nullptr) {
      o->dtype = o->tensors[i]->dtype();
      break;
    }
  }
  return Ok();
}

Maybe<void> Promote(const OpDef& def, Operands* o) {
  if (!def.promotes) { return Ok(); }
  bool differ = false;
  for (int i = 0; i < o->count; ++i) {
    differ = differ || (o->tensors[i] != nullptr && o->tensors[i]->dtype() != o->dtype);
  }
  if (!differ) { return Ok(); }
  const DataType wanted = CommonType(o->tensors, o->count);
  for (int i = 0; i < o->count; ++i) {
    if (o->tensors[i] == nullptr || o->tensors[i]->dtype() == wanted) { continue; }
    o->Replace(i, JUST(cast_fn.load()(o->tensors[i], wanted)));
  }
  o->dtype = wanted;
  return Ok();
}

using InlineMetas = InlineArray<TensorMeta, kMaxOpOutputs>;

Maybe<void> CastToTarget(const OpDef& def, Operands* o) {
  if (!def.promotes) { return Ok(); }
  const DataType target = o->tensors[0]->dtype();
  for (int i = 1; i < o->count; ++i) {
    if (o->tensors[i] == nullptr || o->tensors[i]->dtype() == target) { continue; }
    const DataType dtype = o->tensors[i]->dtype();
    if (DtypeCategory(dtype) > DtypeCategory(target)) {
      return RuntimeError("[{}] in place expects a result that fits dtype {}, got an operand of "
                          "dtype {}",
                          def.name, DataTypeName(target), DataTypeName(dtype));
    }
    o->Replace(i, JUST(cast_fn.load()(o->tensors[i], target)));
  }
  return Ok();
}

Maybe<void> Infer(const OpDef& def, Operands* o, const void* attrs, InlineMetas* outputs) {
  TensorMeta* metas = outputs->data();
  for (int i = 0; i < o->count; ++i) {
    o->metas[i] = o->tensors[i] == nullptr ? nullptr : &o->tensors[i]->meta();
  }
  for (int i = 0; i < outputs->size(); ++i) {
    metas[i].device = o->device;
    metas[i].dtype = o->dtype;
  }
  return def.infer(InferContext{def.name, o->metas.data(), o->count, attrs}, metas);
}

ArrayView ViewOf(const Tensor& tensor) {
  ArrayView view;
  const TensorMeta& meta = tensor.meta();
  view.data = tensor.data();
  view.shape = meta.shape.data();
  view.strides = meta.strides.data();
  view.ndim = meta.shape.size();
  view.dtype = meta.dtype;
  view.contiguous = meta.contiguous;
  return view;
}

// An op call, assembled for the vm. Lives on the issuing thread's stack.
struct Call {
  InlineArray<ArrayView, kInline + kMaxOpOutputs> views;
  InlineArray<Storage*, kInline + kMaxOpOutputs> storages;
  const int num_outputs;
  OpCall op;

  Call(int inputs, int outputs)
      : views(inputs + outputs), storages(inputs + outputs), num_outputs(outputs) {}

  Maybe<void> Issue(const OpDef& def, const Operands& o, int first_input, const void* attrs,
                    const TensorPtr* outputs, Stream* stream) {
    int n = 0;
    int reads = 0;
    for (int i = first_input; i < o.count; ++i) {
      if (o.tensors[i] == nullptr) {
        views[n++].given = false;
        continue;
      }
      views[n++] = ViewOf(*o.tensors[i]);
      storages[reads++] = o.tensors[i]->storage();
    }
    op.call.inputs = views.data();
    op.call.num_inputs = n;
    op.call.outputs = views.data() + n;
    op.call.num_outputs = num_outputs;
    op.reads = storages.data();
    op.num_reads = reads;
    op.writes = storages.data() + reads;
    op.num_writes = num_outputs;
    for (int i = 0; i < num_outputs; ++i) {
      views[n + i] = ViewOf(*outputs[i]);
      storages[reads + i] = outputs[i]->storage();
    }
    op.op = def.name;
    op.call.attrs = attrs;
    op.attrs_size = def.attrs_size;
    op.stream = stream;
    op.kernel = JUST(ChooseKernel(def, stream->device().type(), op.call));
    return Vm::Get()->Issue(&op);
  }
};

// Copies the attributes and draws the random slot, where the op has one.
class Attributes {
 public:
  Maybe<const void*> Prepare(const OpDef& def, const void* attrs, int64_t count,
                             const GeneratorPtr& generator) {
    if (def.random_slot < 0) { return attrs; }
    CHECK_OR_RETURN(def.attrs_size <= kMaxAttrsBytes);
    std::memcpy(buffer_, attrs, def.attrs_size);
    const GeneratorPtr& from = generator == nullptr ? DefaultGenerator() : generator;
    const RandomSlot slot = from->Reserve(static_cast<uint64_t>(count + 1) / 2);
    std::memcpy(buffer_ + def.random_slot, &slot, sizeof(slot));
    return static_cast<const void*>(buffer_);
  }

 private:
  alignas(16) char buffer_[kMaxAttrsBytes];
};

bool NeedsNode(const FunctionalOp& op, const TensorPtr* inputs, int count) {
  if (op.backward == nullptr || !GradModeEnabled()) { return false; }
  const int list_at = op.def->ListAt();
  for (int i = 0; i < count; ++i) {
    const bool differentiable = (op.grad_inputs >> std::min(i, list_at) & 1) != 0;
    if (differentiable && inputs[i] != nullptr && inputs[i]->requires_grad()) { return true; }
  }
  return false;
}

void Attach(const FunctionalOp& op, const IntrusivePtr<OpNode>& node, const TensorPtr* outputs) {
  for (int i = 0; i < op.def->num_outputs; ++i) {
    if (IsFloating(outputs[i]->dtype())) { SetHistory(outputs[i], node, i); }
  }
  if (op.save_outputs != 0) { node->SaveOutputs(outputs); }
}

// A target as it was before an op in place: what the op's node refers to. A copy, if `saved`: a gradient
// needs its value.
Maybe<TensorPtr> BeforeChange(const TensorPtr& target, bool saved) {
  TensorPtr old;
  if (saved) {
    const ScopedGradMode no_grad(false);
    old = JUST(GetGradientOps().clone(target));
  } else {
    old = target->Alias();
  }
  const AutogradMeta* meta = target->autograd();
  if (meta != nullptr && meta->grad_fn != nullptr) {
    SetHistory(old, NodePtr(static_cast<Node*>(meta->grad_fn.get())), meta->output_index);
  }
  return old;
}

// Does a gradient that is wanted need the old value of operand `i`?
bool SavesOperand(const FunctionalOp& op, const TensorPtr* inputs, int i) {
  for (int k = 0; k < op.num_uses; ++k) {
    const GradientUse& use = op.uses[k];
    if ((use.inputs >> i & 1) != 0 && inputs[use.input] != nullptr &&
        inputs[use.input]->requires_grad()) {
      return true;
    }
  }
  return false;
}

TensorPtr MakeView(const TensorPtr& base, TensorMeta meta) {
  meta.contiguous = IsContiguous(meta.shape, meta.strides);
  TensorPtr view = MakeIntrusive<Tensor>(base->storage_ref(), std::move(meta));
  if (base->requires_grad() || GradModeEnabled()) {
    AutogradMeta* autograd = base->autograd();
    const bool base_is_view = autograd != nullptr && autograd->view_base != nullptr;
    AutogradMeta* meta_of_view = view->MutableAutograd();
    meta_of_view->view_base = base_is_view ? autograd->view_base : base;
    const AutogradMeta* root = meta_of_view->view_base->autograd();
    meta_of_view->base_history = root == nullptr ? 0 : root->history;
  }
  return view;
}

// An op without any kernel leaves its outputs undefined (empty).
bool AllocatesOnly(const OpDef& def) {
  for (const auto& names : def.kernel_names) {
    if (names[0] != nullptr) { return false; }
  }
  return true;
}

Maybe<void> RunKernelOp(const OpDef& def, const Operands& o, const void* attrs, TensorMeta* metas,
                        const GeneratorPtr& generator, TensorPtr* outputs) {
  if (GraphTrace* trace = GraphTrace::Current(); __builtin_expect(trace != nullptr, 0)) {
    return trace->RecordOp(def, o.tensors, o.count, attrs, metas, generator, outputs);
  }
  Stream* stream = JUST(Vm::Get()->StreamFor(metas[0].device));
  int64_t drawn = 0;
  for (int i = 0; i < def.num_outputs; ++i) {
    TensorMeta& meta = metas[i];
    const int64_t bytes = JUST(CheckedBytes(def.name, meta.shape, meta.dtype));
    meta.strides = ContiguousStrides(meta.shape);
    meta.offset = 0;
    meta.contiguous = true;
    drawn = i == 0 ? meta.Count() : drawn;
    outputs[i] =
        JUST(AllocateTensorFor(def.name, stream, static_cast<size_t>(bytes), std::move(meta)));
  }
  if (AllocatesOnly(def)) { return Ok(); }
  if (__builtin_expect(def.random_slot < 0, 1)) {
    Call call(o.count, def.num_outputs);
    return call.Issue(def, o, 0, attrs, outputs, stream);
  }
  Attributes attributes;
  const void* final_attrs = JUST(attributes.Prepare(def, attrs, drawn, generator));
  Call call(o.count, def.num_outputs);
  return call.Issue(def, o, 0, final_attrs, outputs, stream);
}

Maybe<void> CheckTarget(const OpDef& def, const TensorPtr& target, const TensorMeta& result) {
  if (result.shape != target->shape()) {
    return RuntimeError("[{}] in place expects a result of the target's shape {}, got {}", def.name,
                        target->shape(), result.shape);
  }
  if (result.dtype != target->dtype()) {
    return RuntimeError("[{}] in place expects a result of the target's dtype {}, got {}", def.name,
                        DataTypeName(target->dtype()), DataTypeName(result.dtype));
  }
  if (MayOverlap(target->shape(), target->strides())) {
    return RuntimeError("[{}] in place expects a target whose elements do not overlap in memory, "
                        "got shape {} with strides {}; use .clone() first",
                        def.name, target->shape(), target->strides());
  }
  return Ok();
}

Maybe<void> CheckTargetHistory(const OpDef& def, const TensorPtr& target) {
  if (target->storage()->read_only() &&
      !(target->storage()->traced() && GraphTrace::Current() != nullptr)) {
    JUST(CheckHasValue(def.name, *target));
    return RuntimeError(
        "[{}] in place expects memory that may be written, got a tensor of shape {} "
        "made from a read-only array; use .clone() first",
        def.name, target->shape());
  }
  const AutogradMeta* meta = target->autograd();
  if (!GradModeEnabled() || meta == nullptr) { return Ok(); }
  if (meta->requires_grad && meta->grad_fn == nullptr) {
    return RuntimeError("[{}] expects a target whose old value no gradient is asked for, got an op "
                        "in place on a leaf tensor that requires grad (shape {}); wrap it in "
                        "flow.no_grad() if its history does not matter",
                        def.name, target->shape());
  }
  const TensorPtr& base = meta->view_base;
  if (base == nullptr || !base->requires_grad()) { return Ok(); }
  if (base->is_leaf()) {
    return RuntimeError("[{}] expects a target whose old value no gradient is asked for, got an op "
                        "in place on a view (shape {}) of a leaf tensor that requires grad (shape "
                        "{}); wrap it in flow.no_grad() if its history does not matter",
                        def.name, target->shape(), base->shape());
  }
  return Ok();
}

// One byte behind the last element. No stride is negative.
const char* EndOf(const Tensor& t) {
  if (t.Count() == 0) { return t.data(); }
  int64_t last = 0;
  for (int i = 0; i < t.ndim(); ++i) { last += (t.shape()[i] - 1) * t.strides()[i]; }
  return t.data() + (last + 1) * static_cast<int64_t>(SizeOf(t.dtype()));
}

bool MayShareMemory(const Tensor& a, const Tensor& b) {
  if (a.storage() == b.storage()) { return true; }
  // The same memory may come from numpy several times, or come back from it.
  if (!a.storage()->host_visible() || !b.storage()->host_visible()) { return false; }
  return a.data() < EndOf(b) && b.data() < EndOf(a);
}

bool SameElements(const Tensor& a, const Tensor& b) {
  return a.data() == b.data() && a.dtype() == b.dtype() && a.shape() == b.shape() &&
         a.strides() == b.strides();
}

// For a list of targets: their storages in order, to look one up in.
std::vector<const Storage*> StoragesOf(const TensorPtr* tensors, int count) {
  std::vector<const Storage*> storages;
  for (int i = 0; i < count; ++i) { storages.push_back(tensors[i]->storage()); }
  std::sort(storages.begin(), storages.end());
  return storages;
}

// An operand that shares memory with a target is copied first, unless each of its elements is read for
// the element in its own place only.
Maybe<void> Untangle(const OpDef& def, int targets, Operands* o) {
  const bool by_element = def.sbp != &SbpBroadcastOnly;  // scatter and its kin read elsewhere
  std::vector<const Storage*> written;
  if (targets > kMaxOpOutputs) { written = StoragesOf(o->tensors, targets); }
  for (int i = 0; i < o->count; ++i) {
    if (!written.empty() && o->tensors[i] != nullptr && !o->tensors[i]->storage()->host_visible() &&
        !std::binary_search(written.begin(), written.end(), o->tensors[i]->storage())) {
      continue;
    }
    for (int j = 0; j < targets; ++j) {
      const TensorPtr& t = o->tensors[i];
      if (i == j || t == nullptr || !MayShareMemory(*t, *o->tensors[j])) { continue; }
      if (by_element && SameElements(*t, *o->tensors[j])) { continue; }
      o->Replace(i, JUST(GetGradientOps().clone(t)));
      break;
    }
  }
  return Ok();
}

bool IsLinkedView(const TensorPtr& tensor) {
  const AutogradMeta* meta = tensor->autograd();
  return meta != nullptr && meta->view_base != nullptr &&
         meta->view_base->storage() == tensor->storage();
}

// Gives the targets of an op in place their new history. `node` is the op's, nullptr if nothing that it
// read needs a gradient (that of the old value is zero then); `read` says which of its operands the
// target is, -1 for none.
Maybe<void> RecordChange(const FunctionalOp& op, const IntrusivePtr<OpNode>& node,
                         const TensorPtr* targets, int count, int read) {
  bool linked = false;
  for (int i = 0; i < count; ++i) { linked = linked || IsLinkedView(targets[i]); }
  if (node != nullptr && !linked) {
    Attach(op, node, targets);
    return Ok();
  }
  if (node != nullptr && count > 1) {
    return RuntimeError("[{}] expects targets that are no views, got an op in place on {} tensors",
                        op.def->name, count);
  }
  if (node != nullptr && op.save_outputs != 0) { node->SaveOutputs(targets); }
  for (int i = 0; i < count; ++i) {
    if (IsLinkedView(targets[i])) {
      const TensorPtr base = targets[i]->autograd()->view_base;
      if (node == nullptr && !base->requires_grad()) { continue; }
      SetHistory(base,
                 MakeIntrusive<ViewChangeNode>(op.def->name, base, targets[i]->meta(), node, read),
                 0);
    } else if (targets[i]->requires_grad()) {
      SetHistory(
          targets[i],
          MakeIntrusive<ViewChangeNode>(op.def->name, targets[i], targets[i]->meta(), nullptr, -1),
          0);
    }
  }
  return Ok();
}

// REQUIRES that no two elements of `t` share memory (CheckTarget).
bool CoversStorage(const Tensor& t) {
  return static_cast<size_t>(t.Count()) * SizeOf(t.dtype()) == t.storage()->bytes();
}

Maybe<void> RunInplace(const OpDef& def, const Operands& o, int first, int targets,
                       const void* attrs, const GeneratorPtr& generator) {
  Attributes attributes;
  const void* final_attrs = JUST(attributes.Prepare(def, attrs, o.tensors[0]->Count(), generator));
  Call call(o.count - first, targets);
  call.op.on_failure =
      def.inplace_failure == InplaceFailure::kSkips ? OnFailure::kSkip : OnFailure::kKeepTarget;
  if (__builtin_expect(FreshTargets::active(), 0)) { call.op.on_failure = OnFailure::kPoison; }
  call.op.overwrites = first > 0 && CoversStorage(*o.tensors[0]);
  Stream* stream = JUST(Vm::Get()->StreamFor(o.device));
  return call.Issue(def, o, first, final_attrs, o.tensors, stream);
}

}  // namespace

void SetCast(CastFn fn) { cast_fn.store(fn); }

thread_local bool FreshTargets::active_ = false;

Maybe<void> Dispatch(const FunctionalOp& op, const TensorPtr* inputs, int num_inputs,
                     const void* attrs, TensorPtr* outputs, const DispatchOptions& options) {
  const OpDef& def = *op.def;
  Operands o(inputs, num_inputs);
  InlineMetas metas(def.num_outputs);
  JUST(Collect(def, options, &o));
  if (__builtin_expect(autocast::MayBeOn(), 0)) { JUST(Autocast(def, &o)); }
  JUST(Promote(def, &o));
  JUST(Infer(def, &o, attrs, &metas));
  if (def.is_view) {
    outputs[0] = MakeView(o.tensors[0], std::move(metas[0]));
    if (GraphTrace* trace = GraphTrace::Current(); __builtin_expect(trace != nullptr, 0)) {
      JUST(trace->RecordView(def, o.tensors[0], attrs, outputs[0]));
    }
  } else {
    JUST(RunKernelOp(def, o, attrs, metas.data(), options.generator, outputs));
  }
  if (o.count == 0) { MarkSource(outputs[0]); }
  if (__builtin_expect(o.global, 0)) {
    JUST(MakeResultsGlobal(def, o.tensors, o.count, attrs, outputs));
  }
  if (NeedsNode(op, o.tensors, o.count)) {
    const auto node = MakeIntrusive<OpNode>(&op, o.tensors, o.count, attrs);
    Attach(op, node, outputs);
    if (__builtin_expect(saved_tensor_hooks != nullptr, 0)) {
      JUST(node->Pack(saved_tensor_hooks));
    }
    if (__builtin_expect(ChecksForward(), 0)) {
      return CheckForwardNan(def.name, o.tensors, o.count, outputs, def.num_outputs);
    }
  }
  return Ok();
}

Maybe<void> DispatchInplace(const FunctionalOp& op, const TensorPtr* inputs, int num_inputs,
                            const void* attrs, const DispatchOptions& options) {
  const OpDef& def = *op.def;
  const int targets = def.num_outputs < 0 ? options.targets : def.num_outputs;
  if (targets == 0) { return Ok(); }
  Operands o(inputs, num_inputs);
  InlineMetas metas(targets);
  JUST(Collect(def, options, &o));
  JUST(CastToTarget(def, &o));
  const bool writes_only = def.num_inputs >= 0 && num_inputs == def.num_inputs + 1;
  const int first = writes_only ? 1 : 0;
  const bool recorded = NeedsNode(op, o.tensors + first, o.count - first);
  for (int i = 0; i < targets; ++i) { JUST(CheckTargetHistory(def, o.tensors[i])); }
  JUST(Untangle(def, targets, &o));
  if (!writes_only) {
    JUST(Infer(def, &o, attrs, &metas));
    for (int i = 0; i < targets; ++i) { JUST(CheckTarget(def, o.tensors[i], metas[i])); }
  } else {
    TensorMeta same = o.tensors[0]->meta();
    JUST(CheckTarget(def, o.tensors[0], same));
    if (o.count > 1) {
      const Shape both = JUST(BroadcastShapes(def.name, same.shape, o.tensors[1]->shape()));
      same.shape = both;
      JUST(CheckTarget(def, o.tensors[0], same));
    }
  }
  IntrusivePtr<OpNode> node;
  if (recorded) {
    InlineArray<TensorPtr, kInline> before(o.count);
    for (int i = first; i < o.count; ++i) {
      const TensorPtr* end = o.tensors + targets;
      const bool changes = std::find(o.tensors, end, o.tensors[i]) != end;  // also as x.mul_(x)
      before[i] = o.tensors[i];
      if (!changes) { continue; }
      before[i] = JUST(BeforeChange(o.tensors[i], SavesOperand(op, o.tensors + first, i - first)));
    }
    node = MakeIntrusive<OpNode>(&op, before.data() + first, o.count - first, attrs);
  }
  if (GraphTrace* trace = GraphTrace::Current(); __builtin_expect(trace != nullptr, 0)) {
    JUST(trace->RecordInPlace(def, o.tensors, o.count, first, targets, attrs, options.generator));
  } else {
    JUST(RunInplace(def, o, first, targets, attrs, options.generator));
  }
  for (int i = 0; i < targets; ++i) { o.tensors[i]->storage()->BumpVersion(); }
  if (!GradModeEnabled()) { return Ok(); }
  JUST(RecordChange(op, node, o.tensors, targets, writes_only ? -1 : 0));
  if (__builtin_expect(node != nullptr && saved_tensor_hooks != nullptr, 0)) {
    JUST(node->Pack(saved_tensor_hooks));
  }
  if (__builtin_expect(node != nullptr && ChecksForward(), 0)) {
    return CheckForwardNan(def.name, o.tensors + first, o.count - first, o.tensors, targets);
  }
  return Ok();
}

}  // namespace oneflow
