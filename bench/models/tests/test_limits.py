"""The products of a step alone: all of them, and no other; what is wrong is refused."""

from __future__ import annotations

import doctest
import os
import subprocess
from pathlib import Path

import pytest

from bench.harness.launch import read_metrics
from bench.models import limits
from bench.models.cases import BATCHES, Case, parse
from bench.models.tests import record

PROGRAM = Path(limits.__file__).with_name("limits")


def run(path: Path, text: str, *words: str) -> subprocess.CompletedProcess[str]:
    """The program on a file of this text."""
    path.write_text(text, encoding="ascii")
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [str(PROGRAM), str(path), *words], capture_output=True, text=True, env=env, check=False
    )


def test_examples() -> None:
    assert doctest.testmod(limits).failed == 0


def test_operations_are_those_of_the_models(tmp_path: Path) -> None:
    """What is timed alone takes as many operations as PyTorch counted in the step."""
    done = run(tmp_path / "spec", limits.spec([parse(case) for case in record.CASES]))
    metrics = read_metrics(done.stdout)
    assert isinstance(metrics, dict), done.stderr
    for case in record.CASES:
        line = metrics[case]
        assert line["check"]["flops"] == record.recorded()["first_steps"][case]["flops"]
        assert 0.0 < line["samples"][0] < 10.0
    assert 0.1 < metrics["bandwidth"]["samples"][0] < 10_000


@pytest.mark.parametrize(
    "line",
    ["conv fp64 1 1 1 8 3 1 1 f", "conv fp32 1 1 1 8 2 1 1 f", "conv fp32 1 1 1 8 3 1 1 x",
     "conv fp32 1 1 1 8 3", "matmul fp32 1 0 4 4 1", "product fp32 1 4 4 4 1"],
)  # fmt: skip
def test_lines_that_cannot_be_read(line: str, tmp_path: Path) -> None:
    done = run(tmp_path / "spec", f"metric m\n{line}\n")
    assert done.returncode == 2 and line in done.stderr
    assert run(tmp_path / "spec", "matmul fp32 1 4 4 4 1\n").returncode == 2


def test_usage(tmp_path: Path) -> None:
    assert "usage" in run(tmp_path / "spec", "", "0").stderr
    none = subprocess.run([str(PROGRAM), str(tmp_path / "none")], capture_output=True, check=False)
    assert none.returncode == 2


def test_traffic_grows_with_the_batch_but_for_the_weights() -> None:
    one, two, three = (limits.traffic(Case("resnet50", n)) for n in (1, 2, 3))
    assert three - two == two - one > 0
    assert one - (two - one) == 5 * 4 * limits.weights(Case("resnet50", 1))
    text = [limits.traffic(Case("bert-base", n, 128)) for n in (1, 2, 3)]
    assert text[2] - text[1] == text[1] - text[0] > 0
    assert limits.traffic(Case("resnet50", 4, dtype="bf16")) < limits.traffic(Case("resnet50", 4))


def test_inference_needs_less() -> None:
    for case in (Case("resnet50", 4), Case("bert-base", 8, 128)):
        forward = Case(case.model, case.batch, case.sequence, "fp32", "inference")
        assert 0 < limits.traffic(forward) < limits.traffic(case) / 2
    assert len(limits.spec([Case("resnet50", n) for n in BATCHES]).splitlines()) > 100
