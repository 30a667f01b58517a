"""The variants of a benchmark that is one Python program for OneFlow and PyTorch alike.

* head: the OneFlow of this interpreter. head again: the same, as the control.
* base: the OneFlow of another interpreter, given by a flag; then "base again" is the control.
* pytorch: the PyTorch of the interpreter that torch_env finds; without one, its cells say "n/a".
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.harness import host, runner, torch_env
from bench.harness.plan import Plan, Program, Row, standard_versus

# Not resolved: under Bazel it is the tree of links that holds what the target needs.
ROOT = Path(__file__).absolute().parent.parent


def make_parser(description: str | None) -> argparse.ArgumentParser:
    """The command line that the benchmarks share."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--base-python", metavar="PATH", help="a Python that has another OneFlow")
    parser.add_argument(
        "--threads", type=int, help="of every variant; default: one for each usable core"
    )
    torch_env.add_arguments(parser)
    runner.add_arguments(parser)
    return parser


def make_plan(
    name: str,
    script: str,
    words: Sequence[str],
    rows: Sequence[Row],
    expected: Mapping[str, Mapping[str, Any]],
    args: argparse.Namespace,
) -> Plan:
    """A plan of one program.

    Args:
        name: of the program, and of its target in `tools/bazel run //bench:NAME`.
        script: its path below this folder; it gets the library's name as its first argument.
        words: its further arguments.
        rows: its metrics.
        expected: the answers it must give.
        args: the command line.
    """
    path = str(ROOT / "bench" / script)
    torch = torch_env.find_torch(args.torch_python)
    head = [sys.executable, path, "oneflow", *words]
    commands: dict[str, Sequence[str] | None] = {"head": head}
    env: dict[str, Mapping[str, str]] = {"*": _threads(args), "head": _search_path()}
    # Another interpreter has its own libraries; of this tree it needs the benchmark alone.
    root = {"PYTHONPATH": str(ROOT)}
    if args.base_python:
        base = [args.base_python, path, "oneflow", *words]
        commands = {"base": base, "head": head, "base again": base}
        env |= {"base": root, "base again": root}
    else:
        commands["head again"] = head
        env["head again"] = _search_path()
    commands["pytorch"] = [torch.python, path, "torch", *words] if torch.python else None
    env["pytorch"] = root
    program = Program(name, commands, rows, env, expected=expected)
    labels = {"pytorch": torch.label()}
    return Plan([program], standard_versus(list(commands)), labels=labels, repeat=_repeat(name))


def _threads(args: argparse.Namespace) -> dict[str, str]:
    cores = args.cpus.split(",") if args.cpus else host.usable_cpus()
    return {"OMP_NUM_THREADS": str(args.threads or len(cores))}


def _search_path() -> dict[str, str]:
    """This interpreter's own search path: under Bazel it is more than the interpreter knows."""
    return {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def _repeat(name: str) -> str:
    words = sys.argv[1:]
    return shlex.join(["tools/bazel", "run", f"//bench:{name}", *(["--", *words] if words else [])])
