"""Makes programs over the op table at random, with the oracle beside, so that steps fit."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

from tests.vm.op_machine import Seen, settle
from tests.vm.op_oracle import Oracle
from tests.vm.op_program import OpProgram, Step, Use, dtypes, replaceable, rows, samples_of, writes

import oneflow as flow

_MOST = 40  # results that later steps may take
_SMALL = 5_000  # elements
_KINDS = {"call": 70, "inplace": 14, "bad": 6, "backward": 5, "throw": 3}


class OpGenerator:
    """Programs of a seed. Each takes its rows from the same pack of all, so that none is left out.

    `only` names the rows to draw from, where it is not all.
    """

    def __init__(self, seed: int, only: tuple[str, ...] = ()) -> None:
        self.random = random.Random(seed)
        self._rows = [row for name, row in rows().items() if name in only or not only]
        self._pack: list[str] = []

    def generate(self, length: int) -> tuple[OpProgram, Seen]:
        """A program, and what the oracle saw of it."""
        self.program: OpProgram = []
        self.oracle = Oracle()
        self.spoilt = False  # an update in place failed: whether it is in the history depends
        flow._oneflow_internal.set_vm_mode("inline")
        flow.manual_seed(1)
        try:
            while len(self.program) < length:
                kind = self.random.choices(list(_KINDS), list(_KINDS.values()))[0]
                getattr(self, "_" + kind)()
            return self.program, self.oracle.finish()
        finally:
            settle()

    # --- kinds of steps ---

    def _call(self) -> None:
        row = rows()[self._draw()]
        kinds = dtypes(row)
        dtype = self.random.choice(kinds)
        index = self._sample(samples_of(row.name, dtype))
        if row.inplace_only:
            self._add(Step("inplace", row.name, dtype, index, outs=self._names(1)))
            return
        target = row.signature.params[0].name if writes(row) else ""
        # A random op that is not called draws no numbers; of several results some may not depend
        # on what failed; zeros_like and its kin read no numbers.
        lists = any(p.type == "Tensor[]" for p in row.signature.params)
        reads = re.search("(like|_as)$", row.python_name) is None
        poison = bool(row.numpy) and row.signature.outputs == 1 and not lists and reads
        uses = self._uses(row.name, dtype, index, poison, target)
        tracked = self.random.random() < 0.5 and not target
        names = self._names(max(2, row.signature.outputs))  # a list has more
        self._add(Step("call", row.name, dtype, index, uses, names, tracked))
        self.spoilt = self.spoilt or (bool(target) and self.oracle.failed)

    def _inplace(self) -> None:
        with_form = [row for row in self._rows if row.inplace_name and row.numpy]
        if not with_form:
            return
        row = self.random.choice(with_form)
        dtype = self.random.choice(dtypes(row))
        samples = samples_of(row.name, dtype)
        index = self._sample(samples)
        uses = self._uses(row.name, dtype, index, poison=False, target=row.signature.params[0].name)
        if uses and not row.inplace_only:
            self._add(Step("inplace", row.name, dtype, index, uses))
            self.spoilt = self.spoilt or self.oracle.failed

    def _bad(self) -> None:
        row = self.random.choice([row for row in self._rows if row.bad_inputs])
        index = self.random.randrange(len(row.bad_inputs))
        self._add(Step("bad", row.name, "float32", index))

    def _backward(self) -> None:
        roots = [
            name
            for name, t in self.oracle.env.items()
            if isinstance(t, flow.Tensor) and t.requires_grad and t.is_floating_point()
        ]
        if roots and not self.spoilt:
            self._add(Step("backward", uses=(Use("root", self.random.choice(roots)),)))

    def _throw(self) -> None:
        name = self._variable(lambda t: True)
        if name:
            self._add(Step("throw", uses=(Use("input", name),), outs=self._names(1)))

    # --- choices ---

    def _draw(self) -> str:
        if not self._pack:
            self._pack = [row.name for row in self._rows]
            self.random.shuffle(self._pack)
        return self._pack.pop()

    def _sample(self, samples: list[Any]) -> int:
        small = [i for i, s in enumerate(samples) if not self._is_big(s)]
        if small and self.random.random() < 0.95:
            return self.random.choice(small)
        return self.random.randrange(len(samples))

    def _is_big(self, sample: Any) -> bool:
        return any(v.base.size > _SMALL for v in sample.operands.values())

    def _names(self, count: int) -> tuple[str, ...]:
        return tuple(f"v{len(self.program)}_{i}" for i in range(count))

    def _variable(self, fits: Callable[[Any], bool]) -> str | None:
        latest = list(self.oracle.env.items())[-_MOST:]
        found = [name for name, t in latest if isinstance(t, flow.Tensor) and fits(t)]
        return self.random.choice(found) if found else None

    def _never_computed(self, shape: tuple[int, ...], dtype: Any) -> str | None:
        known = self.oracle.thrown
        found = [name for name, (s, d) in known.items() if (s, d) == (shape, dtype)]
        return self.random.choice(found) if found else None

    def _uses(
        self, name: str, dtype: str, index: int, poison: bool, target: str = ""
    ) -> tuple[Use, ...]:
        """Variables for the operands that may be others; for `target` one that can be written."""
        sample = samples_of(name, dtype)[index]
        wanted = getattr(flow, dtype)
        uses = []
        for operand in replaceable(rows()[name], sample):
            shape = sample.operands[operand].shape
            failed = self._never_computed(shape, wanted) if poison else None
            if failed and self.random.random() < 0.2:
                uses.append(Use(operand, failed))
                continue
            if operand != target and self.random.random() < 0.3:
                continue

            def fits(tensor: Any) -> bool:
                view = view_for(tensor, shape, writable=operand == target)  # noqa: B023
                return tensor.dtype == wanted and view is not None

            chosen = self._variable(fits)
            if chosen:
                view = view_for(self.oracle.env[chosen], shape, writable=operand == target)
                assert view is not None
                uses.append(Use(operand, chosen, view))
        return tuple(uses)

    def _add(self, step: Step) -> None:
        self.program.append(step)
        self.oracle.step(len(self.program) - 1, step)


def view_for(tensor: Any, shape: tuple[int, ...], writable: bool) -> str | None:
    """How the tensor can stand for an operand of that shape, if it can."""
    have = tuple(tensor.shape)
    if writable and any(n > 1 and s == 0 for n, s in zip(have, tensor.stride())):
        return None  # elements share memory
    if have == shape:
        return "as it is"
    if len(have) == 2 and have[::-1] == shape:
        return "T"
    if shape and len(have) == len(shape) and all(h >= w for h, w in zip(have, shape)):
        return "part"
    if tensor.numel() == _count(shape) and tensor.is_contiguous() and shape and have:
        return "reshaped"
    grows = len(have) <= len(shape) and all(
        h in (1, w) for h, w in zip(have[::-1], shape[::-1], strict=False)
    )
    return "expanded" if grows and not writable and _count(shape) < _SMALL else None


def _count(shape: tuple[int, ...]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count
