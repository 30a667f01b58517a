// Convolution in the layouts that an eager tensor or a graph plan could use.
//
// Every distinct convolution of ResNet-50, float32, through oneDNN: forward, gradient of the data,
// gradient of the weights. The variants differ in the layout that the caller's tensors have:
//   chosen     whatever oneDNN picks (format_tag::any) for activations and weights: no reorder
//   nChw16c    blocked activations everywhere (one layout for a whole chain), weights chosen
//   nhwc       channels-last activations, weights chosen and kept
//   nhwc+w     channels-last activations, weights reordered from (or, for their gradient, to) oihw
//   nhwc+r     channels-last activations, reordered into the chosen layout and back; weights kept
//   nchw+r     plain tensors; activations and weights reordered into the chosen layout and back
//   nchw       plain tensors handed to oneDNN as they are
// Times are summed over the network, each shape as often as it occurs. The stem's data gradient is
// left out: no one asks for it. docs/decisions/0001-convolution-layout.md quotes the results.
//
// Each shape, direction and variant is checked against a direct sum in double at sampled points.
#ifdef _OPENMP
#include <omp.h>
#endif

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "bench/spikes/interleave.h"
#include "dnnl.hpp"

namespace oneflow::spikes {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;
using Dims = memory::dims;

struct Shape {
  int in_channels, out_channels, size, kernel, stride, count;
  int pad() const { return kernel / 2; }
  int out_size() const { return (size + 2 * pad() - kernel) / stride + 1; }
};

// {in, out, input size, kernel, stride, how often}; 53 convolutions in all.
const Shape kResNet50[] = {
    {3, 64, 224, 7, 2, 1},    {64, 64, 56, 1, 1, 1},    {64, 64, 56, 3, 1, 3},
    {64, 256, 56, 1, 1, 4},   {256, 64, 56, 1, 1, 2},   {256, 128, 56, 1, 1, 1},
    {128, 128, 56, 3, 2, 1},  {128, 512, 28, 1, 1, 4},  {256, 512, 56, 1, 2, 1},
    {512, 128, 28, 1, 1, 3},  {128, 128, 28, 3, 1, 3},  {512, 256, 28, 1, 1, 1},
    {256, 256, 28, 3, 2, 1},  {256, 1024, 14, 1, 1, 6}, {512, 1024, 28, 1, 2, 1},
    {1024, 256, 14, 1, 1, 5}, {256, 256, 14, 3, 1, 5},  {1024, 512, 14, 1, 1, 1},
    {512, 512, 14, 3, 2, 1},  {512, 2048, 7, 1, 1, 3},  {1024, 2048, 14, 1, 2, 1},
    {2048, 512, 7, 1, 1, 2},  {512, 512, 7, 3, 1, 2},
};

enum Direction { kForward, kBackwardData, kBackwardWeights, kDirections };
const char* const kDirectionNames[] = {"forward", "backward data", "backward weights"};

enum Variant {
  kChosen,
  kBlocked,
  kNhwc,
  kNhwcPlainWeights,
  kNhwcReordered,
  kNchwReordered,
  kNchw,
  kVariants
};
const char* const kVariantNames[] = {"chosen", "nChw16c", "nhwc", "nhwc+w",
                                     "nhwc+r", "nchw+r",  "nchw"};

struct Engine {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};

// One operand: the caller's memory, and the primitive's where they differ.
struct Operand {
  memory user;
  memory inner;
  bool reordered = false;
};

// The layout of the caller's tensor; `any` stands for the one that the primitive wants.
Tag UserTag(Variant variant, bool weights) {
  if (weights) {
    const bool plain =
        variant == kNhwcPlainWeights || variant == kNchwReordered || variant == kNchw;
    return plain ? Tag::oihw : Tag::any;
  }
  if (variant == kNchwReordered) return Tag::nchw;
  return variant == kNhwcReordered ? Tag::nhwc : Tag::any;
}

Tag ActivationTag(Variant variant, int channels) {
  switch (variant) {
    case kBlocked:
      return channels < 16 ? Tag::any : Tag::nChw16c;  // the image itself is not blocked
    case kNhwc:
    case kNhwcPlainWeights: return Tag::nhwc;
    case kNchw: return Tag::nchw;
    default: return Tag::any;
  }
}

// One convolution of one direction in one variant, ready to run.
class Convolution {
 public:
  Convolution(Engine* engine, const Shape& shape, int batch, Direction direction, Variant variant)
      : engine_(engine), shape_(shape), batch_(batch), direction_(direction), variant_(variant) {
    Create();
    Fill(&source_, 1);
    Fill(&weights_, 2);
    Fill(&target_, 3);
  }

  // Reorders of the operands in, the convolution, the reorder of the result out.
  void Run() {
    Operand* const result = Result();
    for (Operand* operand : {&source_, &weights_, &target_}) {
      if (operand != result && operand->reordered) Copy(&operand->user, &operand->inner);
    }
    primitive_.execute(engine_->stream, arguments_);
    if (result->reordered) Copy(&result->inner, &result->user);
    engine_->stream.wait();
  }

  // Compares the last result with a direct sum at `points` sampled positions.
  void Check(int points) {
    const std::vector<float> x = Plain(source_), w = Plain(weights_), y = Plain(target_);
    const std::vector<float>& result = direction_ == kForward        ? y
                                       : direction_ == kBackwardData ? x
                                                                     : w;
    std::mt19937 random(7);
    for (int i = 0; i < points; ++i) {
      const size_t index = random() % result.size();
      double scale = 1e-3;
      const double expected = Direct(index, x, w, y, &scale);
      if (!(std::fabs(result[index] - expected) <= 1e-5 * scale)) {
        std::fprintf(stderr, "wrong result: %s %s at %zu: %g, expected %g\n",
                     kDirectionNames[direction_], kVariantNames[variant_], index, result[index],
                     expected);
        std::exit(1);
      }
    }
  }

  std::string Implementation() const { return implementation_; }

 private:
  Operand* Result() {
    return direction_ == kForward ? &target_ : direction_ == kBackwardData ? &source_ : &weights_;
  }

  Dims SourceDims() const { return {batch_, shape_.in_channels, shape_.size, shape_.size}; }
  Dims WeightDims() const {
    return {shape_.out_channels, shape_.in_channels, shape_.kernel, shape_.kernel};
  }
  Dims TargetDims() const {
    return {batch_, shape_.out_channels, shape_.out_size(), shape_.out_size()};
  }

  void Create() {
    const auto f32 = memory::data_type::f32;
    const memory::desc source(SourceDims(), f32, ActivationTag(variant_, shape_.in_channels));
    const memory::desc weights(WeightDims(), f32, Tag::any);
    const memory::desc target(TargetDims(), f32, ActivationTag(variant_, shape_.out_channels));
    const Dims strides = {shape_.stride, shape_.stride};
    const Dims pads = {shape_.pad(), shape_.pad()};
    const auto algorithm = dnnl::algorithm::convolution_direct;
    const dnnl::convolution_forward::primitive_desc forward(
        engine_->engine, dnnl::prop_kind::forward_training, algorithm, source, weights, target,
        strides, pads, pads);
    if (direction_ == kForward) {
      Prepare(forward, forward.src_desc(), forward.weights_desc(), forward.dst_desc());
      primitive_ = dnnl::convolution_forward(forward);
      arguments_ = {{DNNL_ARG_SRC, source_.inner},
                    {DNNL_ARG_WEIGHTS, weights_.inner},
                    {DNNL_ARG_DST, target_.inner}};
    } else if (direction_ == kBackwardData) {
      const dnnl::convolution_backward_data::primitive_desc backward(
          engine_->engine, algorithm, source, weights, target, strides, pads, pads, forward);
      Prepare(backward, backward.diff_src_desc(), backward.weights_desc(),
              backward.diff_dst_desc());
      primitive_ = dnnl::convolution_backward_data(backward);
      arguments_ = {{DNNL_ARG_DIFF_SRC, source_.inner},
                    {DNNL_ARG_WEIGHTS, weights_.inner},
                    {DNNL_ARG_DIFF_DST, target_.inner}};
    } else {
      const dnnl::convolution_backward_weights::primitive_desc backward(
          engine_->engine, algorithm, source, weights, target, strides, pads, pads, forward);
      Prepare(backward, backward.src_desc(), backward.diff_weights_desc(),
              backward.diff_dst_desc());
      primitive_ = dnnl::convolution_backward_weights(backward);
      arguments_ = {{DNNL_ARG_SRC, source_.inner},
                    {DNNL_ARG_DIFF_WEIGHTS, weights_.inner},
                    {DNNL_ARG_DIFF_DST, target_.inner}};
    }
  }

  template <typename PrimitiveDesc>
  void Prepare(const PrimitiveDesc& pd, const memory::desc& source, const memory::desc& weights,
               const memory::desc& target) {
    implementation_ = pd.impl_info_str();
    source_ = Make(SourceDims(), source, false);
    weights_ = Make(WeightDims(), weights, true);
    target_ = Make(TargetDims(), target, false);
  }

  Operand Make(const Dims& dims, const memory::desc& inner, bool weights) {
    const Tag tag = UserTag(variant_, weights);
    Operand operand;
    operand.inner = memory(inner, engine_->engine);
    operand.user = operand.inner;
    if (tag == Tag::any) return operand;
    const memory::desc user(dims, memory::data_type::f32, tag);
    operand.reordered = user != inner;
    if (operand.reordered) operand.user = memory(user, engine_->engine);
    return operand;
  }

  // Random values in the caller's memory; padded channels of a blocked buffer become zero.
  void Fill(Operand* operand, unsigned seed) {
    const Dims dims = operand->user.get_desc().get_dims();
    memory plain(memory::desc(dims, memory::data_type::f32, Tag::abcd), engine_->engine);
    float* values = static_cast<float*>(plain.get_data_handle());
    std::mt19937 random(seed);
    const size_t count = plain.get_desc().get_size() / sizeof(float);
    for (size_t i = 0; i < count; ++i) {
      values[i] = static_cast<float>(random() % 2048) / 1024.0f - 1.0f;
    }
    Copy(&plain, &operand->user);
    engine_->stream.wait();
  }

  std::vector<float> Plain(Operand& operand) {
    const Dims dims = operand.user.get_desc().get_dims();
    memory plain(memory::desc(dims, memory::data_type::f32, Tag::abcd), engine_->engine);
    Copy(&operand.user, &plain);
    engine_->stream.wait();
    const float* values = static_cast<const float*>(plain.get_data_handle());
    return std::vector<float>(values, values + plain.get_desc().get_size() / sizeof(float));
  }

  // A cached reorder, as a runtime would keep it.
  void Copy(memory* from, memory* to) {
    const auto key = std::make_pair(from, to);
    auto found = reorders_.find(key);
    if (found == reorders_.end() || from->get() != found->second.from ||
        to->get() != found->second.to) {
      reorders_[key] = {from->get(), to->get(), dnnl::reorder(*from, *to)};
      found = reorders_.find(key);
    }
    found->second.primitive.execute(engine_->stream, *from, *to);
  }

  // The sum that defines element `index` of the result; `scale` gets the sum of magnitudes.
  double Direct(size_t index, const std::vector<float>& x, const std::vector<float>& w,
                const std::vector<float>& y, double* scale) const {
    const int c = shape_.in_channels, o = shape_.out_channels, k = shape_.kernel;
    const int n = shape_.size, m = shape_.out_size();
    double sum = 0;
    auto add = [&](int b, int oc, int ic, int i, int j, int p, int q) {
      const int row = i * shape_.stride + p - shape_.pad();
      const int column = j * shape_.stride + q - shape_.pad();
      if (row < 0 || row >= n || column < 0 || column >= n) return;
      const double xv = x[((size_t(b) * c + ic) * n + row) * n + column];
      const double wv = w[((size_t(oc) * c + ic) * k + p) * k + q];
      const double yv = y[((size_t(b) * o + oc) * m + i) * m + j];
      const double term = direction_ == kForward        ? xv * wv
                          : direction_ == kBackwardData ? wv * yv
                                                        : xv * yv;
      sum += term;
      *scale += std::fabs(term);
    };
    if (direction_ == kForward) {
      const int j = index % m, i = index / m % m, oc = index / m / m % o, b = index / m / m / o;
      for (int ic = 0; ic < c; ++ic)
        for (int p = 0; p < k; ++p)
          for (int q = 0; q < k; ++q) add(b, oc, ic, i, j, p, q);
    } else if (direction_ == kBackwardData) {
      const int column = index % n, row = index / n % n, ic = index / n / n % c;
      const int b = index / n / n / c;
      for (int p = 0; p < k; ++p) {
        for (int q = 0; q < k; ++q) {
          const int top = row + shape_.pad() - p, left = column + shape_.pad() - q;
          if (top < 0 || left < 0 || top % shape_.stride != 0 || left % shape_.stride != 0)
            continue;
          const int i = top / shape_.stride, j = left / shape_.stride;
          if (i >= m || j >= m) continue;
          for (int oc = 0; oc < o; ++oc) add(b, oc, ic, i, j, p, q);
        }
      }
    } else {
      const int q = index % k, p = index / k % k, ic = index / k / k % c, oc = index / k / k / c;
      for (int b = 0; b < batch_; ++b)
        for (int i = 0; i < m; ++i)
          for (int j = 0; j < m; ++j) add(b, oc, ic, i, j, p, q);
    }
    return sum;
  }

  struct CachedReorder {
    dnnl_memory_t from = nullptr;
    dnnl_memory_t to = nullptr;
    dnnl::reorder primitive;
  };

  Engine* const engine_;
  const Shape shape_;
  const int batch_;
  const Direction direction_;
  const Variant variant_;
  Operand source_, weights_, target_;
  dnnl::primitive primitive_;
  std::unordered_map<int, memory> arguments_;
  std::map<std::pair<memory*, memory*>, CachedReorder> reorders_;
  std::string implementation_;
};

// The mean of two runs. An untimed run goes first, so that a variant does not pay for the caches
// that its predecessor left.
double Milliseconds(Convolution* convolution) {
  convolution->Run();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 2; ++i) convolution->Run();
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  return took.count() / 2;
}

struct Options {
  int batch = 4;
  int threads = 2;
  int rounds = 15;
  unsigned seed = 1;
  bool details = false;
  int direction = -1;  // all of them
};

// Sum over the network of the medians of one variant; the spread adds up in squares.
struct Total {
  double median = 0;
  double spread = 0;
};

// Measures one shape in one direction: all variants, in rounds of random order.
void MeasureShape(Engine* engine, const Options& options, const Shape& shape, Direction direction,
                  unsigned seed, std::vector<Total>* totals) {
  std::vector<Convolution> convolutions;
  convolutions.reserve(kVariants);
  Interleave table({"ms"});
  for (int v = 0; v < kVariants; ++v) {
    convolutions.emplace_back(engine, shape, options.batch, direction, static_cast<Variant>(v));
    Convolution* convolution = &convolutions.back();
    convolution->Run();
    convolution->Check(16);
    table.Add(kVariantNames[v],
              [convolution] { return std::vector<double>{Milliseconds(convolution)}; });
  }
  table.Run(options.rounds, seed);
  for (Convolution& convolution : convolutions) convolution.Check(4);
  if (options.details) {
    std::printf("%4d->%4d %3d k%d s%d x%d %-16s", shape.in_channels, shape.out_channels, shape.size,
                shape.kernel, shape.stride, shape.count, kDirectionNames[direction]);
    for (int v = 0; v < kVariants; ++v) {
      std::printf(" %8.3f %s", table.MedianOf(v, 0), convolutions[v].Implementation().c_str());
    }
    std::printf("\n");
  }
  for (int v = 0; v <= kVariants; ++v) {
    (*totals)[v].median += shape.count * table.MedianOf(v, 0);
    (*totals)[v].spread = std::hypot((*totals)[v].spread, shape.count * table.IqrOf(v, 0));
  }
}

double GigaFlops(const Options& options, Direction direction) {
  double total = 0;
  for (const Shape& s : kResNet50) {
    if (direction == kBackwardData && s.in_channels == 3) continue;
    total += 2.0 * s.count * options.batch * s.in_channels * s.out_channels * s.kernel * s.kernel *
             s.out_size() * s.out_size();
  }
  return total * 1e-9;
}

void MeasureDirection(Engine* engine, const Options& options, Direction direction) {
  std::vector<Total> totals(kVariants + 1);
  unsigned seed = options.seed;
  for (const Shape& shape : kResNet50) {
    if (direction == kBackwardData && shape.in_channels == 3) continue;
    MeasureShape(engine, options, shape, direction, seed++, &totals);
  }
  const double work = GigaFlops(options, direction);
  std::printf("\n%s, batch %d, %d threads, sum over ResNet-50 (%.1f GFLOP)\n",
              kDirectionNames[direction], options.batch, options.threads, work);
  std::printf("%-18s%12s%10s%12s%12s\n", "variant", "ms", "IQR", "GFLOP/s", "vs chosen");
  for (int v = 0; v <= kVariants; ++v) {
    std::printf("%-18s%12.2f%10.2f%12.1f%12.3f\n",
                v < kVariants ? kVariantNames[v] : "chosen (again)", totals[v].median,
                totals[v].spread, 1e3 * work / totals[v].median,
                totals[v].median / totals[0].median);
  }
  const bool valid = ControlAgrees(totals[0].median, totals[0].spread, totals[kVariants].median,
                                   totals[kVariants].spread);
  std::printf("control: %s\n", valid ? "valid" : "host invalid");
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const int value = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--batch") == 0) options.batch = value;
    if (std::strcmp(argv[i], "--threads") == 0) options.threads = value;
    if (std::strcmp(argv[i], "--rounds") == 0) options.rounds = value;
    if (std::strcmp(argv[i], "--seed") == 0) options.seed = value;
    if (std::strcmp(argv[i], "--details") == 0) options.details = value != 0;
    if (std::strcmp(argv[i], "--direction") == 0) options.direction = value;
  }
#ifdef _OPENMP
  omp_set_num_threads(options.threads);
#endif
  const dnnl_version_t* version = dnnl_version();
  std::printf("oneDNN %d.%d.%d\n", version->major, version->minor, version->patch);
  Engine engine;
  for (int d = 0; d < kDirections; ++d) {
    if (options.direction >= 0 && options.direction != d) continue;
    MeasureDirection(&engine, options, static_cast<Direction>(d));
  }
  return 0;
}

}  // namespace
}  // namespace oneflow::spikes

int main(int argc, char** argv) { return oneflow::spikes::Main(argc, argv); }
