"""The history in a branch: begun, added to, pushed, raced for; the code's checkout left alone."""

from __future__ import annotations

import json
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from ci.perf_bot import branch, history, main
from ci.perf_bot.builds import GitError, Repository
from ci.perf_bot.tests import samples
from ci.perf_bot.tests.fake_repository import FakeRepository

Json = dict[str, Any]


@pytest.fixture(name="repository")
def fixture_repository(tmp_path: Path) -> Repository:
    """A repository with a commit and a file that is not committed."""
    made = FakeRepository(tmp_path / "code")
    made.commit("the code")
    (made.folder / "draft.txt").write_text("not committed")
    return Repository(made.folder)


def result(number: int) -> Json:
    """A result of a commit of its own."""
    made = samples.result()
    made["head"] |= {"commit": f"{number:040x}", "time": f"2026-12-01T00:00:{number:02d}Z"}
    return made


def kept(repository: Repository, name: str = "perf", path: str = history.NAME) -> list[int]:
    """The commits in a branch's history."""
    lines = repository.git("show", f"{name}:{path}").splitlines()
    return [int(json.loads(line)["commit"], 16) for line in lines]


def test_a_branch_begins_and_grows_and_the_checkout_stays(repository: Repository) -> None:
    before = repository.git("status", "--porcelain"), repository.git("rev-parse", "HEAD")
    branch.add(repository, "perf", ".", [result(1)])
    branch.add(repository, "perf", ".", [result(3), result(2)])
    assert kept(repository) == [1, 2, 3]
    assert repository.git("log", "--format=%s", "perf").splitlines() == [
        "perf: 3 commits",
        "perf: 1 commits",
        "perf: a history begins",
    ]
    assert "<svg" in repository.git("show", f"perf:{history.PAGE}")
    after = repository.git("status", "--porcelain"), repository.git("rev-parse", "HEAD")
    assert before == after
    assert len(repository.git("worktree", "list").splitlines()) == 1


def test_nothing_new_is_no_commit(repository: Repository) -> None:
    branch.add(repository, "perf", "deep/er", [result(1)])
    tip = repository.git("rev-parse", "perf")
    branch.add(repository, "perf", "deep/er", [result(1)])
    assert repository.git("rev-parse", "perf") == tip
    assert kept(repository, path=f"deep/er/{history.NAME}") == [1]


def clone(of: Repository, folder: Path) -> Repository:
    """A clone, whose origin is the repository."""
    subprocess.run(["git", "clone", "--quiet", str(of.top), str(folder)], check=True)
    return Repository(folder)


def test_those_who_push_at_once_lose_nothing(repository: Repository, tmp_path: Path) -> None:
    clones = [clone(repository, tmp_path / f"clone{i}") for i in range(3)]
    faults: list[BaseException] = []

    def push(number: int) -> None:
        try:
            for step in range(2):
                commit = result(10 * number + step)
                branch.add(clones[number], "perf", ".", [commit], remote="origin")
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=push, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert kept(repository) == [0, 1, 10, 11, 20, 21]


def test_what_cannot_be_pushed_is_an_error(repository: Repository, tmp_path: Path) -> None:
    with pytest.raises(GitError):
        branch.add(repository, "perf", ".", [result(1)], remote="nowhere")
    with pytest.raises(GitError):
        branch.add(repository, "bad..name", ".", [result(1)])
    with pytest.raises(GitError):
        branch.add(repository, "--help", ".", [result(1)])


def test_the_command_line(
    repository: Repository,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps(result(5)))
    monkeypatch.setenv("BUILD_WORKSPACE_DIRECTORY", str(repository.top))
    assert main.main(["history", ".", str(path), "--branch", "perf"]) == 0
    assert capsys.readouterr().out == "1 commits in perf\n"
    assert kept(repository) == [5]
    assert main.main(["history", ".", str(path), "--branch", "a b"]) == 2
