#include "oneflow/kernels/cpu/kernel_testing.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>

#include "oneflow/core/shape.h"
#include "oneflow/kernels/cpu/reference.h"

namespace oneflow {
namespace cpu {
namespace testing {

namespace {
constexpr size_t kGuard = 64;
constexpr unsigned char kGuardByte = 0xa5;
}  // namespace

int64_t Pick(Rng* rng, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(*rng);
}

bool OneIn(Rng* rng, int n) { return Pick(rng, 1, n) == 1; }

DataType PickDtype(Rng* rng, const std::vector<DataType>& dtypes) {
  return dtypes[static_cast<size_t>(Pick(rng, 0, static_cast<int64_t>(dtypes.size()) - 1))];
}

// ---- HostArray ----------------------------------------------------------------------------------

HostArray::HostArray(DataType dtype, const Dims& shape)
    : HostArray(dtype, shape, ContiguousStrides(shape)) {}

HostArray::HostArray(DataType dtype, const Dims& shape, const Dims& strides)
    : dtype_(dtype), shape_(shape), strides_(strides) {
  int64_t last = 0;
  for (int d = 0; d < shape.size(); ++d) {
    last += std::max<int64_t>(shape[d] - 1, 0) * strides[d];
  }
  const size_t bytes = static_cast<size_t>(last + 1) * SizeOf(dtype);
  bytes_.assign(2 * kGuard + bytes, kGuardByte);
  is_element_.assign(bytes_.size(), false);
  MarkElements();
}

HostArray::HostArray(const HostArray& other) = default;

void HostArray::MarkElements() {
  const size_t size = SizeOf(dtype_);
  for (int64_t i = 0; i < count(); ++i) {
    const size_t at = kGuard + static_cast<size_t>(OffsetAt(i)) * size;
    for (size_t b = 0; b < size; ++b) { is_element_[at + b] = true; }
  }
}

int64_t HostArray::count() const { return ElementCount(shape_); }

int64_t HostArray::OffsetAt(int64_t i) const {
  int64_t offset = 0;
  for (int d = shape_.size() - 1; d >= 0; --d) {
    offset += i % shape_[d] * strides_[d];
    i /= shape_[d];
  }
  return offset;
}

ArrayView HostArray::view() const {
  ArrayView view;
  // As the engine's: the memory of nothing is nowhere.
  view.data = count() == 0 ? nullptr : const_cast<unsigned char*>(bytes_.data()) + kGuard;
  view.shape = shape_.data();
  view.strides = strides_.data();
  view.ndim = shape_.size();
  view.dtype = dtype_;
  view.contiguous = IsContiguous(shape_, strides_);
  return view;
}

double HostArray::At(int64_t i) const { return reference::Load(view(), OffsetAt(i)).AsDouble(); }

void HostArray::Set(int64_t i, double value) {
  reference::Store(view(), OffsetAt(i), reference::Value::Float(value));
}

namespace {

reference::Value RandomValue(Rng* rng, DataType dtype, bool special) {
  if (IsFloating(dtype)) {
    constexpr double kInf = std::numeric_limits<double>::infinity();
    constexpr double kSpecial[] = {NAN, kInf, -kInf, 0.0, -0.0, 1e-310, 3e38, -3e38};
    if (special && OneIn(rng, 12)) { return reference::Value::Float(kSpecial[Pick(rng, 0, 7)]); }
    return reference::Value::Float(std::normal_distribution<double>()(*rng));
  }
  if (special && OneIn(rng, 6)) { return reference::Value::Int(static_cast<int64_t>((*rng)())); }
  return reference::Value::Int(Pick(rng, -9, 9));
}

}  // namespace

void HostArray::Fill(Rng* rng, bool special) {
  for (int64_t i = 0; i < count(); ++i) {
    reference::Store(view(), OffsetAt(i), RandomValue(rng, dtype_, special));
  }
}

bool HostArray::GuardsIntact() const {
  for (size_t i = 0; i < bytes_.size(); ++i) {
    if (!is_element_[i] && bytes_[i] != kGuardByte) { return false; }
  }
  return true;
}

// ---- random arrays and shapes -------------------------------------------------------------------

namespace {

Dims PermutedStrides(Rng* rng, const Dims& shape, bool gaps) {
  std::vector<int> order(static_cast<size_t>(shape.size()));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), *rng);
  Dims strides(shape.size(), 0);
  int64_t step = gaps ? Pick(rng, 1, 3) : 1;
  for (int d : order) {
    strides[d] = step;
    step *= std::max<int64_t>(shape[d], 1);
    if (gaps) { step += Pick(rng, 0, 2); }
  }
  return strides;
}

}  // namespace

HostArray RandomArray(Rng* rng, DataType dtype, const Dims& shape, Layout layout) {
  if (layout == Layout::kDense) { return HostArray(dtype, shape); }
  Dims strides = PermutedStrides(rng, shape, layout == Layout::kStepped);
  if (layout == Layout::kRepeating) {
    for (int64_t& stride : strides) {
      if (OneIn(rng, 2)) { stride = 0; }
    }
  }
  return HostArray(dtype, shape, strides);
}

Layout PickLayout(Rng* rng, bool input) {
  constexpr Layout kLayouts[] = {Layout::kDense, Layout::kDense, Layout::kPermuted,
                                 Layout::kStepped, Layout::kRepeating};
  return kLayouts[Pick(rng, 0, input ? 4 : 3)];
}

Dims RandomShape(Rng* rng, int min_ndim, int max_ndim) {
  Dims shape(static_cast<int>(Pick(rng, min_ndim, max_ndim)), 1);
  for (int64_t& size : shape) { size = OneIn(rng, 25) ? 0 : OneIn(rng, 6) ? 1 : Pick(rng, 2, 9); }
  if (shape.size() > 0 && OneIn(rng, 8)) {
    shape[static_cast<int>(Pick(rng, 0, shape.size() - 1))] = Pick(rng, 100, 700);
  }
  for (int64_t& size : shape) {
    if (ElementCount(shape) > 8000) { size = std::min<int64_t>(size, 3); }
  }
  if (shape.size() == 1 && OneIn(rng, 16)) { shape[0] = Pick(rng, 30000, 70000); }
  if (shape.size() == 2 && OneIn(rng, 32)) { shape = {Pick(rng, 150, 250), Pick(rng, 150, 250)}; }
  return shape;
}

Dims ShapeThatBroadcasts(Rng* rng, const Dims& shape) {
  const int drop = OneIn(rng, 3) ? static_cast<int>(Pick(rng, 0, shape.size())) : 0;
  Dims out(shape.data() + drop, shape.size() - drop);
  if (OneIn(rng, 2)) {
    for (int64_t& size : out) { size = OneIn(rng, 3) ? 1 : size; }
  }
  return out;
}

std::string Difference(const HostArray& got, const HostArray& want, double tolerance) {
  if (got.shape() != want.shape() || got.dtype() != want.dtype()) {
    return "another shape or dtype";
  }
  for (int64_t i = 0; i < got.count(); ++i) {
    const double a = got.At(i);
    const double b = want.At(i);
    if (std::isnan(a) && std::isnan(b)) { continue; }
    if (a == b) { continue; }
    if (std::fabs(a - b) <= tolerance * std::fmax(1.0, std::fabs(b))) { continue; }
    return Format("element {} of {} {}: got {}, want {}", i, DataTypeName(got.dtype()), got.shape(),
                  a, b);
  }
  return "";
}

// ---- calls --------------------------------------------------------------------------------------

namespace {

ArrayView ViewOf(const HostArray* array) {
  if (array != nullptr) { return array->view(); }
  ArrayView absent;
  absent.given = false;
  return absent;
}

struct CallData {
  std::vector<ArrayView> inputs;
  std::vector<ArrayView> outputs;
  KernelCall call;

  CallData(const Arrays& in, const Arrays& out, const void* attrs, int threads) {
    for (const HostArray* array : in) { inputs.push_back(ViewOf(array)); }
    for (const HostArray* array : out) { outputs.push_back(ViewOf(array)); }
    call.inputs = inputs.data();
    call.outputs = outputs.data();
    call.num_inputs = static_cast<int>(inputs.size());
    call.num_outputs = static_cast<int>(outputs.size());
    call.attrs = attrs;
    call.threads = threads;
  }
};

struct Free {
  void operator()(void* p) const { std::free(p); }
};

}  // namespace

namespace {

// Which element of (N, C, H, W) is element i of the blocked array.
int64_t PlainIndex(int64_t i, const Dims& blocked) {
  const int64_t lane = i % blocked[4];
  const int64_t pixels = blocked[2] * blocked[3];
  const int64_t pixel = i / blocked[4] % pixels;
  const int64_t block = i / blocked[4] / pixels;  // of all images
  return (block * blocked[4] + lane) * pixels + pixel;
}

}  // namespace

HostArray InBlocks(const HostArray& plain) {
  const Dims& s = plain.shape();
  HostArray blocked(plain.dtype(), {s[0], s[1] / 16, s[2], s[3], 16});
  for (int64_t i = 0; i < blocked.count(); ++i) {
    blocked.Set(i, plain.At(PlainIndex(i, blocked.shape())));
  }
  return blocked;
}

HostArray OutOfBlocks(const HostArray& blocked) {
  const Dims& s = blocked.shape();
  HostArray plain(blocked.dtype(), {s[0], s[1] * 16, s[2], s[3]});
  for (int64_t i = 0; i < blocked.count(); ++i) { plain.Set(PlainIndex(i, s), blocked.At(i)); }
  return plain;
}

const char* Refusal(const char* kernel, const Arrays& inputs, const Arrays& outputs,
                    const void* attrs) {
  const Kernel* found = FindKernel(kernel);
  if (found == nullptr) { return "no such kernel"; }
  CallData call(inputs, outputs, attrs, 1);
  // A kernel decides without data.
  for (ArrayView& view : call.inputs) { view.data = nullptr; }
  for (ArrayView& view : call.outputs) { view.data = nullptr; }
  return found->accepts == nullptr ? nullptr : found->accepts(call.call);
}

Maybe<void> Call(const char* kernel, const Arrays& inputs, const Arrays& outputs, const void* attrs,
                 int threads) {
  const char* refusal = Refusal(kernel, inputs, outputs, attrs);
  if (refusal != nullptr) { return InternalError("{} refused: {}", kernel, refusal); }
  const Kernel* found = FindKernel(kernel);
  CallData call(inputs, outputs, attrs, threads);
  if (found->cost != nullptr && !(found->cost(call.call) >= 0.0)) {
    return InternalError("{} has no sensible cost", kernel);
  }
  std::unique_ptr<void, Free> scratch;
  if (found->scratch != nullptr) {
    call.call.scratch_bytes = found->scratch(call.call);
    // At least 64 bytes, and a whole multiple of them, as aligned_alloc wants.
    scratch.reset(std::aligned_alloc(64, (call.call.scratch_bytes / 64 + 1) * 64));
    call.call.scratch = scratch.get();
  }
  return found->run(call.call);
}

PreparedCall::PreparedCall(const char* kernel, const Arrays& inputs, const Arrays& outputs,
                           const void* attrs, int threads)
    : kernel_(FindKernel(kernel)) {
  for (const HostArray* array : inputs) { inputs_.push_back(ViewOf(array)); }
  for (const HostArray* array : outputs) { outputs_.push_back(ViewOf(array)); }
  call_.inputs = inputs_.data();
  call_.outputs = outputs_.data();
  call_.num_inputs = static_cast<int>(inputs_.size());
  call_.num_outputs = static_cast<int>(outputs_.size());
  call_.attrs = attrs;
  call_.threads = threads;
  const size_t bytes = kernel_->scratch == nullptr ? 0 : kernel_->scratch(call_);
  call_.scratch = std::aligned_alloc(64, (bytes / 64 + 1) * 64);
  call_.scratch_bytes = bytes;
}

PreparedCall::~PreparedCall() { std::free(call_.scratch); }

void PreparedCall::Run() {
  if (kernel_->accepts != nullptr && kernel_->accepts(call_) != nullptr) { std::abort(); }
  if (kernel_->cost != nullptr && !(kernel_->cost(call_) >= 0.0)) { std::abort(); }
  if (kernel_->scratch != nullptr && kernel_->scratch(call_) > call_.scratch_bytes) {
    std::abort();
  }
  CHECK_JUST(kernel_->run(call_));
}

std::vector<Config> AllConfigs() {
  std::vector<Config> configs;
  for (int isa = 0; isa <= static_cast<int>(BestIsa()); ++isa) {
    configs.push_back({static_cast<Isa>(isa), 1});
  }
  configs.push_back({BestIsa(), 2});
  return configs;
}

namespace {

std::vector<HostArray> Results(const std::string& kernel, const ReferenceCase& c, const Arrays& in,
                               int threads) {
  std::vector<HostArray> results = c.blank;
  Arrays out;
  for (HostArray& array : results) { out.push_back(&array); }
  CHECK_JUST(Call(kernel.c_str(), in, out, c.attrs, threads));
  return results;
}

}  // namespace

std::string AgainstReference(const ReferenceCase& c, const Arrays* other) {
  const std::string kernel = c.op + ".cpu." + c.kernel;
  const std::vector<HostArray> want =
      Results(c.op + ".cpu.reference", c, other == nullptr ? c.in : *other, 1);
  const std::vector<HostArray> first = Results(kernel, c, c.in, 1);
  for (const Config& config : AllConfigs()) {
    const ScopedIsa isa(config.isa);
    const std::vector<HostArray> got = Results(kernel, c, c.in, config.threads);
    for (size_t i = 0; i < got.size(); ++i) {
      const std::string where = kernel + ", result " + std::to_string(i) + ", " +
                                IsaName(config.isa) + ", threads " +
                                std::to_string(config.threads) + ": ";
      const std::string wrong = Difference(got[i], want[i], c.tolerance);
      if (!wrong.empty()) { return where + wrong; }
      const std::string bits = c.same_bits ? Difference(got[i], first[i], 0.0) : "";
      if (!bits.empty()) { return where + "other bits: " + bits; }
      if (!got[i].GuardsIntact()) { return where + "wrote outside of its result"; }
      if (!want[i].GuardsIntact()) { return where + "the reference wrote outside"; }
    }
  }
  return "";
}

double ToleranceFor(DataType dtype) {
  switch (dtype) {
    case DataType::kDouble: return 1e-11;
    case DataType::kFloat: return 3e-5;
    case DataType::kFloat16: return 4e-3;
    default: return 2.5e-2;
  }
}

}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
