"""The example from end to end: it learns, writes, saves, and reads what it saved."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support import must_fail

import oneflow as flow
from examples.text import text

LOSS = 2.4  # after 150 steps; single letters by how often they occur: 3.2


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The program as a user starts it, from `folder`."""
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "BUILD_WORKING_DIRECTORY": str(folder),
    }
    return subprocess.run(
        [sys.executable, text.__file__, *arguments],
        capture_output=True,
        text=True,
        env=env,
        cwd="/",
        timeout=250,
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """(folder, what was printed) of a short run."""
    folder = tmp_path_factory.mktemp("text")
    result = run(folder, "--steps", "150", "--length", "80")
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return folder, result.stdout


def check_loss(loss: float) -> None:
    assert loss <= LOSS


def test_it_learns(trained: Any) -> None:
    _, output = trained
    found = re.search(r"held-out text: loss ([\d.]+) nats, ([\d.]+) bits", output)
    assert found
    check_loss(float(found[1]))
    assert float(found[2]) == pytest.approx(float(found[1]) / math.log(2), abs=2e-3)
    losses = [float(x) for x in re.findall(r"step +\d+: loss ([\d.]+)", output)]
    assert len(losses) == 3
    assert 4.3 < losses[0] < 4.8


def test_the_sample_has_the_length_that_was_asked_for(trained: Any) -> None:
    folder, output = trained
    lines = [line[2:] for line in output.split("\n") if line.startswith("|")]
    assert "\n".join(lines).startswith("The ")
    again = run(folder, "--write", "text.of", "--length", "80")
    assert again.returncode == 0, again.stderr
    assert [line[2:] for line in again.stdout.rstrip("\n").split("\n")] == lines


def test_temperature_and_start() -> None:
    flow.manual_seed(0)
    writer = text.Writer()
    drawn = {text.write(writer, "a", 20, 1.0, seed) for seed in range(3)}
    assert len(drawn) == 3
    assert all(len(s) == 21 and s[0] == "a" for s in drawn)
    cold = {text.write(writer, "ab", 5, 1e-3, seed) for seed in range(3)}
    assert len(cold) == 1


def test_letters() -> None:
    assert text.decode(text.encode("Ab c\n~\u00e9")) == "Ab c\n~"
    training, held_out = text.load_text()
    assert len(training) > 300_000
    assert 0.09 < len(held_out) / (len(training) + len(held_out)) < 0.11
    x, y = text.windows(training, [0, 5])
    assert x.shape == y.shape == flow.Size([2, text.WINDOW])
    assert np.array_equal(x.numpy()[:, 1:], y.numpy()[:, :-1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--write", "none.of"], "there is no checkpoint"),
        (["--write", "other.of"], "no checkpoint of this program"),
        (["--write", "less.of"], "does not fit"),
        (["--out", "other.of"], "expects a folder"),
    ],
)
def test_mistakes_are_one_clear_line(
    tmp_path: Path, monkeypatch: Any, capsys: Any, arguments: list[str], message: str
) -> None:
    monkeypatch.setenv("BUILD_WORKING_DIRECTORY", str(tmp_path))
    flow.save([1], tmp_path / "other.of")
    flow.save({"kind": text.KIND}, tmp_path / "less.of")
    assert text.main(arguments) == 1
    printed = capsys.readouterr().err
    assert re.fullmatch(r"text: [^\n]+\n", printed), printed
    assert message in printed


def test_a_start_without_letters(capsys: Any) -> None:
    with pytest.raises(text.UserError, match="at least one letter"):
        text.write(text.Writer(), "\u00e9", 5, 1.0, 0)


@pytest.mark.parametrize("arguments", [["--steps", "0"], ["--temperature", "-1"], ["--seed", "x"]])
def test_bad_options(arguments: list[str], capsys: Any) -> None:
    with pytest.raises(SystemExit) as caught:
        text.parse(arguments)
    assert caught.value.code == 2
    assert arguments[0] in capsys.readouterr().err


def test_control() -> None:
    """A model that learned nothing does not pass."""
    flow.manual_seed(0)
    _, held_out = text.load_text()
    must_fail(check_loss, text.evaluate(text.Writer(), held_out[:5000]))
