"""Commits to libraries: names to commits, a worktree for each side, and the wheel built in it.

A wheel is unpacked below the work folder, in a folder of its commit, and serves again. The two
worktrees stay too, so that Bazel finds its own state there. Bazel's server is ended after a build:
what is measured afterwards has the machine to itself. Blocks for as long as a build takes; a lock
on the work folder keeps two bots apart.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import time
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

TARGET = "//python:wheel"
# Where the target leaves the wheel, below the worktree.
WHEELS = "bazel-bin/python/dist/*.whl"
TAIL_CHARACTERS = 3000
COMPLETE = "complete"
# What `bazel run` sets for its own program; another Bazel must not see it.
_DROPPED = (
    "BUILD_WORKSPACE_DIRECTORY",
    "BUILD_WORKING_DIRECTORY",
    "RUNFILES_DIR",
    "RUNFILES_MANIFEST_FILE",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONNOUSERSITE",
)
_PATIENCE_S = 60.0


class BuildError(Exception):
    """A commit could not be built; `kind` is one of the result's, the text ends with the log."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail


class GitError(Exception):
    """Git refused; the text is its own."""


@dataclass(frozen=True)
class Revision:
    """A commit.

    Attributes:
        commit: 40 digits.
        ref: what the user called it.
        subject: the first line of its message.
        time: its date, UTC, as in 2026-12-01T04:30:00Z.
    """

    commit: str
    ref: str
    subject: str
    time: str


@dataclass(frozen=True)
class Repository:
    """A git repository, given by any checkout of it."""

    top: Path

    def git(self, *words: str) -> str:
        """The output of a git command, without its last line feed.

        Raises:
            GitError: it failed.
        """
        command = ["git", "-C", str(self.top), *words]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise GitError(done.stderr.strip() or f"git {words[0]}: status {done.returncode}")
        return done.stdout.rstrip("\n")

    def resolve(self, name: str) -> Revision:
        """The commit that a name means here: as git knows it, else a branch of `origin`; `master`
        and `main` stand for each other.

        Raises:
            GitError: there is none.
        """
        other = {"master": "main", "main": "master"}.get(name)
        for known in [name, f"origin/{name}", *([other, f"origin/{other}"] if other else [])]:
            with contextlib.suppress(GitError):
                words = ("--verify", "--quiet", "--end-of-options", f"{known}^{{commit}}")
                return self.revision(self.git("rev-parse", *words), name)
        raise GitError(f"no commit is called {name!r} in {self.top}")

    def revision(self, commit: str, ref: str) -> Revision:
        """What there is to say about a commit."""
        stamp, subject = self.git("log", "-1", "--format=%ct%n%s", commit).split("\n", 1)
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(stamp)))
        return Revision(commit, ref[:200], subject[:200], when)

    def merge_base(self, first: str, second: str) -> str:
        """The commit where two lines parted."""
        return self.git("merge-base", first, second)

    def worktree(self, folder: Path, commit: str) -> None:
        """A clean checkout of a commit in a folder, which may be an earlier worktree.

        Raises:
            GitError: it cannot be made.
        """
        if (folder / ".git").exists():
            inside = Repository(folder)
            with contextlib.suppress(GitError):
                inside.git("checkout", "--quiet", "--detach", "--force", commit)
                inside.git("clean", "-qfdx", "--exclude=/bazel-*")
                return
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        self.git("worktree", "prune")
        self.git("worktree", "add", "--quiet", "--force", "--detach", str(folder), commit)


@dataclass(frozen=True)
class Build:
    """A library that can be measured.

    Attributes:
        site: the folder to put on the search path.
        seconds: that the build took; 0 when it was there.
    """

    site: Path
    seconds: float


@dataclass(frozen=True)
class Builder:
    """Builds commits.

    Attributes:
        repository: where they come from.
        work: for worktrees and wheels.
        flags: for `bazel build`, such as --jobs=2.
        timeout_s: for one build.
    """

    repository: Repository
    work: Path
    flags: Sequence[str] = field(default_factory=tuple)
    timeout_s: float = 3600.0

    def build(self, side: str, commit: str, log: Path) -> Build:
        """The library of a commit.

        Args:
            side: names the worktree; one for each side lets Bazel keep its state.
            commit: 40 digits.
            log: file that gets what the build prints.

        Raises:
            BuildError: it does not build, or takes too long.
            GitError: it cannot be checked out.
        """
        home = self.work / "wheels" / commit
        if (home / COMPLETE).exists():
            log.write_text(f"built before: {commit}\n", encoding="utf-8")
            return Build(home / "site", 0.0)
        start = time.monotonic()
        tree = self.work / side
        self.repository.worktree(tree, commit)
        with open(log, "wb") as output:
            status = self._bazel(tree, ["build", *self.flags, TARGET], output)
            self._bazel(tree, ["shutdown"], output)
        if status is None:
            limit = f"the build still ran after {self.timeout_s:g} s"
            raise BuildError("build timeout", f"{limit}: {tail(log)}")
        if status != 0:
            words = f"tools/bazel build {TARGET} ended with status {status}"
            raise BuildError("build failed", f"{words}: {tail(log)}")
        _unpack(tree, home)
        return Build(home / "site", time.monotonic() - start)

    def _bazel(self, tree: Path, words: Sequence[str], output: IO[bytes]) -> int | None:
        """The exit status of Bazel in a worktree; None past the time limit, when it is ended."""
        env = {k: v for k, v in os.environ.items() if k not in _DROPPED}
        command = [str(tree / "tools" / "bazel"), *words]
        try:
            process = subprocess.Popen(
                command,
                cwd=tree,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise BuildError("build failed", f"{words[0]}: tools/bazel: {error.strerror}") from None
        try:
            return process.wait(self.timeout_s)
        except subprocess.TimeoutExpired:
            # An interrupt lets the client cancel what its server is doing.
            with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
                os.killpg(process.pid, signal.SIGINT)
                process.wait(_PATIENCE_S)
            return None
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _unpack(tree: Path, home: Path) -> None:
    """Unpacks the one wheel of a worktree; the mark is written last, so half of it never serves."""
    found = sorted(tree.glob(WHEELS))
    if len(found) != 1:
        raise BuildError("build failed", f"expects one wheel at {WHEELS}, got {len(found)}")
    shutil.rmtree(home, ignore_errors=True)
    with zipfile.ZipFile(found[0]) as wheel:
        wheel.extractall(home / "site")
    (home / COMPLETE).touch()


def tail(log: Path) -> str:
    """The end of a log, printable, its lines kept."""
    text = log.read_text(encoding="utf-8", errors="replace").strip()[-TAIL_CHARACTERS:]
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text)


@contextlib.contextmanager
def locked(work: Path) -> Iterator[None]:
    """Holds the work folder for one bot; waits for another one to finish."""
    work.mkdir(parents=True, exist_ok=True)
    with open(work / "lock", "w", encoding="ascii") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
