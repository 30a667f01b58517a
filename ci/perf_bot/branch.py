"""The history in a branch of its own: read, added to, committed, and pushed without losing a race.

The branch has no parent in the code, so nobody who clones the code needs it. Nothing is checked out
beside the folder's own worktree, which is made for the call and removed after it.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ci.perf_bot import history
from ci.perf_bot.builds import GitError, Repository

Json = dict[str, Any]

ATTEMPTS = 5
_WHO = ("-c", "user.name=perf_bot", "-c", "user.email=perf_bot@localhost")


def add(
    repository: Repository,
    branch: str,
    folder: str,
    results: Sequence[Json],
    remote: str | None = None,
) -> list[Json]:
    """Adds results to the history in a branch.

    Args:
        repository: any checkout.
        branch: its name; it is made when there is none.
        folder: below the branch's top; "." for the top itself.
        results: checked results of commits of master.
        remote: where to push, such as `origin`; None leaves it at the local branch.

    Returns:
        All entries. When somebody else pushed meanwhile, theirs are among them.

    Raises:
        GitError: the branch cannot be read, written or pushed.
        ValueError: its history is none; it is left as it is.
    """
    repository.git("check-ref-format", "--branch", branch)
    last: GitError | None = None
    for _ in range(ATTEMPTS):
        tip = _tip(repository, branch, remote)
        with _worktree(repository, tip) as top:
            inside = Repository(top)
            entries = history.add(top / folder, results)
            inside.git("add", "--all")
            if not inside.git("status", "--porcelain"):
                return entries
            inside.git(*_WHO, "commit", "--quiet", "-m", f"perf: {len(entries)} commits")
            try:
                _publish(inside, branch, tip, remote)
                return entries
            except GitError as error:
                # The branch moved on; what it has now comes first.
                last = error
    raise last or GitError(f"{branch} cannot be written")


def _tip(repository: Repository, branch: str, remote: str | None) -> str:
    """The commit to start from: the remote's, the local branch's, or a new one without files."""
    if remote is not None:
        with contextlib.suppress(GitError):
            repository.git("fetch", "--quiet", remote, f"refs/heads/{branch}")
            return repository.git("rev-parse", "FETCH_HEAD")
    else:
        with contextlib.suppress(GitError):
            return repository.git("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}")
    empty = repository.git("mktree", "--missing")
    return repository.git(*_WHO, "commit-tree", "-m", "perf: a history begins", empty)


@contextlib.contextmanager
def _worktree(repository: Repository, commit: str) -> Iterator[Path]:
    """A checkout of a commit for as long as it is needed."""
    with tempfile.TemporaryDirectory(prefix="perf-history") as folder:
        top = Path(folder) / "tree"
        repository.git("worktree", "add", "--quiet", "--force", "--detach", str(top), commit)
        try:
            yield top
        finally:
            repository.git("worktree", "remove", "--force", str(top))


def _publish(inside: Repository, branch: str, tip: str, remote: str | None) -> None:
    """Moves the branch from the old tip to the worktree's commit; refused if it is not there."""
    if remote is not None:
        inside.git("push", "--quiet", remote, f"HEAD:refs/heads/{branch}")
        return
    known = inside.git("for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}")
    old = tip if known else "0" * 40
    inside.git("update-ref", f"refs/heads/{branch}", inside.git("rev-parse", "HEAD"), old)
