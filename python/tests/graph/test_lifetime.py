"""Graph, session and environment end in this order, whichever way a program ends.

The programs are the scripts that this project began with, in the form in which users have them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import oneflow as flow

PROGRAMS = Path(__file__).parent / "programs"
REPEATS = int(os.environ.get("ONEFLOW_LIFETIME_REPEATS", "3"))
LINE = re.compile(r"oneflow: lifetime: \+\S+ thread \d+ (\w+) (\w+) '([^']*)'\n")


def run(*arguments: str, **environ: str) -> tuple[int, str, str]:
    """(status, stdout, stderr) of Python in the folder of the programs."""
    path = os.pathsep.join([str(PROGRAMS), *sys.path])
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", **environ},
    )
    return done.returncode, done.stdout, done.stderr


def events(stderr: str) -> list[str]:
    """What the log says of graphs, sessions and the environment, and then what is no log."""
    return [f"{event} {kind}" for event, kind, _ in LINE.findall(stderr) if kind != "subsystem"] + [
        line for line in LINE.sub("", stderr).splitlines() if line
    ]


BEGIN = ["create env", "create session", "create graph"]
END = ["close env", "close session", "close graph", "destruct graph", "destruct session",
       "closed env"]  # fmt: skip


def assert_in_order(lines: list[str], wanted: list[str]) -> None:
    """All that is wanted is there once, in this order."""
    found = [line for line in lines if line in wanted]
    assert found == wanted, lines


def test_by_unittest() -> None:
    for _ in range(REPEATS):
        status, _, stderr = run("-m", "unittest", "test_graph_session_env_destruct")
        assert status == 0, stderr
        assert re.fullmatch(r"\.\n-+\nRan 1 test in \S+\n\nOK\n", stderr), stderr


def test_by_itself() -> None:
    for _ in range(REPEATS):
        status, _, stderr = run(str(PROGRAMS / "test_graph_session_env_destruct.py"))
        assert status == 0 and "OK" in stderr, stderr


def test_on_the_cpu_only() -> None:
    status, _, stderr = run(
        "-m", "unittest", "test_graph_session_env_destruct", ONEFLOW_TEST_CPU_ONLY="1"
    )
    assert status == 0, stderr


def test_outside_of_unittest() -> None:
    for _ in range(REPEATS):
        assert run(str(PROGRAMS / "module_level.py")) == (0, "equal\n", "")
        assert run(str(PROGRAMS / "never_run.py")) == (0, "made\n", "")


def test_order_at_a_normal_end() -> None:
    status, _, stderr = run(str(PROGRAMS / "module_level.py"), ONEFLOW_LOG_LIFETIME="1")
    assert status == 0
    assert_in_order(events(stderr), [*BEGIN, *END])


def test_order_after_unittest() -> None:
    status, _, stderr = run(
        "-m", "unittest", "test_graph_session_env_destruct", ONEFLOW_LOG_LIFETIME="1"
    )
    assert status == 0
    assert_in_order(events(stderr), [*BEGIN, *END])


def test_order_after_an_exception() -> None:
    status, _, stderr = run(str(PROGRAMS / "ends_by_exception.py"), ONEFLOW_LOG_LIFETIME="1")
    assert status == 1
    lines = events(stderr)
    assert_in_order(lines, [*BEGIN, *END])
    assert "ValueError: mine" in lines


def test_order_without_a_run() -> None:
    """A graph that was never called was never traced: there is none to close."""
    status, _, stderr = run(str(PROGRAMS / "never_run.py"), ONEFLOW_LOG_LIFETIME="1")
    assert status == 0
    assert_in_order(events(stderr), [line for line in [*BEGIN, *END] if not line.endswith("graph")])


def test_order_where_the_import_fails_half_way(tmp_path: Path) -> None:
    package = Path(flow.__path__[0])
    copy = tmp_path / "oneflow"
    shutil.copytree(package, copy, copy_function=os.symlink)
    broken = copy / "framework" / "creation.py"
    broken.unlink()
    broken.write_text("def ones(:\n")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    status, stdout, stderr = run("-c", "import oneflow", ONEFLOW_LOG_LIFETIME="1", PYTHONPATH=path)
    assert (status, stdout) == (1, "")
    lines = events(stderr)
    assert_in_order(lines, [line for line in [*BEGIN, *END] if not line.endswith("graph")])
    assert lines[-1].startswith("SyntaxError") and "NameError" not in stderr
    assert stderr.count("Traceback") == 1


def test_control() -> None:
    """The old ownership: the environment's end before the graph's."""
    wrong = [*BEGIN, "close env", "closed env", "close graph", "destruct graph"]
    try:
        assert_in_order(wrong, [*BEGIN, *END])
    except AssertionError:
        return
    raise RuntimeError("the order is not looked at")
