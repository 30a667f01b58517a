"""Commits as libraries that can be measured side by side: built in worktrees, in one work folder.

What was built once serves again. Bazel is ended after each build, so that nothing of it runs beside
a measurement. Blocks for as long as the builds take; a lock on the folder keeps two users apart.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy

from bench.harness import torch_env
from bench.harness.result import user_path
from ci.perf_bot import builds

# Not resolved: under Bazel it is the tree of links that holds what the target needs.
ROOT = Path(__file__).absolute().parent.parent


class BuildFailed(Exception):
    """A commit does not build; the text says which, and ends with the end of its log."""


@dataclass(frozen=True)
class Library:
    """A commit's library.

    Attributes:
        label: what the user calls it, with its commit.
        path: the search path of a process that measures it: the library, numpy, this tree.
        about: the first line of the commit's message.
    """

    label: str
    path: tuple[str, ...]
    about: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the builds."""
    parser.add_argument("--bazel-flag", action="append", default=[], help="such as --jobs=2")
    parser.add_argument("--build-timeout", type=float, default=3600.0, metavar="SECONDS")
    work = torch_env.default_cache(os.environ) / "testers"
    parser.add_argument("--work", type=user_path, default=work, help="for worktrees and wheels")


def here() -> builds.Repository:
    """The repository of the checkout in which the user called the program."""
    return builds.Repository(Path(os.environ.get("BUILD_WORKSPACE_DIRECTORY", ".")))


def label_of(revision: builds.Revision) -> str:
    """A commit as the user called it, and which one that is.

    >>> commit = "2a23745" + 33 * "0"
    >>> [label_of(builds.Revision(commit, ref, "", "")) for ref in ("check_xx", "2a2374500")]
    ['check_xx@2a23745', '2a23745']
    """
    short = revision.commit[:7]
    plain = len(revision.ref) >= 4 and revision.commit.startswith(revision.ref)
    return short if plain else f"{revision.ref}@{short}"


def build(
    args: argparse.Namespace,
    names: Mapping[str, str],
    repository: builds.Repository,
    say: Callable[[str], None],
) -> dict[str, Library]:
    """Builds commits.

    Args:
        args: has the options of `add_arguments`.
        names: what each side is to be: a branch, tag or commit. A side's worktree keeps its state.
        repository: where the commits are.
        say: takes lines of progress.

    Raises:
        BuildFailed: one does not build.
        ValueError: there is no such commit, or it cannot be checked out.
    """
    try:
        revisions = {side: repository.resolve(name) for side, name in names.items()}
    except builds.GitError as fault:
        raise ValueError(str(fault)) from None
    builder = builds.Builder(repository, args.work, args.bazel_flag, args.build_timeout)
    packages = str(Path(numpy.__file__).parent.parent)
    found = {}
    with builds.locked(args.work):
        for side, revision in revisions.items():
            label, log = label_of(revision), Path(f"{args.work / side}.log")
            say(f"building {label}; its log: {log}")
            try:
                made = builder.build(side, revision.commit, log)
            except builds.BuildError as fault:
                raise BuildFailed(f"{label} does not build: {fault.detail}") from None
            except builds.GitError as fault:
                raise ValueError(f"{label} cannot be checked out: {fault}") from None
            path = (str(made.site), packages, str(ROOT))
            found[side] = Library(label, path, revision.subject)
    return found
