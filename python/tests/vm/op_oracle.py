"""The run that others are compared with: inline, each step's results compared with numpy's, some
gradients with finite differences, and bad arguments with the error that their row names."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from tests.ops.checker import (
    TOLERANCE,
    check_gradient,
    differentiable,
    expected,
    function_of,
    wide_array,
)
from tests.ops.operands import Operand
from tests.ops.samples import Sample, is_list
from tests.vm.op_machine import Call, Machine
from tests.vm.op_program import OpProgram, Step, Use, rows, shaped
from tests.vm.runner import Mismatch

import oneflow as flow
from tools.gen.table import Row

_TAME = 4.0  # numpy is asked where no operand is larger than this
_GRADIENTS = 5  # each so manieth step that can be is differentiated numerically


class Oracle(Machine):
    """Also keeps whether the latest in-place step failed, for the generator."""

    def __init__(self) -> None:
        super().__init__("inline")
        self.compared = 0  # with numpy
        self.differentiated = 0
        self.index = 0
        self.failed = False  # the latest step
        self.thrown: dict[str, tuple[tuple[int, ...], Any]] = {}  # shape and dtype of the failed

    def step(self, index: int, step: Step) -> None:
        self.index = index
        if step.kind == "throw" and (operand := self.env[step.ins[0]]) is not None:
            self.thrown[step.outs[0]] = tuple(operand.shape), operand.dtype
        super().step(index, step)
        if step.kind == "bad":
            want = rows()[step.row].bad_inputs[step.index]["error"]
            got = self.seen[index, "bad"]
            if want not in got.split():
                self._fail(step, f"ended in {got}, not in {want}")

    def perform(self, call: Call, step: Step) -> list[Any] | None:
        sample = as_seen(call, step) if call.alive else None
        written = self._written(call, step)
        results = super().perform(call, step)
        self.failed = results is None
        if sample is None or results is None:
            return results
        if written:
            self._compare_base(step, *written, results[0])
        if call.row.numpy and not call.row.inplace_only and tame(call.row, sample):
            self._compare(call, step, sample, results)
            if step.kind == "call":
                self._differentiate(call, step, sample)
        return results

    def _written(self, call: Call, step: Step) -> tuple[Use, Any] | None:
        """What an update in place gets to write a part of, as it is before."""
        target = call.row.signature.params[0].name if call.row.signature.params else ""
        use = next((u for u in step.uses if u.operand == target), None)
        if step.kind != "inplace" or use is None or not call.alive:
            return None
        return use, np.array(wide_array(self.env[use.variable]))

    def _compare_base(self, step: Step, use: Use, base: Any, result: Any) -> None:
        """The update is in the memory of the variable, and nothing else of it has changed."""
        value = wide_array(result)
        shaped(base, use.view, value.shape)[...] = value
        if not np.array_equal(wide_array(self.env[use.variable]), base, equal_nan=True):
            self._fail(step, f"{use.variable} is not what was written")

    def _compare(self, call: Call, step: Step, sample: Sample, results: list[Any]) -> None:
        largest = max((float(np.abs(a).max()) for a in floats(sample) if a.size), default=1.0)
        longest = max((v.base.size for v in sample.operands.values()), default=1)
        slack = max(1.0, longest / 1000.0) * (1.0 + largest * largest)
        for got, want in zip(results, expected(call.row, sample)):
            if not isinstance(got, flow.Tensor):
                continue
            have = wide_array(got)
            kind = "bfloat16" if got.dtype == flow.bfloat16 else have.dtype.name
            rtol, atol = TOLERANCE.get(kind, (0.0, 0.0))
            if have.shape != want.shape or have.dtype.kind != want.dtype.kind:
                self._fail(step, f"gave {have.dtype} {have.shape}, not {want.dtype} {want.shape}")
            if not np.allclose(have, want, rtol * slack, atol * slack, equal_nan=True):
                self._fail(step, f"gave\n{have}\nnot\n{want}\nof {sample.arguments}")
            self.compared += 1

    def _differentiate(self, call: Call, step: Step, sample: Sample) -> None:
        row = call.row
        small = step.dtype == "float64" and not sample.large and sample.finite
        if not small or self.index % _GRADIENTS or not differentiable(row, sample):
            return
        if not smooth(sample):
            return
        state = flow.get_rng_state()
        self.differentiated += 1
        try:
            check_gradient(row, sample, function_of(row))
        except AssertionError as why:
            self._fail(step, str(why))
        finally:
            flow.set_rng_state(state)  # dropout without a chance draws numbers all the same

    def _fail(self, step: Step, what: str) -> None:
        raise Mismatch(f"line {self.index + 1}, {step.source()}\n{what}")


def as_seen(call: Call, step: Step) -> Sample:
    """The sample with the numbers that its operands have now."""
    uses = {use.operand for use in step.uses}
    made = {
        name: Operand.of(np.array(wide_array(tensor)), step.dtype) if name in uses else operand
        for (name, operand), tensor in zip(call.sample.operands.items(), call.tensors.values())
    }
    out: dict[str, Any] = {n: made.get(n, given) for n, given in call.sample.arguments.items()}
    for name, given in call.sample.arguments.items():
        if is_list(given):
            out[name] = [made[f"{name}[{i}]"] for i in range(len(given))]
    return dataclasses.replace(call.sample, arguments=out)


def floats(sample: Sample) -> list[Any]:
    """Its operands of floats."""
    return [v.base for v in sample.operands.values() if v.base.dtype.kind == "f"]


def tame(row: Row, sample: Sample) -> bool:
    """Whether float32 and float64 must agree: nothing but what the row is meant for, nothing huge,
    no two equal numbers of which an op might choose either."""
    low, high = row.sample_range or (-_TAME, _TAME)
    return all(
        bool(((low <= a) & (a <= high)).all()) and np.unique(a).size == a.size
        for a in floats(sample)
    )


def smooth(sample: Sample) -> bool:
    """Whether no function has a corner there: none is at a half or a whole, no two are equal."""
    numbers = np.concatenate([a.ravel() for a in floats(sample)])
    halves = numbers * 2
    return np.unique(numbers).size == numbers.size and bool(
        (np.abs(halves - np.rint(halves)) > 1e-4).all()
    )


def oracle(program: OpProgram) -> dict[tuple[int, str], Any]:
    """What the program must give in each mode."""
    return Oracle().run(program)
