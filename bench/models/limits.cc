// What a step cannot beat on this machine: its convolutions and products of matrices alone, each in the layout that
// oneDNN likes best, without a reorder; and how fast memory is read and written.
//
//   limits SPEC [RUNS]
//
// SPEC is a file of lines:
//   metric NAME                                      what the lines after it add up to
//   conv DTYPE N IC OC SIZE KERNEL STRIDE COUNT PASSES     square pictures, padding KERNEL / 2; passes of f, d, w
//   matmul DTYPE BATCH M K N COUNT
// DTYPE is fp32 or bf16. For each metric one line of JSON is printed, as bench/harness/process.py describes: seconds, the
// sum over its lines of COUNT times the fastest of RUNS (2) runs after one that is not timed. The metric "bandwidth" comes by itself: GB/s of
// a = b + c over arrays that no cache holds, three streams counted.
//
// Operands are ones, and the largest number of each result is compared with what it must be. Exit status 1: a result is
// wrong; 2: SPEC cannot be read.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "dnnl.hpp"

namespace oneflow::bench {
namespace {

using dnnl::memory;
using Dims = memory::dims;
using Tag = memory::format_tag;
using Type = memory::data_type;

struct Engine {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

memory::desc Any(const Dims& dims, Type type) { return memory::desc(dims, type, Tag::any); }

// The row-major layout of a number of dims.
Tag Plain(size_t dims) { return dims == 4 ? Tag::abcd : dims == 3 ? Tag::abc : Tag::ab; }

// A memory of ones; padded elements of a blocked layout stay zero.
memory Ones(Engine* engine, const memory::desc& desc) {
  const Dims dims = desc.get_dims();
  memory plain(memory::desc(dims, Type::f32, Plain(dims.size())), engine->engine);
  float* values = static_cast<float*>(plain.get_data_handle());
  std::fill(values, values + plain.get_desc().get_size() / sizeof(float), 1.0f);
  memory made(desc, engine->engine);
  dnnl::reorder(plain, made).execute(engine->stream, plain, made);
  engine->stream.wait();
  return made;
}

double Largest(Engine* engine, memory result) {
  const Dims dims = result.get_desc().get_dims();
  memory plain(memory::desc(dims, Type::f32, Plain(dims.size())), engine->engine);
  dnnl::reorder(result, plain).execute(engine->stream, result, plain);
  engine->stream.wait();
  const float* values = static_cast<const float*>(plain.get_data_handle());
  return *std::max_element(values, values + plain.get_desc().get_size() / sizeof(float));
}

// Runs a primitive; seconds of the fastest run, and a negative number if the result is wrong.
double Time(Engine* engine, const dnnl::primitive& primitive,
            const std::unordered_map<int, memory>& arguments, int result, double expected,
            int runs) {
  double best = 0.0;
  for (int i = 0; i <= runs; ++i) {
    const double start = Now();
    primitive.execute(engine->stream, arguments);
    engine->stream.wait();
    const double took = Now() - start;
    if (i == 1 || (i > 1 && took < best)) { best = took; }
  }
  const double got = Largest(engine, arguments.at(result));
  if (!(std::fabs(got - expected) <= 0.01 * expected)) {
    std::fprintf(stderr, "limits: wrong result: %g, expected %g\n", got, expected);
    return -1.0;
  }
  return best;
}

struct Convolution {
  Type type;
  int64_t batch, inputs, outputs, size, kernel, stride;
  int64_t pad() const { return kernel / 2; }
  int64_t out() const { return (size + 2 * pad() - kernel) / stride + 1; }
  double Flops() const {
    return 2.0 * static_cast<double>(batch * inputs * outputs * kernel * kernel * out() * out());
  }
  // Taps of a kernel that meet one input pixel.
  int64_t Meets() const { return (kernel + stride - 1) / stride; }
};

double TimeForward(Engine* engine, const Convolution& c,
                   const dnnl::convolution_forward::primitive_desc& forward, int runs) {
  const std::unordered_map<int, memory> arguments = {
      {DNNL_ARG_SRC, Ones(engine, forward.src_desc())},
      {DNNL_ARG_WEIGHTS, Ones(engine, forward.weights_desc())},
      {DNNL_ARG_DST, memory(forward.dst_desc(), engine->engine)}};
  const double expected = static_cast<double>(c.inputs * c.kernel * c.kernel);
  return Time(engine, dnnl::convolution_forward(forward), arguments, DNNL_ARG_DST, expected, runs);
}

// One pass of a convolution: f forward, d the gradient of the data, w of the weights.
double TimeConvolution(Engine* engine, const Convolution& c, char pass, int runs) {
  const Dims strides{c.stride, c.stride}, pads{c.pad(), c.pad()};
  const memory::desc source = Any({c.batch, c.inputs, c.size, c.size}, c.type);
  const memory::desc weights = Any({c.outputs, c.inputs, c.kernel, c.kernel}, c.type);
  const memory::desc target = Any({c.batch, c.outputs, c.out(), c.out()}, c.type);
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const dnnl::convolution_forward::primitive_desc forward(
      engine->engine, dnnl::prop_kind::forward_training, algorithm, source, weights, target,
      strides, pads, pads);
  if (pass == 'f') { return TimeForward(engine, c, forward, runs); }
  if (pass == 'd') {
    const dnnl::convolution_backward_data::primitive_desc back(
        engine->engine, algorithm, source, weights, target, strides, pads, pads, forward);
    const std::unordered_map<int, memory> arguments = {
        {DNNL_ARG_DIFF_SRC, memory(back.diff_src_desc(), engine->engine)},
        {DNNL_ARG_WEIGHTS, Ones(engine, back.weights_desc())},
        {DNNL_ARG_DIFF_DST, Ones(engine, back.diff_dst_desc())}};
    const double expected = static_cast<double>(c.outputs * c.Meets() * c.Meets());
    return Time(engine, dnnl::convolution_backward_data(back), arguments, DNNL_ARG_DIFF_SRC,
                expected, runs);
  }
  const dnnl::convolution_backward_weights::primitive_desc back(
      engine->engine, algorithm, source, weights, target, strides, pads, pads, forward);
  const std::unordered_map<int, memory> arguments = {
      {DNNL_ARG_SRC, Ones(engine, back.src_desc())},
      {DNNL_ARG_DIFF_WEIGHTS, memory(back.diff_weights_desc(), engine->engine)},
      {DNNL_ARG_DIFF_DST, Ones(engine, back.diff_dst_desc())}};
  const double expected = static_cast<double>(c.batch * c.out() * c.out());
  return Time(engine, dnnl::convolution_backward_weights(back), arguments, DNNL_ARG_DIFF_WEIGHTS,
              expected, runs);
}

struct Product {
  Type type;
  int64_t batch, m, k, n;
  double Flops() const { return 2.0 * static_cast<double>(batch * m * k * n); }
};

double TimeProduct(Engine* engine, const Product& p, int runs) {
  const auto dims = [&](int64_t rows, int64_t columns) {
    return p.batch == 1 ? Dims{rows, columns} : Dims{p.batch, rows, columns};
  };
  const dnnl::matmul::primitive_desc desc(engine->engine, Any(dims(p.m, p.k), p.type),
                                          Any(dims(p.k, p.n), p.type), Any(dims(p.m, p.n), p.type));
  const std::unordered_map<int, memory> arguments = {
      {DNNL_ARG_SRC, Ones(engine, desc.src_desc())},
      {DNNL_ARG_WEIGHTS, Ones(engine, desc.weights_desc())},
      {DNNL_ARG_DST, memory(desc.dst_desc(), engine->engine)}};
  return Time(engine, dnnl::matmul(desc), arguments, DNNL_ARG_DST, static_cast<double>(p.k), runs);
}

// GB/s of a = b + c, the fastest of some runs.
double Bandwidth() {
  constexpr int64_t kCount = int64_t{1} << 25;  // 128 MiB an array
  std::vector<float> a(kCount, 1.0f), b(kCount, 1.0f), c(kCount, 1.0f);
  float *to = a.data(), *left = b.data(), *right = c.data();
  double best = 1e9;
  for (int run = 0; run < 4; ++run) {
    const double start = Now();
#pragma omp parallel for simd schedule(static) aligned(to, left, right : 16)
    for (int64_t i = 0; i < kCount; ++i) { to[i] = left[i] + right[i]; }
    best = std::min(best, Now() - start);
  }
  return 3.0 * sizeof(float) * static_cast<double>(kCount) / best * 1e-9;
}

struct Total {
  std::string name;
  double seconds = 0.0;
  double flops = 0.0;
  bool wrong = false;

  void Add(int64_t count, double once, double operations) {
    wrong = wrong || once < 0.0;
    seconds += static_cast<double>(count) * once;
    flops += static_cast<double>(count) * operations;
  }
};

// False if there is nothing right to print.
bool Print(const Total& total) {
  if (total.wrong) { return false; }
  if (total.name.empty()) { return true; }
  std::printf(
      "{\"metric\": \"%s\", \"unit\": \"s\", \"samples\": [%.9g], \"check\": {\"flops\": %.17g}}\n",
      total.name.c_str(), total.seconds, total.flops);
  std::fflush(stdout);
  return true;
}

bool ReadType(std::istream* in, Type* type) {
  std::string text;
  *in >> text;
  *type = text == "bf16" ? Type::bf16 : Type::f32;
  return text == "bf16" || text == "fp32";
}

// Measures a line of the file; false if it cannot be read.
bool Measure(Engine* engine, std::istream* line, const std::string& kind, int runs, Total* total) {
  int64_t count = 0;
  if (kind == "conv") {
    Convolution c{};
    std::string passes;
    if (!ReadType(line, &c.type)) { return false; }
    *line >> c.batch >> c.inputs >> c.outputs >> c.size >> c.kernel >> c.stride >> count >> passes;
    if (line->fail() || std::min({c.batch, c.inputs, c.outputs, c.size, c.stride}) < 1 ||
        c.kernel % 2 != 1 || passes.find_first_not_of("fdw") != std::string::npos) {
      return false;
    }
    for (const char pass : passes) {
      total->Add(count, TimeConvolution(engine, c, pass, runs), c.Flops());
    }
    return true;
  }
  Product p{};
  if (kind != "matmul" || !ReadType(line, &p.type)) { return false; }
  *line >> p.batch >> p.m >> p.k >> p.n >> count;
  if (line->fail() || std::min({p.batch, p.m, p.k, p.n}) < 1) { return false; }
  total->Add(count, TimeProduct(engine, p, runs), p.Flops());
  return true;
}

int Run(std::istream* file, int runs) {
  Engine engine;
  Total total;
  std::string text;
  while (std::getline(*file, text)) {
    std::istringstream line(text);
    std::string kind;
    if (!(line >> kind)) { continue; }
    if (kind == "metric") {
      if (!Print(total)) { return 1; }
      total = Total();
      line >> total.name;
    } else if (total.name.empty() || !Measure(&engine, &line, kind, runs, &total)) {
      std::fprintf(stderr, "limits: cannot read the line: %s\n", text.c_str());
      return 2;
    }
  }
  return Print(total) ? 0 : 1;
}

int Main(int argc, char** argv) {
  std::ifstream file(argc > 1 ? argv[1] : "");
  const int runs = argc > 2 ? std::atoi(argv[2]) : 2;
  if (!file || runs < 1) {
    std::fprintf(stderr, "usage: limits SPEC [RUNS]\n");
    return 2;
  }
  std::printf("{\"metric\": \"bandwidth\", \"unit\": \"GB/s\", \"samples\": [%.9g], "
              "\"check\": {\"streams\": 3}}\n",
              Bandwidth());
  return Run(&file, runs);
}

}  // namespace
}  // namespace oneflow::bench

int main(int argc, char** argv) { return oneflow::bench::Main(argc, argv); }
