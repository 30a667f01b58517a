// The kernels multi_tensor_*_update: one step of an optimizer over a list of parameters.
//
// Operands: parameters, then a list for each kind of state, then gradients; all but the gradients are
// written, in place. Last, if there are numbers, a tensor with what changes from step to step.
#include <vector>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_optim.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/optim/list_chunks.h"
#include "oneflow/kernels/cpu/optim/update_loops.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

constexpr int kMaxArrays =
    kMaxUpdateStates + 2;  // of one parameter: itself, its state, its gradient

const UpdateLoopsOf& LoopsFor(DataType dtype) {
  const UpdateLoops& loops = GetUpdateLoops();
  return dtype == DataType::kDouble ? loops.for_double : loops.for_float;
}

// The arrays of one parameter.
struct Member {
  const ArrayView* arrays[kMaxArrays];
  int count = 0;
  bool direct = false;  // loops may run over its memory

  const ArrayView& param() const { return *arrays[0]; }
};

// The attributes of a call, with the numbers that it is given as an operand.
ListUpdateAttrs AttrsOf(const KernelCall& call) {
  ListUpdateAttrs attrs = call.GetAttrs<ListUpdateAttrs>();
  if (!attrs.numbers) { return attrs; }
  const ArrayView& numbers = call.inputs[call.num_inputs - 1];
  const auto at = [&](int i) { return numbers.Data<double>()[i * numbers.strides[0]]; };
  attrs.lr = at(0);
  attrs.bias_correction1 = at(1);
  attrs.bias_correction2 = at(2);
  return attrs;
}

class List {
 public:
  explicit List(const KernelCall& call)
      : call_(call),
        attrs_(AttrsOf(call)),
        arrays_(attrs_.states + 2),
        size_((call.num_inputs - (attrs_.numbers ? 1 : 0)) / arrays_) {}

  int size() const { return size_; }
  const ListUpdateAttrs& attrs() const { return attrs_; }
  int threads() const { return call_.threads; }
  const ArrayView* params() const { return call_.inputs; }

  Member operator[](int i) const {
    Member member;
    for (int a = 0; a < arrays_; ++a) { member.arrays[a] = &call_.inputs[a * size_ + i]; }
    member.count = arrays_;
    const DataType dtype = member.param().dtype;
    member.direct = dtype == ComputeType(dtype) && SameDenseOrder(member.arrays, arrays_);
    return member;
  }

 private:
  const KernelCall& call_;
  const ListUpdateAttrs attrs_;
  const int arrays_;
  const int size_;
};

const char* Accept(const KernelCall& call) {
  for (int i = 0; i < call.num_inputs; ++i) {
    if (!IsFloating(call.inputs[i].dtype)) { return "a dtype that is not floating"; }
  }
  const auto& attrs = call.GetAttrs<ListUpdateAttrs>();
  const int states = attrs.states;
  const int gradients = call.num_inputs - call.num_outputs - (attrs.numbers ? 1 : 0);
  if (gradients * (states + 1) != call.num_outputs) { return "lists of several lengths"; }
  return states <= kMaxUpdateStates ? nullptr : "too much state";
}

double CostNs(const KernelCall& call) {
  double bytes = 0;
  for (int i = 0; i < call.num_inputs; ++i) { bytes += BytesOf(call.inputs[i]); }
  for (int i = 0; i < call.num_outputs; ++i) { bytes += BytesOf(call.outputs[i]); }
  return MemoryCostNs(bytes);
}

// Calls body(pointers, n) for elements [begin, end) of a member: all at once, or a few at a time
// through dense memory, whose first `written` arrays are then written back.
template <typename Body>
void ForElements(const Member& member, int64_t begin, int64_t end, int written, const Body& body) {
  void* pointers[kMaxArrays];
  if (member.direct) {
    const auto offset = begin * static_cast<int64_t>(SizeOf(member.param().dtype));
    for (int a = 0; a < member.count; ++a) {
      pointers[a] = member.arrays[a]->Data<char>() + offset;
    }
    return body(pointers, end - begin);
  }
  StagedElements staged[kMaxArrays];
  for (int64_t at = begin; at < end; at += StagedElements::kElements) {
    const int64_t n = end - at < StagedElements::kElements ? end - at : StagedElements::kElements;
    for (int a = 0; a < member.count; ++a) {
      pointers[a] = staged[a].Load(*member.arrays[a], at, n);
    }
    body(pointers, n);
    for (int a = 0; a < written; ++a) { staged[a].Store(*member.arrays[a], at, n); }
  }
}

void Update(const Member& member, UpdateRule rule, int64_t begin, int64_t end,
            const ListUpdateAttrs& attrs) {
  const UpdateFn update = LoopsFor(member.param().dtype).update[static_cast<int>(rule)];
  ForElements(member, begin, end, member.count - 1, [&](void* const* pointers, int64_t n) {
    update(pointers, pointers[member.count - 1], n, attrs);
  });
}

template <UpdateRule kRule>
Maybe<void> Run(const KernelCall& call) {
  const List list(call);
  const ListChunks chunks(list.params(), list.size());
  ParallelFor(list.threads(), chunks.size(), 1, [&](int64_t chunk, int64_t) {
    const ListChunks::Piece piece = chunks[chunk];
    Update(list[piece.array], kRule, piece.begin, piece.end, list.attrs());
  });
  return Ok();
}

// The ratio of the norms of a parameter and of its step; 1 where either is zero.
double TrustRatio(const std::vector<double>& sums, int64_t first, int64_t last) {
  double weights = 0;
  double steps = 0;
  for (int64_t c = first; c < last; ++c) {
    weights += sums[static_cast<size_t>(2 * c)];
    steps += sums[static_cast<size_t>(2 * c + 1)];
  }
  const bool both = weights > 0 && steps > 0;
  return both ? __builtin_sqrt(weights) / __builtin_sqrt(steps) : 1.0;
}

// Averages and norms first, since every element's step needs the norms of the whole parameter.
Maybe<void> RunLamb(const KernelCall& call) {
  const List list(call);
  const ListChunks chunks(list.params(), list.size());
  std::vector<double> sums(static_cast<size_t>(2 * chunks.size()), 0.0);
  ParallelFor(list.threads(), chunks.size(), 1, [&](int64_t chunk, int64_t) {
    const ListChunks::Piece piece = chunks[chunk];
    const Member member = list[piece.array];
    Update(member, UpdateRule::kLambMoments, piece.begin, piece.end, list.attrs());
    const LambNormFn norms = LoopsFor(member.param().dtype).lamb_norms;
    double* own = sums.data() + 2 * chunk;
    ForElements(member, piece.begin, piece.end, 0,
                [&](void* const* pointers, int64_t n) { norms(pointers, n, list.attrs(), own); });
  });
  std::vector<double> ratios;
  for (int i = 0, first = 0; i < list.size(); ++i) {
    const auto own = (list.params()[i].Count() + ListChunks::kChunk - 1) / ListChunks::kChunk;
    ratios.push_back(TrustRatio(sums, first, first + own));
    first += static_cast<int>(own);
  }
  ParallelFor(list.threads(), chunks.size(), 1, [&](int64_t chunk, int64_t) {
    const ListChunks::Piece piece = chunks[chunk];
    ListUpdateAttrs attrs = list.attrs();
    attrs.lr *= ratios[static_cast<size_t>(piece.array)];
    Update(list[piece.array], UpdateRule::kLambParam, piece.begin, piece.end, attrs);
  });
  return Ok();
}

}  // namespace

#define ONEFLOW_REGISTER_UPDATE(name, run) \
  ONEFLOW_REGISTER_KERNEL(name, {#name ".cpu.vector", run, &Accept, &CostNs, nullptr})
ONEFLOW_REGISTER_UPDATE(multi_tensor_sgd_update, &Run<UpdateRule::kSgd>);
ONEFLOW_REGISTER_UPDATE(multi_tensor_momentum_update, &Run<UpdateRule::kMomentum>);
ONEFLOW_REGISTER_UPDATE(multi_tensor_adam_update, &Run<UpdateRule::kAdam>);
ONEFLOW_REGISTER_UPDATE(multi_tensor_adagrad_update, &Run<UpdateRule::kAdagrad>);
ONEFLOW_REGISTER_UPDATE(multi_tensor_adadelta_update, &Run<UpdateRule::kAdadelta>);
ONEFLOW_REGISTER_UPDATE(multi_tensor_rmsprop_update, &Run<UpdateRule::kRmsprop>);
ONEFLOW_REGISTER_UPDATE(multi_tensor_lamb_update, &RunLamb);

}  // namespace cpu
}  // namespace oneflow
