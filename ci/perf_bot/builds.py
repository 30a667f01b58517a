"""Commits to libraries: names to commits, a worktree for each side, and the wheel built in it.

A wheel is unpacked below the work folder and serves again (:mod:`ci.perf_bot.wheels`). The two
worktrees stay too, and Bazel's own state beside them. In a workflow of GitHub nothing serves again:
the machine may have run anybody's code. Bazel's server is ended after a build: what is measured
afterwards has the machine to itself. Blocks for as long as a build takes; a lock on the work folder
keeps two bots apart.
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

from ci.perf_bot import wheels

TARGET = "//python:wheel"
# Where the target leaves the wheel, below the worktree.
WHEELS = "bazel-bin/python/dist/*.whl"
TAIL_CHARACTERS = 3000
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
        reuse: whether wheels, worktrees and Bazel's state of earlier runs may serve.
    """

    repository: Repository
    work: Path
    flags: Sequence[str] = field(default_factory=tuple)
    timeout_s: float = 3600.0
    reuse: bool = field(default_factory=lambda: wheels.may_reuse(os.environ))

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
        cache = self.work / "wheels"
        tree_id = self.repository.git("rev-parse", "--verify", f"{commit}^{{tree}}")
        name = wheels.name_of(commit, tree_id, TARGET, self.flags)
        if self.reuse and (site := wheels.find(cache, name)) is not None:
            log.write_text(f"built before: {commit}\n", encoding="utf-8")
            return Build(site, 0.0)
        start = time.monotonic()
        tree, state = self.work / side, self.work / f"bazel-{side}"
        if not self.reuse:
            wheels.remove(tree)
            wheels.remove(state)
        self.repository.worktree(tree, commit)
        with open(log, "wb") as output:
            startup = f"--output_base={state}"
            status = self._bazel(tree, [startup, "build", *self.flags, TARGET], output)
            self._bazel(tree, [startup, "shutdown"], output)
        if status is None:
            limit = f"the build still ran after {self.timeout_s:g} s"
            raise BuildError("build timeout", f"{limit}: {tail(log)}")
        if status != 0:
            words = f"tools/bazel build {TARGET} ended with status {status}"
            raise BuildError("build failed", f"{words}: {tail(log)}")
        return Build(_unpack(tree, cache, name), time.monotonic() - start)

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
            raise BuildError("build failed", f"{words[1]}: tools/bazel: {error.strerror}") from None
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


def _unpack(tree: Path, cache: Path, name: str) -> Path:
    """Unpacks the one wheel of a worktree; its site."""
    found = sorted(tree.glob(WHEELS))
    if len(found) != 1:
        raise BuildError("build failed", f"expects one wheel at {WHEELS}, got {len(found)}")
    try:
        return wheels.store(cache, name, found[0])
    except zipfile.BadZipFile as error:
        raise BuildError("build failed", f"{found[0].name} is no wheel: {error}") from None


def tail(log: Path) -> str:
    """The end of a log, printable, its lines kept."""
    text = log.read_text(encoding="utf-8", errors="replace").strip()[-TAIL_CHARACTERS:]
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text)


@contextlib.contextmanager
def locked(work: Path) -> Iterator[None]:
    """Holds the work folder for one bot; waits for another one to finish.

    Raises:
        OSError: the folder is another user's.
    """
    wheels.private(work)
    with open(work / "lock", "w", encoding="ascii") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
