"""What GitHub says about the run that measured: the event `workflow_run`, and the pull request.

The event comes from GitHub. Its `head_branch` is a name that a stranger chose, and goes into no
command.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from typing import Any

Json = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Run:
    """The run that measured. `pulls` are the open pull requests that the event names: of forks it
    names none. `branch` is `owner:branch` of the head.
    """

    repository: str
    address: str
    id: int
    attempt: int
    commit: str
    branch: str
    link: str
    pulls: tuple[Pull, ...]


@dataclasses.dataclass(frozen=True)
class Pull:
    """An open pull request: its number, its head and its base now."""

    number: int
    head: str
    base: str


def read(event: Any) -> Run:
    """The run that an event of the kind `workflow_run` is about.

    Raises:
        ValueError: it is another event, or a run that no pull request started.
    """
    try:
        return _read(event)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"is no event of the kind workflow_run: {error!r}") from None


def _read(event: Json) -> Run:
    run, repository = event["workflow_run"], event["repository"]
    if run["event"] != "pull_request":
        raise ValueError(f"the run was started by {run['event']!r}, not by a pull request")
    commit = str(run["head_sha"])
    if not re.fullmatch(r"[0-9a-f]{40}", commit):
        raise ValueError(f"workflow_run.head_sha: expects 40 hex digits, got {commit[:50]!r}")
    here = [p for p in run["pull_requests"] if p["base"]["repo"]["id"] == repository["id"]]
    return Run(
        repository=str(repository["full_name"]),
        address=str(repository["html_url"]),
        id=int(run["id"]),
        attempt=int(run["run_attempt"]),
        commit=commit,
        branch=f"{run['head_repository']['owner']['login']}:{run['head_branch']}",
        link=str(run["html_url"]),
        pulls=tuple(pull_of(p) for p in here),
    )


def pull_of(value: Json) -> Pull:
    """A pull request as GitHub describes it, in an event or in a list."""
    return Pull(int(value["number"]), str(value["head"]["sha"]), str(value["base"]["sha"]))


def choose(pulls: Iterable[Pull], commit: str, base: str) -> Pull | None:
    """The pull request that a result is about: its head is still the commit that was measured. Of
    several (the same branch, other targets), the one whose base was measured, else the oldest.
    None: there was another push since, or it was closed.
    """
    found = [pull for pull in pulls if pull.head == commit]
    return min(found, key=lambda pull: (pull.base != base, pull.number), default=None)
