"""The event that says which run measured, and the choice of the pull request."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ci.perf_bot.post import event
from ci.perf_bot.post.event import Pull, choose
from ci.perf_bot.post.testing.events import workflow_run

HEAD, OTHER, BASE = "a" * 40, "c" * 40, "b" * 40


def test_reads_an_event() -> None:
    run = event.read(workflow_run(pulls=[(7, HEAD)]))
    assert (run.repository, run.address) == ("octo/flow", "https://github.com/octo/flow")
    assert (run.id, run.attempt, run.commit) == (17, 2, HEAD)
    assert run.branch == "eve:faster; $(reboot)"
    assert run.pulls == (Pull(7, HEAD, BASE),)


def test_pull_requests_of_other_repositories_do_not_count() -> None:
    made = workflow_run(pulls=[(7, HEAD), (8, HEAD)])
    made["workflow_run"]["pull_requests"][0]["base"]["repo"]["id"] = 99
    assert [pull.number for pull in event.read(made).pulls] == [8]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("workflow_run",), None),
        (("workflow_run", "event"), "push"),
        (("workflow_run", "head_sha"), "HEAD"),
        (("workflow_run", "head_repository"), None),
        (("workflow_run", "id"), "x"),
        (("repository",), []),
    ],
)
def test_refuses_another_event(path: tuple[str, ...], value: Any) -> None:
    made = copy.deepcopy(workflow_run())
    place = made
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(ValueError):
        event.read(made)


@pytest.mark.parametrize("value", [None, [], "x", {}, {"action": "completed"}])
def test_refuses_what_is_no_event(value: Any) -> None:
    with pytest.raises(ValueError, match="no event of the kind workflow_run"):
        event.read(value)


def test_chooses_the_pull_request_whose_head_was_measured() -> None:
    moved, first, second = Pull(3, OTHER, BASE), Pull(4, HEAD, OTHER), Pull(5, HEAD, BASE)
    assert choose([], HEAD, BASE) is None
    assert choose([moved], HEAD, BASE) is None
    assert choose([moved, first, second], HEAD, BASE) == second
    assert choose([second, first], HEAD, HEAD) == first
