"""Posting against a GitHub on this machine, every call compared with GitHub's own description."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ci.perf_bot.post import marker, sticky
from ci.perf_bot.post.api import ApiError, Comment
from ci.perf_bot.post.memory import Memory
from ci.perf_bot.post.sticky import LABEL, Poster, Report, body_of
from ci.perf_bot.post.testing import scenarios
from ci.perf_bot.post.testing.fake_github import EVE
from ci.perf_bot.post.testing.world import COMMIT, World, report
from ci.perf_bot.post.tests.worlds import shared_world, world

__all__ = ["shared_world", "world"]
LIST = "GET /repos/octo/flow/issues/7/comments"
LABELS = "POST /repos/octo/flow/issues/7/labels"
EDIT = "PATCH /repos/octo/flow/issues/comments/1001"
STATUS = f"POST /repos/octo/flow/statuses/{COMMIT}"


@pytest.mark.parametrize("scenario", scenarios.ALL, ids=lambda scenario: scenario.__name__)
@pytest.mark.parametrize("remembers", [False, True])
def test_scenario(
    world: World, scenario: Callable[[World], None], remembers: bool, tmp_path: Path
) -> None:
    """Posters that know nothing of each other, and posters with a memory in common."""
    if remembers:
        world.memory = Memory(tmp_path / "memory.json", "here")
    scenario(world)


def test_a_label_that_changes_takes_three_calls(world: World, tmp_path: Path) -> None:
    world.memory = Memory(tmp_path / "memory.json", "here")
    world.post(report(1))
    assert world.post(report(2, slower=True)) == [LABELS, EDIT, STATUS]
    assert world.fake.labels == {LABEL}
    assert world.post(report(3, slower=True)) == [LIST, EDIT, STATUS]
    assert world.post(report(4)) == [f"DELETE {LABELS[5:]}/{LABEL}", EDIT, STATUS]
    assert world.fake.labels == set() and "run 4" in scenarios.one_comment(world)
    # A run that was overtaken changes nothing.
    assert world.post(report(3, slower=True)) == [LIST, STATUS]
    assert world.fake.labels == set() and "run 4" in scenarios.one_comment(world)


def test_a_memory_that_is_wrong_does_no_harm(world: World, tmp_path: Path) -> None:
    memory = world.memory = Memory(tmp_path / "memory.json", "here")
    theirs = world.fake.add_comment(EVE, "a remark")
    for run, number in ((10, theirs), (20, 999)):
        world.fake.labels.clear()
        memory.keep(7, number, marker.State(1, 1, "a" * 40, False))
        world.post(report(run, slower=True))
        assert f"run {run}" in scenarios.one_comment(world)
        assert world.fake.bodies(EVE) == ["a remark"] and world.fake.labels == {LABEL}
    (tmp_path / "memory.json").write_text('{"here#7": [1')
    world.post(report(30))
    assert "run 30" in scenarios.one_comment(world) and world.fake.labels == set()


class RepeatsBlindly(Poster):
    """Planted: creates again without a look whether the last creation was stored."""

    def _create(self, report: Report, state: marker.State) -> list[Comment]:
        make = lambda: self._github.create(report.pull, body_of(report, state))  # noqa: E731
        return [self._patience.call(make)]


class KeepsItsOwn(Poster):
    """Planted: does not list again after it has created."""

    def _create(self, report: Report, state: marker.State) -> list[Comment]:
        return [self._github.create(report.pull, body_of(report, state))]


class ReadsOnePage(Poster):
    """Planted: takes the first page for all of them."""

    def _ours(self, pull: int) -> list[Comment]:
        return marker.ours(self._github.comments(pull, 1).comments, self._author)


class Hurries(Poster):
    """Planted: tries again every ten seconds, whatever the server says."""

    def _ours(self, pull: int) -> list[Comment]:
        self._patience.wait = lambda error, tries: self._patience._clock.sleep(10.0)  # type: ignore[method-assign]
        return super()._ours(pull)


def by_mark_alone(comments: list[Comment], author: str) -> list[Comment]:
    """Planted: trusts the mark, whoever wrote it."""
    return sorted((c for c in comments if c.body.startswith(marker.PREFIX)), key=lambda c: c.id)


def by_author_alone(comments: list[Comment], author: str) -> list[Comment]:
    """Planted: takes all of our comments for the report."""
    return sorted((c for c in comments if c.author == author), key=lambda c: c.id)


FAULTS = [
    (RepeatsBlindly, scenarios.stored_and_failed),
    (KeepsItsOwn, scenarios.racing_posters),
    (ReadsOnePage, scenarios.many_pages),
    (Hurries, scenarios.limited),
    (Hurries, scenarios.limited_without_a_word),
]


@pytest.mark.parametrize(("poster", "scenario"), FAULTS)
def test_catches_a_planted_fault(
    world: World, poster: type[Poster], scenario: Callable[[World], None]
) -> None:
    world.make_poster = poster
    with pytest.raises(AssertionError):
        scenario(world)


@pytest.mark.parametrize("choice", [by_mark_alone, by_author_alone])
def test_catches_a_planted_choice_of_comments(
    world: World, choice: Callable[..., list[Comment]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sticky.marker, "ours", choice)
    with pytest.raises((AssertionError, ApiError)):
        scenarios.spoofed(world)


def test_the_proxy_refuses_what_github_does_not_describe(world: World) -> None:
    """A positive control: what the descriptions forbid does not get through."""
    client = world.client()
    with pytest.raises(ApiError, match="422"):
        client._call("POST", f"{client._path}/issues/7/comments", json={"text": "x"})
    with pytest.raises(ApiError, match="422"):
        client.status("a" * 40, "slow", "no such state", "")
    with pytest.raises(ApiError):
        client._call("GET", f"{client._path}/issues/7/remarks")
    world.fake.add_comment("eve", "x")
    next(iter(world.fake.comments.values())).pop("created_at")
    with pytest.raises(ApiError, match="500"):
        client.comments(7, 1)
    broken = world.prism.take_broken()
    words = ["UNPROCESSABLE_ENTITY", "UNPROCESSABLE_ENTITY", "NO_PATH_MATCHED", "VIOLATIONS"]
    assert len(broken) == 4 and all(w in text for w, text in zip(words, broken)), broken
    assert world.fake.calls == ["GET /repos/octo/flow/issues/7/comments"]


def test_a_poster_that_cannot_find_its_comments_takes_them_back(world: World) -> None:
    with pytest.raises(ApiError, match="expects a token that comments as 'someone-else'"):
        world.poster(author="someone-else").post(report())
    assert world.fake.comments == {}
