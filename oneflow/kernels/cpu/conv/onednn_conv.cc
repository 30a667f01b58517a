#include "oneflow/kernels/cpu/conv/onednn_conv.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/cpu/cache_size.h"
#include "oneflow/kernels/cpu/conv/turned_planes.h"
#include "oneflow/kernels/cpu/onednn_objects.h"

namespace oneflow {
namespace cpu {

namespace {

using onednn::Attributes;
using onednn::Engine;
using onednn::Memory;
using onednn::MemoryDesc;
using onednn::Primitive;
using onednn::PrimitiveDesc;

enum Role : int { kSrc, kWeight, kDst, kBias, kNumRoles };
constexpr int kScratchRole = -1;

int ResultRole(ConvKind kind) {
  switch (kind) {
    case ConvKind::kForward: return kDst;
    case ConvKind::kInputGrad: return kSrc;
    case ConvKind::kWeightGrad: break;
  }
  return kWeight;
}

dnnl_data_type_t TypeOf(DataType dtype) {
  return dtype == DataType::kBFloat16 ? dnnl_bf16 : dnnl_f32;
}

Attributes MakeAttributes(bool accumulates) {
  dnnl_primitive_attr_t attr = nullptr;
  if (dnnl_primitive_attr_create(&attr) != dnnl_success) { return nullptr; }
  Attributes attributes(attr);
  dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
  if (accumulates) {
    dnnl_post_ops_t ops = nullptr;
    if (dnnl_post_ops_create(&ops) != dnnl_success) { return nullptr; }
    dnnl_post_ops_append_sum(ops, 1.0F, 0, dnnl_data_type_undef);
    dnnl_primitive_attr_set_post_ops(attr, ops);
    dnnl_post_ops_destroy(ops);
  }
  return attributes;
}

// ---- how a problem is best given to oneDNN ------------------------------------------------------

// The layout of the activations inside: what oneDNN favours (blocked), what they have, or channels
// last. The latter two where they win over the first, the reorders that each costs included
// (decision 0005). Kernels of one pixel on plain images are matrix products.
enum class Inside { kFavourite, kAsGiven, kChannelsLast };

Inside ForwardLayout(const ConvGeometry& g) {
  if (g.IsPointwise()) {
    return g.HasUnitStride() && g.OutPixels() >= 196 ? Inside::kAsGiven : Inside::kFavourite;
  }
  const bool deep = g.in_channels >= (g.HasUnitStride() ? 128 : 256);
  return deep ? Inside::kChannelsLast : Inside::kFavourite;
}

Inside InputGradLayout(const ConvGeometry& g) {
  if (g.in_channels <= 4) { return Inside::kAsGiven; }
  if (g.IsPointwise()) {
    const bool large = g.InPixels() >= (g.HasUnitStride() ? 400 : 784);
    return large ? Inside::kAsGiven : Inside::kFavourite;
  }
  const bool deep = g.in_channels >= 128 && g.HasUnitStride();
  return deep ? Inside::kChannelsLast : Inside::kFavourite;
}

Inside LayoutFor(const ConvProblem& p) {
  const ConvGeometry& g = p.geometry;
  if (p.dst == ConvLayout::kBlocked) { return Inside::kAsGiven; }
  if (p.src != p.dst || p.dtype != DataType::kFloat || g.groups != 1) { return Inside::kFavourite; }
  if (p.src == ConvLayout::kChannelsLast) { return Inside::kAsGiven; }
  switch (p.kind) {
    case ConvKind::kForward: return ForwardLayout(g);
    case ConvKind::kInputGrad: return InputGradLayout(g);
    case ConvKind::kWeightGrad: break;
  }
  return g.IsPointwise() ? Inside::kAsGiven : Inside::kFavourite;
}

// The gradient of a pointwise kernel: one product of matrices for each image, added up.
bool IsProductOfImages(const ConvProblem& p) {
  return p.kind == ConvKind::kWeightGrad && LayoutFor(p) == Inside::kAsGiven &&
         p.geometry.HasUnitStride() && p.src == ConvLayout::kPlain && p.dst == ConvLayout::kPlain &&
         p.geometry.batch <= 64;
}

// How many images are computed at a time, a divisor of the batch: where they are laid out anew, so few
// that their copies stay in the last cache. A gradient by the weight sums over all.
int64_t ImagesAtOnce(const ConvProblem& p) {
  constexpr double kWorthwhile = 2e6;  // bytes; less does not keep threads busy
  const ConvGeometry& g = p.geometry;
  if (p.kind == ConvKind::kWeightGrad || LayoutFor(p) == Inside::kAsGiven) { return g.batch; }
  const auto elements =
      static_cast<double>(g.in_channels * g.InPixels() + g.out_channels * g.OutPixels());
  const double image = elements * static_cast<double>(SizeOf(p.dtype));
  const double most = static_cast<double>(LastCacheBytes()) / 4;
  int64_t images = g.batch;
  while (images > 1 && (g.batch % images != 0 || image * static_cast<double>(images) > most)) {
    --images;
  }
  return image * static_cast<double>(images) < kWorthwhile ? g.batch : images;
}

// ---- descriptors --------------------------------------------------------------------------------

struct RoleDims {
  int ndim = 0;
  dnnl_dims_t dims;     // as oneDNN counts them
  dnnl_dims_t strides;  // as they lie
};

void AppendSpatial(const ConvGeometry& g, const int64_t* sizes, RoleDims* r) {
  for (int d = 3 - g.spatial; d < 3; ++d) { r->dims[r->ndim++] = sizes[d]; }
}

// Strides of a dense array: the dimensions from `channel + 1` on inside it, or around it.
void FillStrides(int channel, bool channels_last, RoleDims* r) {
  int64_t stride = 1;
  if (channels_last) {
    r->strides[channel] = 1;
    stride = r->dims[channel];
  }
  for (int d = r->ndim - 1; d >= 0; --d) {
    if (channels_last && d == channel) { continue; }
    r->strides[d] = stride;
    stride *= r->dims[d];
  }
}

RoleDims DimsOf(const ConvProblem& p, int role) {
  const ConvGeometry& g = p.geometry;
  RoleDims r;
  if (role == kBias) {
    r.dims[r.ndim++] = g.out_channels;
    FillStrides(0, false, &r);
    return r;
  }
  if (role == kWeight) {
    if (g.groups > 1) { r.dims[r.ndim++] = g.groups; }
    r.dims[r.ndim++] = g.OutPerGroup();
    r.dims[r.ndim++] = g.InPerGroup();
    AppendSpatial(g, g.kernel, &r);
    FillStrides(g.groups > 1 ? 2 : 1, p.weight == ConvLayout::kChannelsLast, &r);
    return r;
  }
  r.dims[r.ndim++] = g.batch;
  r.dims[r.ndim++] = role == kSrc ? g.in_channels : g.out_channels;
  AppendSpatial(g, role == kSrc ? g.in : g.out, &r);
  FillStrides(1, (role == kSrc ? p.src : p.dst) == ConvLayout::kChannelsLast, &r);
  return r;
}

// A float32 weight beside bfloat16 is rounded as it is laid out; a gradient is written in float32.
dnnl_data_type_t TypeOf(const ConvProblem& p, int role, bool any) {
  const bool wide = role == kWeight && p.float_weight && (!any || p.kind == ConvKind::kWeightGrad);
  return wide ? dnnl_f32 : TypeOf(p.dtype);
}

MemoryDesc MakeDesc(const ConvProblem& p, int role, bool any) {
  const RoleDims r = DimsOf(p, role);
  const dnnl_data_type_t type = TypeOf(p, role, any);
  dnnl_memory_desc_t desc = nullptr;
  const bool blocked = (role == kSrc && p.src == ConvLayout::kBlocked) ||
                       (role == kWeight && p.weight == ConvLayout::kBlocked) ||
                       (role == kDst && p.dst == ConvLayout::kBlocked);
  const dnnl_format_tag_t own = role == kWeight ? dnnl_OIhw16i16o : dnnl_nChw16c;
  const dnnl_format_tag_t tag = any ? dnnl_format_tag_any : own;
  const dnnl_status_t status =
      any || blocked ? dnnl_memory_desc_create_with_tag(&desc, r.ndim, r.dims, type, tag)
                     : dnnl_memory_desc_create_with_strides(&desc, r.ndim, r.dims, type, r.strides);
  return MemoryDesc(status == dnnl_success ? desc : nullptr);
}

// Activations of bfloat16 are brought from planes to these layouts, and back, by loops of our own: oneDNN's reorders of
// them took a third as long as all convolutions of ResNet-50.
enum class Turned { kNo, kBlocked, kChannelsLast };

Turned TurnedAs(const ConvProblem& p, int role, const dnnl_memory_desc* wanted) {
  const ConvGeometry& g = p.geometry;
  const int64_t channels = role == kSrc ? g.in_channels : g.out_channels;
  const bool plain = (role == kSrc ? p.src : p.dst) == ConvLayout::kPlain;
  if (role == kWeight || p.dtype != DataType::kBFloat16 || !plain || g.spatial != 2 ||
      channels % 16 != 0) {
    return Turned::kNo;
  }
  ConvProblem other = p;
  for (Turned turned : {Turned::kBlocked, Turned::kChannelsLast}) {
    other.src = other.dst =
        turned == Turned::kBlocked ? ConvLayout::kBlocked : ConvLayout::kChannelsLast;
    const MemoryDesc desc = MakeDesc(other, role, false);
    if (desc != nullptr && dnnl_memory_desc_equal(desc.get(), wanted) != 0) { return turned; }
  }
  return Turned::kNo;
}

struct Windows {
  dnnl_dims_t stride, dilation, before, after;
};

Windows WindowsOf(const ConvGeometry& g) {
  Windows w;
  int n = 0;
  for (int d = 3 - g.spatial; d < 3; ++d, ++n) {
    w.stride[n] = g.stride[d];
    w.dilation[n] = g.dilation[d] - 1;
    w.before[n] = g.padding[d];
    const int64_t reach = (g.out[d] - 1) * g.stride[d] + (g.kernel[d] - 1) * g.dilation[d] + 1;
    w.after[n] = reach - g.in[d] - g.padding[d];
  }
  return w;
}

// nullptr where oneDNN refuses, or has its plain reference only.
PrimitiveDesc IfFast(dnnl_primitive_desc_t desc) {
  PrimitiveDesc made(desc);
  if (desc == nullptr) { return nullptr; }
  const char* info = "";
  dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, static_cast<void*>(&info));
  return std::strncmp(info, "ref", 3) == 0 ? nullptr : std::move(made);
}

PrimitiveDesc MakePrimitiveDesc(const ConvProblem& given, Inside inside) {
  ConvProblem p = given;
  if (inside == Inside::kChannelsLast) { p.src = p.dst = ConvLayout::kChannelsLast; }
  const bool any = inside == Inside::kFavourite;
  const Attributes attr = MakeAttributes(false);
  const MemoryDesc src = MakeDesc(p, kSrc, any);
  const MemoryDesc weight = MakeDesc(p, kWeight, true);
  p.float_weight = false;  // of the forward convolution that is a gradient's hint
  const MemoryDesc forward_weight = MakeDesc(p, kWeight, true);
  const MemoryDesc dst = MakeDesc(p, kDst, any);
  const MemoryDesc bias = p.has_bias ? MakeDesc(p, kBias, false) : nullptr;
  if (attr == nullptr || src == nullptr || weight == nullptr || dst == nullptr) { return nullptr; }
  if (forward_weight == nullptr) { return nullptr; }
  const Windows w = WindowsOf(p.geometry);
  const auto algorithm = dnnl_convolution_direct;
  dnnl_primitive_desc_t forward = nullptr;
  dnnl_convolution_forward_primitive_desc_create(
      &forward, Engine(), dnnl_forward_training, algorithm, src.get(), forward_weight.get(),
      bias.get(), dst.get(), w.stride, w.dilation, w.before, w.after, attr.get());
  if (p.kind == ConvKind::kForward || forward == nullptr) { return IfFast(forward); }
  const PrimitiveDesc hint(forward);
  dnnl_primitive_desc_t backward = nullptr;
  if (p.kind == ConvKind::kInputGrad) {
    dnnl_convolution_backward_data_primitive_desc_create(
        &backward, Engine(), algorithm, src.get(), weight.get(), dst.get(), w.stride, w.dilation,
        w.before, w.after, forward, attr.get());
  } else {
    dnnl_convolution_backward_weights_primitive_desc_create(
        &backward, Engine(), algorithm, src.get(), weight.get(), nullptr, dst.get(), w.stride,
        w.dilation, w.before, w.after, forward, attr.get());
  }
  return IfFast(backward);
}

// What a primitive calls the operand of a role: for queries, and for execution.
dnnl_query_t QueryOf(ConvKind kind, int role) {
  if (role == kSrc) {
    return kind == ConvKind::kInputGrad ? dnnl_query_diff_src_md : dnnl_query_src_md;
  }
  if (role == kWeight) {
    return kind == ConvKind::kWeightGrad ? dnnl_query_diff_weights_md : dnnl_query_weights_md;
  }
  return kind == ConvKind::kForward ? dnnl_query_dst_md : dnnl_query_diff_dst_md;
}

int ArgumentOf(ConvKind kind, int role) {
  if (role == kSrc) { return kind == ConvKind::kInputGrad ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC; }
  if (role == kWeight) {
    return kind == ConvKind::kWeightGrad ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS;
  }
  if (role == kBias) { return DNNL_ARG_BIAS; }
  return kind == ConvKind::kForward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST;
}

}  // namespace

// ---- one executable convolution -----------------------------------------------------------------

class OnednnConv {
 public:
  // False when oneDNN refuses.
  bool Create(const ConvProblem& p);
  size_t scratch_bytes() const { return scratch_bytes_; }
  dnnl_status_t Execute(const ConvPointers& at, void* scratch);

 private:
  struct Binding {
    dnnl_memory_t memory;
    int role;        // or kScratchRole
    size_t offset;   // in scratch
    size_t advance;  // bytes from one part of the batch to the next
  };
  // A primitive, or, without one, loops of our own.
  struct Step {
    Primitive primitive;
    std::vector<dnnl_exec_arg_t> args;
    TurnedPlanes turned;
    bool to_planes;
  };

  bool CreateConvolution(const ConvProblem& p);
  bool CreateProductOfImages(const ConvProblem& p);
  // Between the user's memory of a role and the convolution's; `back`: to the user's.
  bool AddReorder(const ConvProblem& p, int role, const dnnl_memory_desc* given, dnnl_memory_t user,
                  const dnnl_memory_desc* wanted, dnnl_memory_t used, bool back);
  dnnl_status_t Run(const Step& step) const;
  bool AddStep(const dnnl_primitive_desc* desc, std::vector<dnnl_exec_arg_t> args);
  dnnl_memory_t Bind(const dnnl_memory_desc* desc, int role, size_t advance = 0);
  dnnl_status_t SetHandles(void* const* roles, char* scratch, int64_t part);

  std::vector<Memory> memories_;
  std::vector<Binding> bindings_;
  std::vector<Step> steps_;
  size_t scratch_bytes_ = 0;
  int threads_ = 1;
  // The steps are run once for each part of the batch: [0, first_end_) for the first part,
  // [later_begin_, the last) for the others.
  int64_t parts_ = 1;
  size_t first_end_ = 0, later_begin_ = 0;
};

dnnl_memory_t OnednnConv::Bind(const dnnl_memory_desc* desc, int role, size_t advance) {
  dnnl_memory_t memory = nullptr;
  if (dnnl_memory_create(&memory, desc, Engine(), DNNL_MEMORY_NONE) != dnnl_success) {
    return nullptr;
  }
  memories_.emplace_back(memory);
  bindings_.push_back({memory, role, scratch_bytes_, advance});
  if (role == kScratchRole) { scratch_bytes_ += (dnnl_memory_desc_get_size(desc) + 63) / 64 * 64; }
  return memory;
}

bool OnednnConv::AddStep(const dnnl_primitive_desc* desc, std::vector<dnnl_exec_arg_t> args) {
  dnnl_primitive_t primitive = nullptr;
  if (dnnl_primitive_create(&primitive, desc) != dnnl_success) { return false; }
  Step step{Primitive(primitive), std::move(args), {}, false};
  const dnnl_memory_desc* pad = dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
  if (pad != nullptr && dnnl_memory_desc_get_size(pad) > 0) {
    dnnl_memory_t memory = Bind(pad, kScratchRole);
    if (memory == nullptr) { return false; }
    step.args.push_back({DNNL_ARG_SCRATCHPAD, memory});
  }
  for (const dnnl_exec_arg_t& arg : step.args) {
    if (arg.memory == nullptr) { return false; }
  }
  steps_.push_back(std::move(step));
  return true;
}

bool OnednnConv::AddReorder(const ConvProblem& p, int role, const dnnl_memory_desc* given,
                            dnnl_memory_t user, const dnnl_memory_desc* wanted, dnnl_memory_t used,
                            bool back) {
  const std::vector<dnnl_exec_arg_t> args = {{DNNL_ARG_FROM, back ? used : user},
                                             {DNNL_ARG_TO, back ? user : used}};
  const Turned turned = TurnedAs(p, role, wanted);
  if (turned != Turned::kNo) {
    const ConvGeometry& g = p.geometry;
    const bool is_src = role == kSrc;
    steps_.push_back({nullptr,
                      args,
                      {g.batch, is_src ? g.in_channels : g.out_channels,
                       is_src ? g.InPixels() : g.OutPixels(), turned == Turned::kBlocked},
                      back});
    return user != nullptr && used != nullptr;
  }
  const Attributes attr = MakeAttributes(false);
  dnnl_primitive_desc_t desc = nullptr;
  if (attr == nullptr || dnnl_reorder_primitive_desc_create(&desc, back ? wanted : given, Engine(),
                                                            back ? given : wanted, Engine(),
                                                            attr.get()) != dnnl_success) {
    return false;
  }
  const PrimitiveDesc owner(desc);
  return AddStep(desc, args);
}

bool OnednnConv::CreateConvolution(const ConvProblem& whole) {
  ConvProblem p = whole;
  p.geometry.batch = ImagesAtOnce(whole);
  parts_ = whole.geometry.batch / p.geometry.batch;
  PrimitiveDesc desc = MakePrimitiveDesc(p, LayoutFor(p));
  if (desc == nullptr && p.dst != ConvLayout::kBlocked) {
    desc = MakePrimitiveDesc(p, Inside::kFavourite);
  }
  if (desc == nullptr) { return false; }
  const int result = ResultRole(p.kind);
  MemoryDesc given[3];
  const dnnl_memory_desc* wanted[3];
  dnnl_memory_t user[3];
  dnnl_memory_t used[3];
  for (int role : {kWeight, kSrc, kDst}) {
    given[role] = MakeDesc(p, role, false);
    wanted[role] = dnnl_primitive_desc_query_md(desc.get(), QueryOf(p.kind, role), 0);
    if (given[role] == nullptr || wanted[role] == nullptr) { return false; }
    if (role == kSrc) { later_begin_ = steps_.size(); }  // weights are laid out once
    user[role] = Bind(given[role].get(), role,
                      role == kWeight ? 0 : dnnl_memory_desc_get_size(given[role].get()));
    const bool same = dnnl_memory_desc_equal(given[role].get(), wanted[role]) != 0;
    used[role] = same ? user[role] : Bind(wanted[role], kScratchRole);
    if (same || role == result) { continue; }
    if (!AddReorder(p, role, given[role].get(), user[role], wanted[role], used[role], false)) {
      return false;
    }
  }
  std::vector<dnnl_exec_arg_t> args;
  for (int role : {kSrc, kWeight, kDst}) { args.push_back({ArgumentOf(p.kind, role), used[role]}); }
  if (p.has_bias) { args.push_back({DNNL_ARG_BIAS, Bind(MakeDesc(p, kBias, false).get(), kBias)}); }
  if (!AddStep(desc.get(), std::move(args))) { return false; }
  if (used[result] != user[result] && !AddReorder(p, result, given[result].get(), user[result],
                                                  wanted[result], used[result], true)) {
    return false;
  }
  first_end_ = steps_.size();
  return true;
}

bool OnednnConv::CreateProductOfImages(const ConvProblem& p) {
  const ConvGeometry& g = p.geometry;
  const int64_t pixels = g.OutPixels();
  const dnnl_dims_t a_dims = {g.out_channels, pixels}, a_strides = {pixels, 1};
  const dnnl_dims_t b_dims = {pixels, g.in_channels}, b_strides = {1, pixels};
  const dnnl_dims_t c_dims = {g.out_channels, g.in_channels}, c_strides = {g.in_channels, 1};
  dnnl_memory_desc_t a = nullptr;
  dnnl_memory_desc_t b = nullptr;
  dnnl_memory_desc_t c = nullptr;
  dnnl_memory_desc_create_with_strides(&a, 2, a_dims, dnnl_f32, a_strides);
  dnnl_memory_desc_create_with_strides(&b, 2, b_dims, dnnl_f32, b_strides);
  dnnl_memory_desc_create_with_strides(&c, 2, c_dims, dnnl_f32, c_strides);
  const MemoryDesc owners[] = {MemoryDesc(a), MemoryDesc(b), MemoryDesc(c)};
  if (a == nullptr || b == nullptr || c == nullptr) { return false; }
  const size_t image = static_cast<size_t>(pixels) * sizeof(float);
  const std::vector<dnnl_exec_arg_t> args = {
      {DNNL_ARG_SRC, Bind(a, kDst, image * static_cast<size_t>(g.out_channels))},
      {DNNL_ARG_WEIGHTS, Bind(b, kSrc, image * static_cast<size_t>(g.in_channels))},
      {DNNL_ARG_DST, Bind(c, kWeight)}};
  for (bool accumulates : {false, true}) {
    const Attributes attr = MakeAttributes(accumulates);
    dnnl_primitive_desc_t desc = nullptr;
    if (attr == nullptr || dnnl_matmul_primitive_desc_create(&desc, Engine(), a, b, nullptr, c,
                                                             attr.get()) != dnnl_success) {
      return false;
    }
    const PrimitiveDesc owner(desc);
    if (!AddStep(desc, args)) { return false; }
  }
  parts_ = g.batch;
  first_end_ = later_begin_ = 1;
  return true;
}

bool OnednnConv::Create(const ConvProblem& p) {
  if (Engine() == nullptr || onednn::ThreadStream() == nullptr) { return false; }
  threads_ = p.threads;
  const ParallelRegion region(p.threads);  // oneDNN plans for OpenMP's current thread count
  return IsProductOfImages(p) ? CreateProductOfImages(p) : CreateConvolution(p);
}

dnnl_status_t OnednnConv::SetHandles(void* const* roles, char* scratch, int64_t part) {
  for (const Binding& b : bindings_) {
    if (part > 0 && b.advance == 0) { continue; }
    char* base = b.role == kScratchRole ? scratch + b.offset : static_cast<char*>(roles[b.role]);
    const dnnl_status_t set =
        dnnl_memory_set_data_handle(b.memory, base + b.advance * static_cast<size_t>(part));
    if (set != dnnl_success) { return set; }
  }
  return dnnl_success;
}

dnnl_status_t OnednnConv::Run(const Step& step) const {
  if (step.primitive != nullptr) {
    return dnnl_primitive_execute(step.primitive.get(), onednn::ThreadStream(),
                                  static_cast<int>(step.args.size()), step.args.data());
  }
  void* from = nullptr;
  void* to = nullptr;
  dnnl_memory_get_data_handle(step.args[0].memory, &from);
  dnnl_memory_get_data_handle(step.args[1].memory, &to);
  if (step.to_planes) {
    PixelsToPlanes(step.turned, from, to, threads_);
  } else {
    PlanesToPixels(step.turned, from, to, threads_);
  }
  return dnnl_success;
}

dnnl_status_t OnednnConv::Execute(const ConvPointers& at, void* scratch) {
  void* const roles[kNumRoles] = {at.src, at.weight, at.dst, at.bias};
  // Not around loops of our own, which open theirs.
  std::optional<ParallelRegion> region;
  for (int64_t i = 0; i < parts_; ++i) {
    const dnnl_status_t set = SetHandles(roles, static_cast<char*>(scratch), i);
    if (set != dnnl_success) { return set; }
    const size_t begin = i == 0 ? 0 : later_begin_;
    const size_t end = i == 0 ? first_end_ : steps_.size();
    for (size_t s = begin; s < end; ++s) {
      if (steps_[s].primitive == nullptr) { region.reset(); }
      if (steps_[s].primitive != nullptr && !region) { region.emplace(threads_); }
      const dnnl_status_t done = Run(steps_[s]);
      if (done != dnnl_success) { return done; }
    }
  }
  return dnnl_success;
}

// ---- the cache ----------------------------------------------------------------------------------

namespace {

constexpr size_t kFields = 31;
using Cache = onednn::OnednnCache<OnednnConv, kFields, kMaxCachedConvs>;

onednn::Signature<kFields> SignatureOf(const ConvProblem& p) {
  const ConvGeometry& g = p.geometry;
  onednn::Signature<kFields> s = {static_cast<int64_t>(p.kind),
                                  static_cast<int64_t>(p.dtype),
                                  static_cast<int64_t>(p.src),
                                  static_cast<int64_t>(p.weight),
                                  static_cast<int64_t>(p.dst),
                                  p.has_bias ? 1 : 0,
                                  p.threads,
                                  g.spatial,
                                  g.batch,
                                  g.groups,
                                  g.in_channels,
                                  g.out_channels,
                                  p.float_weight ? 1 : 0};
  size_t n = 13;
  for (int d = 0; d < 3; ++d) {
    for (const int64_t* list : {g.in, g.out, g.kernel, g.stride, g.padding, g.dilation}) {
      s[n++] = list[d];
    }
  }
  return s;
}

}  // namespace

bool HasOnednnConv(const ConvProblem& problem) {
  if (Engine() == nullptr) { return false; }
  const ParallelRegion region(problem.threads);
  return MakePrimitiveDesc(problem, LayoutFor(problem)) != nullptr;
}

OnednnConv* FindOnednnConv(const ConvProblem& problem) {
  return Cache::OfThread().Find(SignatureOf(problem), [&]() -> std::unique_ptr<OnednnConv> {
    auto conv = std::make_unique<OnednnConv>();
    if (!conv->Create(problem)) { return nullptr; }
    return conv;
  });
}

size_t OnednnConvScratchBytes(const OnednnConv& conv) { return conv.scratch_bytes(); }

Maybe<void> ExecuteOnednnConv(OnednnConv* conv, const ConvPointers& at, void* scratch) {
  const dnnl_status_t status = conv->Execute(at, scratch);
  if (status == dnnl_success) { return Ok(); }
  return InternalError("[convolution] oneDNN failed with status {}", static_cast<int>(status));
}

}  // namespace cpu
}  // namespace oneflow
