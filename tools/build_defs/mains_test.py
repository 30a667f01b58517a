"""The mains of C++ and Python tests: what ran no test, or skipped one, has failed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

MAIN = Path("tools/build_defs/pytest_main.py").absolute()
EMPTY = Path("tools/build_defs/empty_cc_test").absolute()


def run_pytest(folder: Path, text: str, **more: str) -> subprocess.CompletedProcess[str]:
    test = folder / "test_x.py"
    test.write_text(text)
    own = ("XML_OUTPUT_FILE", "TESTBRIDGE_TEST_ONLY", "TEST_TOTAL_SHARDS", "TEST_SHARD_INDEX")
    env = {name: value for name, value in os.environ.items() if name not in own}
    env.update(PYTHONPATH=os.pathsep.join(sys.path), **more)
    command = [sys.executable, str(MAIN), str(test)]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)


def test_a_passing_test_passes_and_pytest_closes(tmp_path: Path) -> None:
    result = run_pytest(tmp_path, "def test_a(): assert True\n")
    assert result.returncode == 0
    assert "1 passed in " in result.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1\n", "no tests ran"),
        ("def test_a(): assert False\n", "1 failed"),
        ("import pytest\n@pytest.mark.ski" + "p\ndef test_a(): pass\n", "was skipped"),
        ("import pytest\n@pytest.mark.xfai" + "l\ndef test_a(): assert 0\n", "was skipped"),
        ("import pytest\n@pytest.mark.xfai" + "l\ndef test_a(): pass\n", "expected to fail"),
        ("def test_a(: pass\n", "1 error"),
    ],
)
def test_everything_else_fails(tmp_path: Path, text: str, expected: str) -> None:
    result = run_pytest(tmp_path, text)
    assert result.returncode != 0
    assert expected in result.stdout


def test_shards_run_each_test_once(tmp_path: Path) -> None:
    text = "import pytest\n@pytest.mark.parametrize('n', range(5))\ndef test_a(n): pass\n"
    ran = []
    for index in range(2):
        status = tmp_path / f"status{index}"
        shard = {"TEST_TOTAL_SHARDS": "2", "TEST_SHARD_INDEX": str(index)}
        result = run_pytest(tmp_path, text, TEST_SHARD_STATUS_FILE=str(status), **shard)
        assert result.returncode == 0 and status.exists()
        ran.append(result.stdout)
    assert "3 passed, 2 deselected" in ran[0] and "2 passed, 3 deselected" in ran[1]


def test_a_cc_test_without_tests_fails() -> None:
    result = subprocess.run([str(EMPTY)], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "no test ran" in result.stderr
