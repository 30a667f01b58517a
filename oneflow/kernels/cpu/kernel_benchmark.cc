// Time of single kernel calls, with everything that the engine does around a kernel (accept, cost,
// scratch, run), one thread. Each benchmark first checks its result against the reference.
//
//   tools/bazel run //oneflow/kernels/cpu:kernel_benchmark -- --benchmark_filter=add
#include <cstdlib>
#include <string>

#include "benchmark/benchmark.h"
#include "oneflow/common/log.h"
#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/cpu/kernel_testing.h"

namespace oneflow {
namespace cpu {
namespace testing {
namespace {

void Require(const std::string& difference) {
  if (difference.empty()) { return; }
  WriteStderr("wrong result: " + difference + "\n");
  std::abort();
}

// The reference writes into `want`, the kernel into `got`; then the kernel is timed.
void Measure(benchmark::State& state, const std::string& op, const std::string& kind,
             const Arrays& in, const HostArray& blank, const void* attrs, double tolerance) {
  HostArray want = blank;
  HostArray got = blank;
  PreparedCall call((op + kind).c_str(), in, {&got}, attrs);
  call.Run();
  CHECK_JUST(Call((op + ".cpu.reference").c_str(), in, {&want}, attrs));
  Require(Difference(got, want, tolerance));
  for (auto _ : state) { call.Run(); }
  state.SetItemsProcessed(state.iterations() * blank.count());
}

HostArray Filled(DataType dtype, const Dims& shape) {
  Rng rng(1);
  HostArray array(dtype, shape);
  array.Fill(&rng, false);
  return array;
}

void BM_add(benchmark::State& state) {
  const HostArray x = Filled(DataType::kFloat, {state.range(0)});
  const AddAttrs attrs;
  Measure(state, "add", ".cpu.vector", {&x, &x}, x, &attrs, 0.0);
}
BENCHMARK(BM_add)->Arg(1)->Arg(1000)->Arg(100000)->Arg(4000000);

void BM_scalar_add(benchmark::State& state) {
  const HostArray x = Filled(DataType::kFloat, {state.range(0)});
  const ScalarAttrs attrs{Scalar(1)};
  Measure(state, "scalar_add", ".cpu.vector", {&x}, x, &attrs, 0.0);
}
BENCHMARK(BM_scalar_add)->Arg(1)->Arg(1000);

void BM_add_bias(benchmark::State& state) {
  const HostArray x = Filled(DataType::kFloat, {state.range(0), state.range(1)});
  const HostArray bias = Filled(DataType::kFloat, {state.range(1)});
  const AddAttrs attrs;
  Measure(state, "add", ".cpu.vector", {&x, &bias}, x, &attrs, 0.0);
}
BENCHMARK(BM_add_bias)->Args({32, 128})->Args({10000, 10});

void BM_copy_transposed(benchmark::State& state) {
  const int64_t n = state.range(0);
  HostArray x(DataType::kFloat, {n, n}, {1, n});
  Rng rng(1);
  x.Fill(&rng, false);
  Measure(state, "copy", ".cpu.vector", {&x}, HostArray(DataType::kFloat, {n, n}), nullptr, 0.0);
}
BENCHMARK(BM_copy_transposed)->Arg(100)->Arg(1000);

void BM_cast_float_to_int64(benchmark::State& state) {
  const HostArray x = Filled(DataType::kFloat, {state.range(0)});
  const HostArray out(DataType::kInt64, {state.range(0)});
  Measure(state, "copy", ".cpu.vector", {&x}, out, nullptr, 0.0);
}
BENCHMARK(BM_cast_float_to_int64)->Arg(1)->Arg(10000);

void MeasureMatmul(benchmark::State& state, const char* kind, DataType dtype) {
  const HostArray a = Filled(dtype, {state.range(0), state.range(1)});
  const HostArray b = Filled(dtype, {state.range(1), state.range(2)});
  const MatmulAttrs attrs;
  Measure(state, "matmul", kind, {&a, &b}, HostArray(dtype, {state.range(0), state.range(2)}),
          &attrs, 1e-4);
  const double flops = 2.0 * static_cast<double>(state.range(0) * state.range(1) * state.range(2));
  state.counters["flops"] =
      benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
}
void BM_matmul_onednn(benchmark::State& state) {
  MeasureMatmul(state, ".cpu.onednn", DataType::kFloat);
}
void BM_matmul_vector(benchmark::State& state) {
  MeasureMatmul(state, ".cpu.vector", DataType::kFloat);
}
void BM_matmul_double(benchmark::State& state) {
  MeasureMatmul(state, ".cpu.vector", DataType::kDouble);
}
BENCHMARK(BM_matmul_onednn)->Args({32, 64, 128})->Args({32, 128, 128})->Args({256, 256, 256});
BENCHMARK(BM_matmul_vector)
    ->Args({1, 64, 10})
    ->Args({16, 16, 16})
    ->Args({32, 64, 128})
    ->Args({256, 256, 256});
BENCHMARK(BM_matmul_double)->Args({32, 64, 128})->Args({256, 256, 256});

void BM_linear(benchmark::State& state) {
  const HostArray x = Filled(DataType::kFloat, {state.range(0), state.range(1)});
  const HostArray w = Filled(DataType::kFloat, {state.range(2), state.range(1)});
  const HostArray bias = Filled(DataType::kFloat, {state.range(2)});
  const NoAttrs attrs;
  Measure(state, "linear", ".cpu.onednn", {&x, &w, &bias},
          HostArray(DataType::kFloat, {state.range(0), state.range(2)}), &attrs, 1e-4);
}
BENCHMARK(BM_linear)->Args({32, 64, 128})->Args({32, 128, 128})->Args({32, 128, 10});

void BM_sum(benchmark::State& state) {
  const HostArray x = Filled(DataType::kFloat, {state.range(0), state.range(1)});
  ReduceAttrs attrs;
  attrs.dims = IntList(Dims{state.range(2)});
  const HostArray blank(DataType::kFloat, {state.range(2) == 0 ? state.range(1) : state.range(0)});
  Measure(state, "sum", ".cpu.vector", {&x}, blank, &attrs, 1e-4);
}
BENCHMARK(BM_sum)
    ->Args({32, 128, 0})
    ->Args({32, 128, 1})
    ->Args({1000, 1000, 0})
    ->Args({1000, 1000, 1});

void BM_log_softmax(benchmark::State& state) {
  const HostArray x = Filled(DataType::kFloat, {state.range(0), state.range(1)});
  LogSoftmaxAttrs attrs;
  attrs.dim = state.range(2);
  Measure(state, "log_softmax", ".cpu.vector", {&x}, x, &attrs, 1e-5);
}
BENCHMARK(BM_log_softmax)->Args({32, 10, 1})->Args({100, 1000, 1})->Args({1000, 100, 0});

void BM_normal(benchmark::State& state) {
  const NormalAttrs attrs{0.0, 1.0, {1, 0}};
  Measure(state, "normal", ".cpu.vector", {}, HostArray(DataType::kFloat, {state.range(0)}), &attrs,
          0.0);
}
BENCHMARK(BM_normal)->Arg(10)->Arg(100000);

void BM_uniform(benchmark::State& state) {
  const UniformAttrs attrs{0.0, 1.0, {1, 0}};
  Measure(state, "uniform", ".cpu.vector", {}, HostArray(DataType::kFloat, {state.range(0)}),
          &attrs, 0.0);
}
BENCHMARK(BM_uniform)->Arg(100000);

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
