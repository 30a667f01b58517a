// The kernels of the ops of ops.h: <op>.cpu.vector; with a number as an operand
// scalar_<op>.cpu.vector (the number last) and scalar_r<op>.cpu.vector (the number first).
#include <csignal>
#include <limits>

#include "oneflow/common/planted_fault.h"
#include "oneflow/kernels/attrs.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/math/operands.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

bool Divides(MathOp op) { return op >= MathOp::kFmod && op <= MathOp::kTruncDivide; }

// Data decides, so before anything is written.
Maybe<void> CheckDivisor(const char* op, const ArrayView& divisor) {
  if (IsFloating(divisor.dtype) || !HasZero(divisor)) { return Ok(); }
  DieIfPlanted(Fault::kDivisionByZeroTraps, SIGFPE);
  return RuntimeError("[{}] expects divisors other than 0, got 0 among integers of dtype {}", op,
                      DataTypeName(divisor.dtype));
}

Maybe<void> Run(MathOp op, Form form, const KernelCall& call) {
  Operands o;
  Gather(call, form, &o);
  if (Divides(op)) { JUST(CheckDivisor(MathName(op), o.views[1])); }
  const bool moves = op == MathOp::kWhere;
  const DataType dtype = LoopDtype(op, o.views[moves ? 2 : 0].dtype);
  const MathLoop streaming = call.outputs[0].dtype == dtype ? FindStreamLoop(op, dtype) : nullptr;
  RunMath(FindMathLoop(op, dtype), moves, call.outputs[0], o.views, o.count, o.attrs, call.threads,
          streaming);
  return Ok();
}

// Floating-point bounds are numbers of the loop, which reads one operand then instead of three.
Maybe<void> RunClamp(const KernelCall& call) {
  const DataType dtype = LoopDtype(MathOp::kClamp, call.inputs[0].dtype);
  if (!IsFloating(dtype)) { return Run(MathOp::kClamp, Form::kBounds, call); }
  const auto& bounds = call.GetAttrs<ClampAttrs>();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  MathAttrs attrs;
  attrs.a = bounds.has_low ? bounds.low.To<double>() : -kInfinity;
  attrs.b = bounds.has_high ? bounds.high.To<double>() : kInfinity;
  RunMath(FindMathLoop(MathOp::kHardtanh, dtype), false, call.outputs[0], call.inputs, 1, attrs,
          call.threads, FindStreamLoop(MathOp::kHardtanh, call.outputs[0].dtype));
  return Ok();
}

double CostOf(MathOp op, const KernelCall& call) {
  const DataType dtype = call.inputs[0].dtype;
  const double factor = dtype == DataType::kDouble ? 2.5 : 1.0;
  const double convert = SizeOf(dtype) == 2 && op != MathOp::kWhere ? 0.3 : 0.0;
  return ElementwiseCostNs(call) +
         (MathCost(op) * factor + convert) * static_cast<double>(call.outputs[0].Count());
}

// A kernel function has no state: the op and the form are part of its type.
template <MathOp op, Form form>
struct MathKernel {
  static Maybe<void> RunIt(const KernelCall& call) {
    return form == Form::kBounds ? RunClamp(call) : Run(op, form, call);
  }
  static const char* Accept(const KernelCall& call) { return AcceptMath(op, form, call); }
  static double Cost(const KernelCall& call) { return CostOf(op, call); }
  static Kernel Named(const char* name) { return Kernel{name, &RunIt, &Accept, &Cost}; }
};

// Powers that are cheaper than a logarithm.
MathOp CheaperPower(double exponent) {
  if (exponent == 2.0) { return MathOp::kSquare; }
  if (exponent == 0.5) { return MathOp::kSqrt; }
  if (exponent == -0.5) { return MathOp::kRsqrt; }
  if (exponent == -1.0) { return MathOp::kReciprocal; }
  return MathOp::kPow;
}

Maybe<void> RunScalarPow(const KernelCall& call) {
  const MathOp op = CheaperPower(call.GetAttrs<ScalarAttrs>().value.To<double>());
  const MathLoop loop = FindMathLoop(op, LoopDtype(op, call.inputs[0].dtype));
  if (op == MathOp::kPow || loop == nullptr) { return Run(MathOp::kPow, Form::kNumberLast, call); }
  const DataType dtype = call.outputs[0].dtype;
  RunMath(loop, false, call.outputs[0], call.inputs, 1, MathAttrs(), call.threads,
          FindStreamLoop(op, dtype));
  return Ok();
}

const char* AcceptScalarPow(const KernelCall& call) {
  return AcceptMath(MathOp::kPow, Form::kNumberLast, call);
}

double CostOfScalarPow(const KernelCall& call) {
  return CostOf(CheaperPower(call.GetAttrs<ScalarAttrs>().value.To<double>()), call);
}

// add and sub of halves: x +- alpha y.
template <int sign>
Maybe<void> RunScaledSum(const KernelCall& call) {
  MathAttrs attrs;
  attrs.a = sign * call.GetAttrs<AddAttrs>().alpha.To<double>();
  RunMath(FindMathLoop(MathOp::kAdd, DataType::kFloat), false, call.outputs[0], call.inputs, 2,
          attrs, call.threads);
  return Ok();
}

Maybe<void> RunScalarAdd(const KernelCall& call) {
  Operands o;
  Gather(call, Form::kNumberLast, &o);
  o.attrs.a = 1.0;
  RunMath(FindMathLoop(MathOp::kAdd, DataType::kFloat), false, call.outputs[0], o.views, o.count,
          o.attrs, call.threads);
  return Ok();
}

// Other dtypes have kernels of their own (../arithmetic.cc).
template <MathOp op, Form form>
const char* AcceptHalf(const KernelCall& call) {
  if (SizeOf(call.inputs[0].dtype) != 2 || !IsFloating(call.inputs[0].dtype)) {
    return "not of half precision";
  }
  return AcceptMath(op, form, call);
}

#define ONEFLOW_MATH_KERNEL(name, id, form) \
  ONEFLOW_REGISTER_KERNEL(name,             \
                          (MathKernel<MathOp::k##id, Form::form>::Named(#name ".cpu.vector")));
#define ONEFLOW_TENSORS(id, name, cost) ONEFLOW_MATH_KERNEL(name, id, kTensors)
#define ONEFLOW_NUMBERS(id, name, cost) ONEFLOW_MATH_KERNEL(name, id, kNumbers)
ONEFLOW_FUNCTIONS(ONEFLOW_TENSORS)
ONEFLOW_ACTIVATIONS(ONEFLOW_TENSORS)
ONEFLOW_NUMBERED_ACTIVATIONS(ONEFLOW_NUMBERS)
ONEFLOW_ARITHMETIC_KERNELS(ONEFLOW_MATH_KERNEL)
ONEFLOW_REGISTER_KERNEL(scalar_pow, {"scalar_pow.cpu.vector", &RunScalarPow, &AcceptScalarPow,
                                     &CostOfScalarPow});

#define ONEFLOW_HALF(kernel, id, form, run)                                                  \
  ONEFLOW_REGISTER_KERNEL(kernel##_half,                                                     \
                          {#kernel ".cpu.half", run, &AcceptHalf<MathOp::k##id, Form::form>, \
                           &MathKernel<MathOp::k##id, Form::form>::Cost})
#define ONEFLOW_HALF_PLAIN(id, name) \
  ONEFLOW_HALF(name, id, kTensors, (&MathKernel<MathOp::k##id, Form::kTensors>::RunIt))
ONEFLOW_HALF_PLAIN(Div, div);
ONEFLOW_HALF_PLAIN(Eq, eq);
ONEFLOW_HALF_PLAIN(Mul, mul);
ONEFLOW_HALF_PLAIN(Relu, relu);
ONEFLOW_HALF_PLAIN(ReluBackward, relu_backward);
ONEFLOW_HALF(add, Add, kTensors, &RunScaledSum<1>);
ONEFLOW_HALF(sub, Add, kTensors, &RunScaledSum<-1>);
ONEFLOW_HALF(scalar_add, Add, kNumberLast, &RunScalarAdd);
ONEFLOW_HALF(scalar_mul, Mul, kNumberLast, (&MathKernel<MathOp::kMul, Form::kNumberLast>::RunIt));

}  // namespace

}  // namespace cpu
}  // namespace oneflow
