"""Training steps as graphs, against our eager ones and PyTorch's; what a graph costs by itself.

`tools/bazel run //bench:graph`
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sklearn.datasets import load_digits

from bench import digits_reference as reference
from bench import variants
from bench.graph_task import Task, make_convolutions
from bench.harness import runner
from bench.harness.plan import INFO, Plan, Program, Row, Versus

AGAINST_PYTORCH = 2.0
AGAINST_EAGER = 1.2
ONE_OP_AT_MOST = 5e-6
COMPILING_AT_MOST = 5.0

STEPS = [
    Row("perceptron", "a training step of a perceptron 64-128-128-10, SGD"),
    Row("convolutions", "a training step of the digits example's network, AdamW"),
]
OWN = [
    Row("one_op", "a graph of one op on one element", at_most=ONE_OP_AT_MOST),
    Row(
        "compile_resnet50",
        "tracing and compiling ResNet-50's step, batch 2, SGD",
        at_most=COMPILING_AT_MOST,
    ),
]


def make_plan(path: Path, args: argparse.Namespace) -> Plan:
    """The plan; writes the task that the measured processes read to a file."""
    data = load_digits()
    perceptron = reference.make_task(data.data, data.target)
    Task(perceptron, make_convolutions()).save(path)
    expected = {"perceptron": {"losses": reference.reference_losses(perceptron)}}
    plan = variants.make_plan("graph", "graph_main.py", [str(path)], STEPS, expected, args)
    (steps,) = plan.programs
    own = replace(
        steps,
        name="own",
        commands={v: _own(command) for v, command in steps.commands.items() if v != "pytorch"},
        rows=OWN,
        expected={},
    )
    versus = [v for v in plan.versus if v.reference != "pytorch"]
    versus += [
        Versus("head", "eager", INFO, AGAINST_EAGER),
        Versus("head", "pytorch", INFO, AGAINST_PYTORCH),
    ]
    labels = {"head": "a graph", "eager": "the same OneFlow, eager", **plan.labels}
    return replace(plan, programs=[_with_modes(steps), own], versus=versus, labels=labels)


def _own(command: Sequence[str] | None) -> list[str] | None:
    """The program that measures graphs by themselves, started like the other one."""
    if command is None:
        return None
    python, script, library, _ = command
    return [python, script.replace("graph_main.py", "graph_own_main.py"), library]


def _with_modes(program: Program) -> Program:
    """The program's variants with the word that says how a step is made, and one more: eager."""
    commands: dict[str, Sequence[str] | None] = {}
    for variant, command in program.commands.items():
        mode = "eager" if variant == "pytorch" else "graph"
        commands[variant] = None if command is None else [*command, mode]
    env: dict[str, Mapping[str, str]] = {**program.env, "eager": program.env["head"]}
    commands["eager"] = [*(program.commands["head"] or ()), "eager"]
    order = [v for v in commands if v != "pytorch"] + ["pytorch"]
    return replace(program, commands={v: commands[v] for v in order}, env=env)


def main(argv: Sequence[str] | None = None) -> int:
    """Measures and prints."""
    args = variants.make_parser(__doc__).parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        return runner.measure_and_report(make_plan(Path(folder) / "task.npz", args), args)


if __name__ == "__main__":
    sys.exit(main())
