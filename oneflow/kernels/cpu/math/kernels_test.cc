// Every kernel of this folder against its reference: random shapes, layouts, dtypes and values,
// under every instruction set, with one thread and with two.
#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/cpu/kernel_testing.h"
#include "oneflow/kernels/cpu/math/operands.h"

namespace oneflow {
namespace cpu {
namespace testing {
namespace {

struct KernelCase {
  std::string name;
  MathOp op;
  Form form;
};

#define ONEFLOW_TENSORS(id, name, cost) {#name, MathOp::k##id, Form::kTensors},
#define ONEFLOW_NUMBERS(id, name, cost) {#name, MathOp::k##id, Form::kNumbers},
#define ONEFLOW_LISTED(name, id, form) {#name, MathOp::k##id, Form::form},
const KernelCase kCases[] = {ONEFLOW_FUNCTIONS(ONEFLOW_TENSORS)             //
                             ONEFLOW_ACTIVATIONS(ONEFLOW_TENSORS)           //
                             ONEFLOW_NUMBERED_ACTIVATIONS(ONEFLOW_NUMBERS)  //
                             ONEFLOW_ARITHMETIC_KERNELS(ONEFLOW_LISTED)     //
                             {"scalar_pow", MathOp::kPow, Form::kNumberLast}};

// How many operands an op has, numbers included.
int Arity(MathOp op) {
  switch (op) {
    case MathOp::kMaximumBackward:
    case MathOp::kPreluInputBackward:
    case MathOp::kWhere:
    case MathOp::kAddcmul:
    case MathOp::kAddcdiv:
    case MathOp::kLerp: return 3;
    case MathOp::kClamp: return 1;
    default: break;
  }
  const std::string name = MathName(op);
  const bool backward = name.size() > 9 && name.substr(name.size() - 9) == "_backward";
  const bool two = op == MathOp::kPrelu || (op >= MathOp::kEq && op <= MathOp::kGe) ||
                   (op >= MathOp::kLogicalAnd && op <= MathOp::kLogaddexp) ||
                   (op >= MathOp::kSub && op <= MathOp::kDiv);
  return backward || two ? 2 : 1;
}

int TensorsOf(const KernelCase& c) {
  if (c.form == Form::kFill) { return 2; }
  const bool number = c.form == Form::kNumberLast || c.form == Form::kNumberFirst;
  return Arity(c.op) - (number ? 1 : 0);
}

union AnyAttrs {
  AnyAttrs() : math() {}
  MathAttrs math;
  ScalarAttrs scalar;
  ClampAttrs clamp;
};

AnyAttrs MakeAttrs(const KernelCase& c, DataType dtype) {
  AnyAttrs attrs;
  const bool floats = IsFloating(dtype);
  const Scalar number = floats ? Scalar(1.75) : Scalar(3);
  if (c.form == Form::kBounds) {
    attrs.clamp = ClampAttrs{floats ? Scalar(-0.5) : Scalar(2), number, true, true};
  } else if (c.form == Form::kNumbers) {
    attrs.math = MathAttrs{floats ? 0.5 : 2.0, 1.5, 0.75};
  } else {
    attrs.scalar.value = number;
  }
  return attrs;
}

double ToleranceOf(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat: return 2e-6;
    case DataType::kDouble: return 1e-13;
    case DataType::kFloat16: return 1e-3;
    case DataType::kBFloat16: return 8e-3;
    default: return 0.0;
  }
}

bool Divides(MathOp op) { return op >= MathOp::kFmod && op <= MathOp::kTruncDivide; }

// Integers: no divisor of zero, and no power that takes the reference for ever. Floats: no number so
// large that a product of three overflows on the way, as it does not in the reference's double.
void MakeValid(const KernelCase& c, int i, HostArray* x) {
  const bool divisor = Divides(c.op) && (i == 1 || c.form == Form::kNumberFirst);
  const bool exponent = c.op == MathOp::kPow && (i == 1 || c.form == Form::kNumberFirst);
  for (int64_t k = 0; k < x->count(); ++k) {
    const double value = x->At(k);
    if (IsFloating(x->dtype())) {
      const bool large = std::isfinite(value) && std::fabs(value) > 1e12;
      if (large && x->dtype() != DataType::kDouble) { x->Set(k, std::copysign(1e12, value)); }
      continue;
    }
    if (divisor && value == 0.0) { x->Set(k, 1.0); }
    if (exponent && (value > 40.0 || value < -40.0)) { x->Set(k, 5.0); }
  }
}

struct Operation {
  std::vector<HostArray> inputs;
  HostArray blank;
};

Operation MakeOperation(const KernelCase& c, DataType dtype, Rng* rng) {
  const Dims shape = RandomShape(rng, 0, 4);
  const int tensors = TensorsOf(c);
  const bool selects = c.op == MathOp::kWhere;
  const int mask = !selects ? -1 : c.form == Form::kFill ? 1 : 0;
  std::vector<HostArray> inputs;
  for (int i = 0; i < tensors; ++i) {
    const Dims own = tensors > 1 || OneIn(rng, 4) ? ShapeThatBroadcasts(rng, shape) : shape;
    const DataType type = i == mask ? DataType::kBool : dtype;
    inputs.push_back(RandomArray(rng, type, own, PickLayout(rng, true)));
    inputs.back().Fill(rng, true);
    MakeValid(c, i, &inputs.back());
  }
  const DataType out = GivesBool(c.op) ? DataType::kBool : dtype;
  return {std::move(inputs), RandomArray(rng, out, shape, PickLayout(rng, false))};
}

std::string CheckOnce(const KernelCase& c, const std::string& kernel, const Operation& operation,
                      const AnyAttrs& attrs) {
  Arrays in;
  for (const HostArray& input : operation.inputs) { in.push_back(&input); }
  HostArray want = operation.blank;
  const Maybe<void> reference = Call((c.name + ".cpu.reference").c_str(), in, {&want}, &attrs);
  if (!reference.ok()) { return reference.error()->message(); }
  for (const Config& config : AllConfigs()) {
    const ScopedIsa isa(config.isa);
    HostArray got = operation.blank;
    const Maybe<void> ran = Call(kernel.c_str(), in, {&got}, &attrs, config.threads);
    if (!ran.ok()) { return ran.error()->message(); }
    std::string difference = Difference(got, want, ToleranceOf(got.dtype()));
    if (difference.empty() && !got.GuardsIntact()) { difference = "wrote beside its elements"; }
    if (!difference.empty()) { return std::string(IsaName(config.isa)) + ": " + difference; }
  }
  return "";
}

// "" when all trials agree, over all dtypes that the kernel accepts.
std::string CheckMany(const KernelCase& c, const std::string& kernel, int trials) {
  Rng rng(20261130);
  int accepted = 0;
  for (int d = 0; d < kNumDataTypes; ++d) {
    const auto dtype = static_cast<DataType>(d);
    const AnyAttrs attrs = MakeAttrs(c, dtype);
    if (FindMathLoop(c.op, LoopDtype(c.op, dtype)) == nullptr) { continue; }
    ++accepted;
    for (int i = 0; i < trials; ++i) {
      const Operation operation = MakeOperation(c, dtype, &rng);
      const std::string difference = CheckOnce(c, kernel, operation, attrs);
      if (!difference.empty()) {
        return kernel + " " + DataTypeName(dtype) + ", trial " + std::to_string(i) + ": " +
               difference;
      }
    }
  }
  return accepted == 0 ? kernel + " accepts no dtype" : "";
}

TEST(MathKernels, AgreeWithTheirReferences) {
  for (const KernelCase& c : kCases) {
    // Their poles lie so dense that a rounded argument is another function's.
    const bool poles =
        c.op == MathOp::kDigamma || c.op == MathOp::kPolygamma || c.op == MathOp::kLgamma;
    if (poles) { continue; }
    EXPECT_EQ(CheckMany(c, c.name + ".cpu.vector", 12), "");
  }
}

// Positive control: another op's kernel is not taken for it.
TEST(MathKernels, AWrongKernelIsNoticed) {
  const KernelCase sine = {"sin", MathOp::kSin, Form::kTensors};
  EXPECT_NE(CheckMany(sine, "cos.cpu.vector", 12), "");
}

TEST(MathKernels, DivisionByZeroIsAnError) {
  HostArray x(DataType::kInt32, {3});
  HostArray y(DataType::kInt32, {3});
  for (int i = 0; i < 3; ++i) {
    x.Set(i, 7);
    y.Set(i, i);
  }
  HostArray out(DataType::kInt32, {3});
  for (const char* name : {"fmod", "remainder", "floor_divide", "trunc_divide"}) {
    const std::string kernel = std::string(name) + ".cpu.vector";
    const Maybe<void> ran = Call(kernel.c_str(), {&x, &y}, {&out}, nullptr);
    ASSERT_FALSE(ran.ok());
    EXPECT_NE(ran.error()->message().find("other than 0"), std::string::npos);
  }
}

TEST(MathKernels, InPlace) {
  Rng rng(1);
  for (const char* name : {"exp", "tanh", "sin"}) {
    for (DataType dtype : {DataType::kFloat, DataType::kFloat16}) {
      HostArray x(dtype, {5000});
      x.Fill(&rng, true);
      HostArray want(dtype, {5000});
      const std::string kernel = std::string(name) + ".cpu.vector";
      CHECK_JUST(Call(kernel.c_str(), {&x}, {&want}, nullptr));
      CHECK_JUST(Call(kernel.c_str(), {&x}, {&x}, nullptr, 2));
      EXPECT_EQ(Difference(x, want, 0.0), "");
    }
  }
}

}  // namespace
}  // namespace testing
}  // namespace cpu
}  // namespace oneflow
