"""The example from end to end: it learns, draws, saves, and reads what it saved."""

from __future__ import annotations

import io
import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support import must_fail

import oneflow as flow
from examples.console.progress import Progress, wants_color
from examples.digits import digits, picture

ACCURACY = 0.985
SECONDS = 60


def run(folder: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """The program as a user starts it, from `folder`."""
    # `bazel run` tells the user's folder like this; the process itself stands elsewhere.
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "BUILD_WORKING_DIRECTORY": str(folder),
        "MPLCONFIGDIR": str(folder),
        # Fontconfig, which Matplotlib asks, complains on stderr where it cannot write.
        "XDG_CACHE_HOME": str(folder),
    }
    return subprocess.run(
        [sys.executable, digits.__file__, *arguments],
        capture_output=True,
        text=True,
        env={**env, **environ},
        cwd="/",
        timeout=250,
    )


def accuracy_of(output: str) -> float:
    """The accuracy that the program printed, from 0 to 1."""
    found = re.search(r"accuracy on 449 held-out digits: ([\d.]+)%", output)
    assert found, output
    return float(found.group(1)) / 100


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, float]:
    """(folder, what was printed, seconds of the processor) of one whole run."""
    folder = tmp_path_factory.mktemp("digits")
    started, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    result = run(folder)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    print(f"{time.monotonic() - started:.1f} s by the clock, {seconds:.1f} s of the processor")
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return folder, result.stdout, seconds


def check_accuracy(accuracy: float) -> None:
    assert accuracy >= ACCURACY


def test_it_learns_in_a_minute(trained: Any) -> None:
    """The processor's time stands for the clock's, which says more about what else runs."""
    _, output, seconds = trained
    check_accuracy(accuracy_of(output))
    assert seconds <= SECONDS


def test_it_leaves_a_picture_and_a_checkpoint_where_the_user_is(trained: Any) -> None:
    folder, output, _ = trained
    assert (folder / "digits.of").stat().st_size > 100_000
    assert str(folder / "digits.png") in output
    pixels = __import__("matplotlib.image").image.imread(folder / "digits.png")
    assert pixels.shape[0] > 300 and pixels.shape[1] > 800
    assert pixels.std() > 0.05, "the picture is blank"


def test_plain_lines_where_there_is_no_terminal(trained: Any) -> None:
    _, output, _ = trained
    assert "\r" not in output and "\x1b" not in output
    losses = [float(x) for x in re.findall(r"epoch +\d+: loss ([\d.]+)", output)]
    assert len(losses) == 7
    assert losses[-1] < losses[0] / 10


def test_predict_reads_the_checkpoint(trained: Any) -> None:
    folder, output, _ = trained
    result = run(folder, "--predict", "digits.of")
    assert result.returncode == 0, result.stderr
    assert accuracy_of(result.stdout) == accuracy_of(output)
    rows = re.findall(r"(?:digit|seen) +([\d ]+)", result.stdout)
    assert len(rows) == 6 and all(len(row.split()) == 20 for row in rows)


def test_a_seed_fixes_everything(tmp_path: Path) -> None:
    files = []
    for name in ("a", "b"):
        assert digits.main(["--epochs", "1", "--seed", "7", "--out", str(tmp_path / name)]) == 0
        files.append((tmp_path / name / "digits.of").read_bytes())
    assert files[0] == files[1]


@pytest.fixture
def one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """one_line(option, name, *words): the program fails with one line that has these words."""

    def check(option: str, name: str, *words: str) -> None:
        assert digits.main(["--epochs", "1", option, str(tmp_path / name)]) == 1
        printed = capsys.readouterr().err
        assert re.fullmatch(r"digits: [^\n]+\n", printed), printed
        for word in words:
            assert word in printed

    return check


def test_bad_checkpoints_are_one_clear_line(trained: Any, tmp_path: Path, one_line: Any) -> None:
    data = (trained[0] / "digits.of").read_bytes()
    one_line("--predict", "none.of", "there is no checkpoint", "none.of")
    (tmp_path / "cut.of").write_bytes(data[: len(data) // 2])
    one_line("--predict", "cut.of", "cannot read", "cut.of")
    damaged = bytearray(data)
    damaged[len(data) // 2] ^= 1
    (tmp_path / "bad.of").write_bytes(damaged)
    one_line("--predict", "bad.of", "damaged")
    flow.save([1, 2], tmp_path / "other.of")
    one_line("--predict", "other.of", "no checkpoint of this program")
    flow.save({"kind": digits.KIND, "seed": 0, "network": {}}, tmp_path / "empty.of")
    one_line("--predict", "empty.of", "does not fit", "0.weight")
    flow.save({"kind": digits.KIND}, tmp_path / "less.of")
    one_line("--predict", "less.of", "does not fit", "network")


def test_a_folder_that_cannot_be_written(tmp_path: Path, one_line: Any) -> None:
    (tmp_path / "file").write_text("")
    one_line("--out", "file/below", "cannot write")
    one_line("--out", "file", "expects a folder", "file")


def test_what_cannot_be_kept_is_not_trained(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(digits, "train", lambda *_: pytest.fail("trained in vain"))
    assert digits.main(["--out", str(tmp_path / "file")]) == 1


def test_a_training_that_diverges_says_so_and_keeps_the_old_checkpoint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "digits.of").write_bytes(b"old")
    x, *others = digits.load_digits(0)
    monkeypatch.setattr(digits, "load_digits", lambda seed: (x * np.float32(np.nan), *others))
    assert digits.main(["--lr", "0.5", "--out", str(tmp_path)]) == 1
    assert "training diverged; try a smaller --lr than 0.5" in capsys.readouterr().err
    assert (tmp_path / "digits.of").read_bytes() == b"old"


@pytest.mark.parametrize(
    "arguments",
    [["--epochs", "0"], ["--lr", "nan"], ["--seed", "-1"], ["--seed", "x"], ["--speed", "3"]],
)
def test_bad_options(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        digits.parse(arguments)
    assert caught.value.code == 2
    printed = capsys.readouterr().err
    assert arguments[0] in printed and "_" not in printed


def test_the_split_is_whole_and_fixed() -> None:
    x, y, held_x, held_y = digits.load_digits(0)
    assert (len(x), len(held_x)) == (1348, 449)
    assert x.dtype == np.float32 and x.max() == 1.0 and x.min() == 0.0
    assert set(held_y.tolist()) == set(range(10))
    rows = {row.tobytes() for row in x} & {row.tobytes() for row in held_x}
    assert not rows, "a held-out digit is in the training data"
    assert np.array_equal(digits.load_digits(0)[1], y)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    screen = Terminal()
    bar = Progress(10, screen)
    bar.step(5, "half")
    bar.step(6, "too soon to be drawn")
    bar.step(10, "end")
    bar.line("text")
    bar.close()
    shown = screen.getvalue()
    assert " 50 %  half" in shown and "100 %  end" in shown and "too soon" not in shown
    assert "\x1b[32m" in shown
    assert "\ntext" not in shown and "text\n" in shown
    plain = io.StringIO()
    bar = Progress(10, plain)
    bar.step(10, "end")
    bar.line("text")
    bar.close()
    assert plain.getvalue() == "text\n"


def test_colour_is_as_the_environment_says() -> None:
    terminal, pipe = Terminal(), io.StringIO()
    assert wants_color(terminal, {}) and not wants_color(pipe, {})
    assert not wants_color(terminal, {"NO_COLOR": "1"})
    assert not wants_color(terminal, {"TERM": "dumb"})
    assert wants_color(pipe, {"FORCE_COLOR": "1"})
    assert not wants_color(pipe, {"FORCE_COLOR": "1", "NO_COLOR": "1"})


def test_a_picture_that_cannot_be_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any) -> None:
        raise OSError("full")

    monkeypatch.setattr(picture.os, "replace", fail)
    with pytest.raises(OSError, match="full"):
        picture.draw(
            str(tmp_path / "x.png"), [1.0, 0.5], np.zeros((2, 8, 8)), np.arange(2), np.arange(2)
        )
    assert os.listdir(tmp_path) == []


def test_control() -> None:
    """A network that learned nothing does not pass."""
    flow.manual_seed(0)
    _, _, pixels, labels = digits.load_digits(0)
    untrained = digits.predict(digits.make_network(), pixels)
    must_fail(check_accuracy, float((untrained == labels).mean()))
