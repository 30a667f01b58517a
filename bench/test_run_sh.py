"""run.sh itself: in a checkout, alone with --repo, and what it says when something is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("run.sh")
# Stands for tools/bazel: building leaves a program that says how it was called.
BAZEL = """#!/bin/sh
echo "bazel $*"
if [ -f broken ]; then echo "broken.cc:7: error: expected ;"; exit 1; fi
mkdir -p bazel-bin/bench/models
cp testers bazel-bin/bench/models/testers
"""
TESTERS = """#!/bin/sh
echo "testers $*"
echo "in $PWD of $BUILD_WORKSPACE_DIRECTORY for ${ONEFLOW_BENCH_REPO:-nobody}"
exit 7
"""


def git(top: Path, *words: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    subprocess.run(["git", "-C", str(top), *identity, *words], check=True, capture_output=True)


def run(script: Path, *words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    return subprocess.run(
        ["bash", str(script), *words],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(name="checkout")
def fixture_checkout(tmp_path: Path) -> Path:
    """A repository in which this script stands."""
    top = tmp_path / "project"
    for folder in ("tools", "bench/models"):
        (top / folder).mkdir(parents=True)
    shutil.copy(SCRIPT, top / "bench" / "run.sh")
    (top / "bench" / "models" / "x").write_text("")
    for name, text in (("tools/bazel", BAZEL), ("testers", TESTERS)):
        (top / name).write_text(text)
        (top / name).chmod(0o755)
    git(top, "init", "-q", "-b", "master")
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "first")
    return top


def test_in_a_checkout(checkout: Path, tmp_path: Path) -> None:
    done = run(checkout / "bench" / "run.sh", "check_xx", "--mode", "graph", folder=tmp_path)
    assert done.returncode == 7
    assert "testers check_xx --mode graph\n" in done.stdout
    assert f"in {tmp_path} of {checkout} for nobody" in done.stdout
    assert "bazel build //bench:testers" in done.stderr and "bazel" not in done.stdout


def test_flags_of_the_build(checkout: Path, tmp_path: Path) -> None:
    words = ("--bazel-flag=--jobs=1", "--bazel-flag", "--config=x")
    done = run(checkout / "bench" / "run.sh", *words, folder=tmp_path)
    assert "bazel build --jobs=1 --config=x //bench:testers" in done.stderr
    assert "testers --bazel-flag=--jobs=1 --bazel-flag --config=x\n" in done.stdout


def test_a_checkout_that_does_not_build(checkout: Path, tmp_path: Path) -> None:
    (checkout / "broken").write_text("")
    done = run(checkout / "bench" / "run.sh", folder=tmp_path)
    assert done.returncode == 6 and done.stdout == ""
    assert "does not build" in done.stderr and done.stderr.endswith("error: expected ;\n")


def test_as_one_file(checkout: Path, tmp_path: Path) -> None:
    alone = tmp_path / "downloaded.sh"
    shutil.copy(SCRIPT, alone)
    first = run(alone, "--repo", str(checkout), "check_xx", folder=tmp_path)
    assert first.returncode == 7 and "cloning" in first.stderr
    assert "testers check_xx\n" in first.stdout and f"for {checkout}\n" in first.stdout
    # What is new there comes at the next call.
    (checkout / "testers").write_text(TESTERS.replace("exit 7", "exit 0"))
    git(checkout, "commit", "-q", "-a", "-m", "second")
    second = run(alone, f"--repo={checkout}", folder=tmp_path)
    assert second.returncode == 0 and "fetching" in second.stderr


def test_what_is_refused(tmp_path: Path) -> None:
    alone = tmp_path / "downloaded.sh"
    shutil.copy(SCRIPT, alone)
    for words, said in (
        ((), "--repo ADDRESS"),
        (("--repo",), "--repo expects"),
        (("--bazel-flag",), "--bazel-flag expects"),
        (("--repo", str(tmp_path / "none")), "cannot clone"),
    ):
        done = run(alone, *words, folder=tmp_path)
        assert done.returncode == 2 and said in done.stderr
