"""Random programs of the op table's ops: eager, a graph without passes, and one with them."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import pytest
from tests.graph.graphs import PASSES, FunctionGraph, assert_close, assert_equal
from tests.ops.samples import table
from tests.support import must_fail

import oneflow as flow
from oneflow import nn, optim
from tools.gen.table import Row

SEED = int(os.environ.get("ONEFLOW_GRAPH_SEED", "0"))
PROGRAMS = int(os.environ.get("ONEFLOW_GRAPH_PROGRAMS", "60"))
Op = Callable[..., Any]


def fits(row: Row, operands: int) -> bool:
    """Whether a row takes so many tensors, needs nothing else, and gives one."""
    required = [p for p in row.signature.params if p.required]
    return (
        bool(row.numpy)
        and "function" in row.places
        and not row.syncs
        and not row.random
        and not row.inplace_only
        and row.signature.outputs == 1
        and row.strategy in ("elementwise", "broadcast", "reduce")
        and len(required) == operands
        and all(p.type == "Tensor" for p in required)
        and len(row.signature.tensors) == operands
        and not row.name.startswith("throw_error")
    )


UNARY = [row for row in table() if fits(row, 1)]
BINARY = [row for row in table() if fits(row, 2)]
VIEWS: list[Op] = [
    lambda x: x.reshape(-1),
    lambda x: x.flatten(),
    lambda x: x.unsqueeze(0),
    lambda x: x.transpose(0, -1) if x.ndim > 1 else x,
    lambda x: x[..., ::2] if x.ndim and x.shape[-1] > 1 else x,
    lambda x: x[0] if x.ndim and x.shape[0] else x,
    lambda x: x.expand(2, *x.shape),
]
IN_PLACE: list[Op] = [
    lambda x: x.add_(1),
    lambda x: x.mul_(0.5),
    lambda x: x.clamp_(-1, 1),
    lambda x: x.zero_() if x.numel() % 2 else x,
]


class Program:
    """A list of steps, each of which makes a tensor of earlier ones."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.steps = [self._step(3 + i) for i in range(self.rng.randint(5, 25))]
        self.text = f"program {seed}"

    def _step(self, known: int) -> tuple[str, Any, list[int]]:
        kind = self.rng.choice(["unary", "unary", "binary", "binary", "view", "write", "matmul"])
        at = [self.rng.randrange(known) for _ in range(2)]
        if kind == "unary":
            return kind, getattr(flow._C, self.rng.choice(UNARY).python_name), at[:1]
        if kind == "binary":
            return kind, getattr(flow._C, self.rng.choice(BINARY).python_name), at
        if kind == "view":
            return kind, self.rng.choice(VIEWS), at[:1]
        if kind == "write":
            return kind, self.rng.choice(IN_PLACE), at[:1]
        return kind, lambda a, b: a @ b, at

    def __call__(self, *inputs: Any) -> Any:
        made = [x * 1 for x in inputs]
        for _, op, at in self.steps:
            operands = [made[i] for i in at]
            try:
                result = op(*operands)
            except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError):
                result = operands[0]  # as eager refuses it, so does a graph
            made.append(result if result.numel() < 5000 else operands[0])
        return made[len(inputs) :]


@pytest.mark.parametrize("seed", range(SEED, SEED + PROGRAMS))
def test_program(seed: int) -> None:
    program = Program(seed)
    flow.manual_seed(seed)
    inputs = [flow.randn(3, 4), flow.randn(3, 4), flow.rand(4) + 0.5]
    with flow.no_grad():
        want = program(*inputs)
        plain, full = FunctionGraph(program, passes=False), FunctionGraph(program)
        for _ in range(2):
            assert_equal(plain(*inputs), want, program.text)
            assert_equal(full(*inputs), want, program.text)


class Mixed(nn.Module):
    """Parameters that a random program uses."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        self.program = program
        self.a, self.b = nn.Parameter(flow.rand(3, 4) + 0.5), nn.Parameter(flow.rand(4) + 0.5)

    def forward(self, x: Any) -> Any:
        made = [t for t in self.program(x, self.a, self.b) if t.is_floating_point()]
        return sum((flow.tanh(t).mean() for t in made), flow.zeros(()))


def copied(x: Any) -> Any:
    return x * 1


@pytest.mark.parametrize("seed", range(SEED, SEED + PROGRAMS // 3))
def test_training_a_program(seed: int) -> None:
    program = Program(seed)
    # Writes would meet leaves, which eager refuses.
    program.steps = [
        ("unary", copied, at[:1]) if kind == "write" else (kind, op, at)
        for kind, op, at in program.steps
    ]
    flow.manual_seed(seed)
    own, other = Mixed(program), Mixed(program)
    other.load_state_dict(own.state_dict())
    one, two = (optim.SGD(m.parameters(), lr=0.01, momentum=0.9) for m in (own, other))

    class Train(nn.Graph):
        """A step."""

        def __init__(self) -> None:
            super().__init__()
            self.module = other
            self.add_optimizer(two)
            self.config.disable_passes(*PASSES)

        def build(self, x: Any) -> Any:
            loss = self.module(x)
            if loss.requires_grad:
                loss.backward()
            return loss

    graph = Train()
    for _ in range(3):
        x = flow.randn(3, 4)
        loss = own(x)
        one.zero_grad(set_to_none=True)
        if loss.requires_grad:
            loss.backward()
        one.step()
        assert_equal(graph(x), loss.detach(), program.text)
        assert_equal(list(other.parameters()), list(own.parameters()), program.text)


def test_there_are_ops_to_choose_from() -> None:
    assert len(UNARY) > 60 and len(BINARY) > 20


def test_control() -> None:
    graph = FunctionGraph(lambda x: flow.exp(x), passes=False)
    must_fail(lambda: assert_equal(graph(flow.ones(3)), flow.exp(flow.ones(3) * (1 + 1e-6))))
    must_fail(assert_close, flow.ones(1), flow.zeros(1))
