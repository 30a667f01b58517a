// Reference kernels of the reductions: for each output its elements are collected, and looked at.
#include <cmath>
#include <utility>
#include <vector>

#include "oneflow/kernels/attrs_reduce.h"
#include "oneflow/kernels/cpu/reference.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {
namespace reference {

namespace {

using Values = std::vector<Value>;

// The shape with every dimension for which keep is true (false) replaced by 1.
struct Split {
  Dims kept;     // reduced dimensions have size 1
  Dims reduced;  // kept dimensions have size 1

  Split(const ArrayView& input, const IntList& dims) : kept(ShapeOf(input)), reduced(kept) {
    const bool all = !dims.given || dims.count == 0;
    for (int d = 0; d < input.ndim; ++d) {
      bool reduce = all;
      for (int i = 0; i < dims.count; ++i) { reduce = reduce || dims.values[i] == d; }
      (reduce ? kept : reduced)[d] = 1;
    }
  }
};

Dims Plus(const Dims& a, const Dims& b) {
  Dims sum = a;
  for (int d = 0; d < a.size(); ++d) { sum[d] += b[d]; }
  return sum;
}

// Offset of output number i (row-major), whatever its strides.
int64_t OutputOffset(const ArrayView& out, int64_t i) {
  int64_t offset = 0;
  for (int d = out.ndim - 1; d >= 0; --d) {
    offset += i % out.shape[d] * out.strides[d];
    i /= out.shape[d];
  }
  return offset;
}

// body(number of the output, its elements in the order of their index).
template <typename Body>
void ForEachOutput(const KernelCall& call, const Body& body) {
  const ArrayView& x = call.inputs[0];
  const Split split(x, call.GetAttrs<ReduceAttrs>().dims);
  int64_t output = 0;
  ForEachIndex(split.kept, [&](const Dims& kept) {
    Values values;
    ForEachIndex(split.reduced, [&](const Dims& reduced) {
      values.push_back(Load(x, OffsetOf(x, Plus(kept, reduced))));
    });
    body(output++, values);
  });
}

void StoreAt(const ArrayView& out, int64_t i, const Value& value) {
  Store(out, OutputOffset(out, i), value);
}

template <Value (*function)(const Values& values)>
Maybe<void> RunFold(const KernelCall& call) {
  ForEachOutput(call, [&](int64_t i, const Values& values) {
    StoreAt(call.outputs[0], i, function(values));
  });
  return Ok();
}

bool IsNan(const Value& x) { return x.is_float && std::isnan(x.d); }
bool IsZero(const Value& x) { return x.is_float ? x.d == 0.0 : x.i == 0; }
bool Floats(const Values& values) { return !values.empty() && values[0].is_float; }

// Both a floating and an integer sum are kept, so that a sum of nothing needs no dtype.
Value Number(long double real, uint64_t integer, const Values& values) {
  return Floats(values) ? Value::Float(static_cast<double>(real))
                        : Value::Int(static_cast<int64_t>(integer));
}

Value Sum(const Values& values) {
  long double real = 0.0L;
  uint64_t integer = 0;
  for (const Value& x : values) {
    real += x.d;
    integer += static_cast<uint64_t>(x.i);
  }
  return Number(real, integer, values);
}

Value NanSum(const Values& values) {
  Values numbers;
  for (const Value& x : values) { numbers.push_back(IsNan(x) ? Value::Float(0.0) : x); }
  return Sum(numbers);
}

Value Prod(const Values& values) {
  long double real = 1.0L;
  uint64_t integer = 1;
  for (const Value& x : values) {
    real *= x.d;
    integer *= static_cast<uint64_t>(x.i);
  }
  return Number(real, integer, values);
}

Value Mean(const Values& values) {
  return Value::Float(Sum(values).AsDouble() / static_cast<double>(values.size()));
}

Value CountNonzero(const Values& values) {
  int64_t count = 0;
  for (const Value& x : values) { count += IsZero(x) ? 0 : 1; }
  return Value::Int(count);
}

Value All(const Values& values) {
  return Value::Int(CountNonzero(values).i == static_cast<int64_t>(values.size()) ? 1 : 0);
}
Value Any(const Values& values) { return Value::Int(CountNonzero(values).i > 0 ? 1 : 0); }

// Does x go before best? A NaN goes before every number.
bool Better(const Value& x, const Value& best, bool max) {
  if (!x.is_float) { return max ? x.i > best.i : x.i < best.i; }
  return (max ? x.d > best.d : x.d < best.d) || (std::isnan(x.d) && !std::isnan(best.d));
}

int64_t Best(const Values& values, bool max) {
  int64_t best = -1;
  for (size_t i = 0; i < values.size(); ++i) {
    if (best < 0 || Better(values[i], values[static_cast<size_t>(best)], max)) {
      best = static_cast<int64_t>(i);
    }
  }
  return best;
}

// Outputs: the index, or the element and its index.
template <bool max>
Maybe<void> RunArg(const KernelCall& call) {
  bool empty = false;
  ForEachOutput(call, [&](int64_t i, const Values& values) {
    const int64_t best = Best(values, max);
    empty = empty || best < 0;
    if (best < 0) { return; }
    StoreAt(call.outputs[call.num_outputs - 1], i, Value::Int(best));
    if (call.num_outputs == 2) { StoreAt(call.outputs[0], i, values[static_cast<size_t>(best)]); }
  });
  if (!empty) { return Ok(); }
  return IndexError("[argmax] expects at least one element along the reduced dimension, got {}",
                    ShapeOf(call.inputs[0]));
}

template <bool max>
Maybe<void> RunExtreme(const KernelCall& call) {
  bool empty = false;
  ForEachOutput(call, [&](int64_t i, const Values& values) {
    const int64_t best = Best(values, max);
    empty = empty || best < 0;
    if (best >= 0) { StoreAt(call.outputs[0], i, values[static_cast<size_t>(best)]); }
  });
  if (!empty) { return Ok(); }
  return IndexError("[amax] expects at least one element along the reduced dimension, got {}",
                    ShapeOf(call.inputs[0]));
}

double Variance(const Values& values, double correction) {
  const double mean = Mean(values).d;
  long double squares = 0.0L;
  for (const Value& x : values) { squares += (x.d - mean) * (x.d - mean); }
  const double divisor = std::fmax(0.0, static_cast<double>(values.size()) - correction);
  return static_cast<double>(squares) / divisor;
}

template <bool root>
Maybe<void> RunMoment(const KernelCall& call) {
  const double correction = call.GetAttrs<MomentAttrs>().correction;
  ForEachOutput(call, [&](int64_t i, const Values& values) {
    const double var = Variance(values, correction);
    StoreAt(call.outputs[0], i, Value::Float(root ? std::sqrt(var) : var));
  });
  return Ok();
}

Value LogSumExp(const Values& values) {
  double max = -INFINITY;
  for (const Value& x : values) { max = std::fmax(max, x.d); }
  if (std::isinf(max)) { max = 0.0; }
  double sum = 0.0;
  for (const Value& x : values) { sum += std::exp(x.d - max); }
  return Value::Float(std::log(sum) + max);
}

double Norm(const Values& values, double ord) {
  if (std::isinf(ord)) {
    Values sizes;
    for (const Value& x : values) { sizes.push_back(Value::Float(std::fabs(x.d))); }
    if (sizes.empty()) { return ord > 0 ? 0.0 : ord; }
    return sizes[static_cast<size_t>(Best(sizes, ord > 0))].d;
  }
  if (ord == 0.0) { return static_cast<double>(CountNonzero(values).i); }
  long double sum = 0.0L;
  for (const Value& x : values) { sum += std::pow(std::fabs(static_cast<long double>(x.d)), ord); }
  return static_cast<double>(std::pow(sum, 1.0L / ord));
}

Maybe<void> RunNorm(const KernelCall& call) {
  const double ord = call.GetAttrs<NormAttrs>().ord;
  ForEachOutput(call, [&](int64_t i, const Values& values) {
    StoreAt(call.outputs[0], i, Value::Float(Norm(values, ord)));
  });
  return Ok();
}

double Cost(const KernelCall& call) { return 60.0 * static_cast<double>(call.inputs[0].Count()); }

}  // namespace

ONEFLOW_REGISTER_KERNEL(sum, {"sum.cpu.reference", &RunFold<Sum>, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(nansum, {"nansum.cpu.reference", &RunFold<NanSum>, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(prod, {"prod.cpu.reference", &RunFold<Prod>, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(mean, {"mean.cpu.reference", &RunFold<Mean>, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(count_nonzero,
                        {"count_nonzero.cpu.reference", &RunFold<CountNonzero>, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(all, {"all.cpu.reference", &RunFold<All>, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(any, {"any.cpu.reference", &RunFold<Any>, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(amax, {"amax.cpu.reference", &RunExtreme<true>, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(amin, {"amin.cpu.reference", &RunExtreme<false>, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(argmax, {"argmax.cpu.reference", &RunArg<true>, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(argmin, {"argmin.cpu.reference", &RunArg<false>, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(max_dim, {"max_dim.cpu.reference", &RunArg<true>, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(min_dim, {"min_dim.cpu.reference", &RunArg<false>, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(var, {"var.cpu.reference", &RunMoment<false>, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(std, {"std.cpu.reference", &RunMoment<true>, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(logsumexp,
                        {"logsumexp.cpu.reference", &RunFold<LogSumExp>, nullptr, &Cost});
ONEFLOW_REGISTER_KERNEL(vector_norm, {"vector_norm.cpu.reference", &RunNorm, nullptr, &Cost});

}  // namespace reference
}  // namespace cpu
}  // namespace oneflow
