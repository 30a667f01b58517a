"""Runs programs over the op table in one of the runtime's modes, and compares what they give."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from tests.ops.checker import function_of, run, wide_array
from tests.ops.operands import makers
from tests.ops.samples import Sample, value
from tests.vm.op_program import OpProgram, Step, listing, rows, samples_of, shaped, to_text
from tests.vm.runner import Mismatch, canonical, settle

import oneflow as flow
from tools.gen.table import Row

MODES = ("inline", "queued", "random", "auto")
FAILED = "failed"  # in the place of what was never computed
_EVERY = 9  # after so many steps one result is read at once, the others at the end

Seen = dict[tuple[int, str], Any]


@dataclasses.dataclass
class Call:
    """A step, ready to be called."""

    row: Row
    sample: Sample
    tensors: dict[str, Any]  # operands by name; None: never computed

    @property
    def alive(self) -> bool:
        """Whether all operands exist."""
        return all(t is not None for t in self.tensors.values())


class Machine:
    """The state after some steps, in one mode.

    Where an op raises at its own step (it ran inline), its results are None, and so are those of
    the steps that use them: where ops are queued, a reader hears of the same failure.
    """

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.env: dict[str, Any] = {}
        self.leaves: list[Any] = []  # that want a gradient
        self.seen: Seen = {}
        self._gradients: list[tuple[int, str, Any]] = []
        self._makers: dict[str, int] = {}

    def run(self, program: OpProgram) -> Seen:
        """Does all steps; what was seen of them."""
        flow._oneflow_internal.set_vm_mode(self.mode)
        flow.manual_seed(1)
        try:
            for index, step in enumerate(program):
                self.step(index, step)
            return self.finish()
        finally:
            settle()

    def step(self, index: int, step: Step) -> None:
        """Does one."""
        if step.kind == "backward":
            self._backward(index, step)
        elif step.kind == "bad":
            self.seen[index, "bad"] = self._bad(step)
        elif step.kind == "throw":
            operand = self.env[step.ins[0]]
            alive = operand is not None
            self.keep(index, step, attempt(lambda: flow._C.throw_error(operand, 0), alive))
        else:
            call = self.prepared(step)
            self.keep(index, step, self.perform(call, step))

    def prepared(self, step: Step) -> Call:
        """Makes the operands."""
        sample = samples_of(step.row, step.dtype)[step.index]
        uses = {use.operand: use for use in step.uses}
        tensors: dict[str, Any] = {}
        for name, operand in sample.operands.items():
            if name in uses:
                use, given = uses[name], self.env[uses[name].variable]
                made = attempt(lambda: shaped(given, use.view, operand.shape), given is not None)  # noqa: B023
                tensors[name] = made and made[0]
                continue
            wanted = step.tracked and operand.base.dtype.kind == "f"
            leaf = operand.leaf(requires_grad=wanted)
            self.leaves.extend([leaf] if wanted else [])
            tensors[name] = operand.tensor(leaf)
        return Call(rows()[step.row], sample, tensors)

    def perform(self, call: Call, step: Step) -> list[Any] | None:
        """Calls the op; its results."""
        function = function_of(call.row, inplace=step.kind == "inplace")
        return attempt(lambda: run(call.row, call.sample, function, call.tensors), call.alive)

    def keep(self, index: int, step: Step, results: list[Any] | None) -> None:
        """Binds the results to their names."""
        for i, name in enumerate(step.outs):
            there = results is not None and i < len(results)
            self.env[name] = results[i] if results is not None and there else None
            self._makers[name] = index
        if index % _EVERY == 0 and step.outs:
            self.seen[index, "at once " + step.outs[0]] = bits(self.env[step.outs[0]])

    def _bad(self, step: Step) -> str:
        row = rows()[step.row]
        given = row.bad_inputs[step.index]["args"]
        env = makers(step.dtype, 0)
        sample = Sample("bad", {n: value(row, n, v, step.dtype, env) for n, v in given.items()})
        function = function_of(row, inplace=row.inplace_only)
        try:
            for result in run(row, sample, function):
                bits(result, fails=True)
        except Exception as error:
            return " ".join(kind.__name__ for kind in type(error).__mro__)
        return "no error"

    def _backward(self, index: int, step: Step) -> None:
        root = self.env[step.ins[0]]

        def gradients() -> Any:
            weights = flow.ones_like(root)
            return flow.autograd.grad(
                [root], self.leaves, [weights], retain_graph=True, allow_unused=True
            )

        made = attempt(gradients, root is not None and len(self.leaves) > 0)
        for i in range(len(self.leaves)):
            self._gradients.append((index, f"gradient {i}", made and made[i]))

    def finish(self) -> Seen:
        """Reads everything."""
        for name, tensor in self.env.items():
            self.seen[self._makers[name], name] = bits(tensor)
        for index, what, tensor in self._gradients:
            self.seen[index, what] = bits(tensor)
        return self.seen


def attempt(call: Callable[[], Any], alive: bool) -> list[Any] | None:
    """The results of a call as a list, or None where it fails."""
    if not alive:
        return None
    try:
        result = call()
    except (RuntimeError, IndexError, ValueError):
        return None
    return list(result) if isinstance(result, (tuple, list)) else [result]


def bits(result: Any, fails: bool = False) -> Any:
    """What a result holds, to compare; FAILED if it was never computed."""
    if not isinstance(result, flow.Tensor):
        return FAILED if result is None else repr(result)
    try:
        array = wide_array(result)
    except (RuntimeError, IndexError, ValueError):
        if fails:
            raise
        return FAILED
    return str(result.dtype), array.shape, canonical(array)


def compare(program: OpProgram, first: Seen, other: Seen, which: str) -> None:
    """What both runs saw is equal."""
    for where in sorted(first):
        if first[where] != other.get(where):
            index, what = where
            one, two = (s.get(where) for s in (first, other))
            raise Mismatch(
                f"line {index + 1}, {program[index].source()}: {what}: {which} differ:\n"
                f"{shown(one)}\n{shown(two)}"
            )


def shown(seen: Any) -> str:
    """Enough of what was seen to tell it from another."""
    text = seen if isinstance(seen, str) else f"{seen[:2]} {seen[2][:64].hex()}" if seen else "-"
    return str(text)


def check(program: OpProgram, first: Seen, modes: tuple[str, ...]) -> None:
    """Raises Mismatch where a mode differs from what was seen first."""
    for mode in modes:
        compare(program, first, Machine(mode).run(program), f"inline and {mode}")


def describe(program: OpProgram, why: BaseException) -> str:
    """What a failing test prints: the difference, the program to read, and to run again."""
    repeat = f"to repeat: save this, ONEFLOW_TEST_PROGRAM=<file>\n{to_text(program)}"
    return f"{why}\n\n{listing(program)}\n\n{repeat}"
