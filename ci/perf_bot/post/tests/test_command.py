"""The command `post`, from the files of a workflow to what GitHub holds afterwards."""

from __future__ import annotations

import dataclasses
import io
import json
import logging
import re
from pathlib import Path
from typing import Any

import pytest

from ci.perf_bot import history
from ci.perf_bot.post import command
from ci.perf_bot.post.api import ApiError
from ci.perf_bot.post.client import GitHubClient
from ci.perf_bot.post.patience import LONGEST
from ci.perf_bot.post.sticky import LABEL
from ci.perf_bot.post.testing import sample
from ci.perf_bot.post.testing.events import workflow_run
from ci.perf_bot.post.testing.fake_clock import FakeClock
from ci.perf_bot.post.testing.fake_github import BOT_TOKEN, EVE_TOKEN, Answer, Fault
from ci.perf_bot.post.testing.world import World
from ci.perf_bot.post.tests.test_untrusted import hostile_result
from ci.perf_bot.post.tests.worlds import shared_world, world

__all__ = ["shared_world", "world"]
HEAD = "a" * 40
BY_HAND = ("--repository=octo/flow", "--pull=7", f"--commit={HEAD}")


def files(folder: Path, result: Any, event: Any = None) -> list[str]:
    """The command's words for a result, and for an event of GitHub unless it is None."""
    (folder / "result.json").write_bytes(sample.text(result))
    words = [f"--result={folder}/result.json"]
    if event:
        (folder / "event.json").write_text(json.dumps(event))
        words.append(f"--event={folder}/event.json")
    return words


def test_posts_on_a_pull_request_of_the_repository(world: World, tmp_path: Path) -> None:
    words = files(tmp_path, sample.result(), workflow_run(pulls=[(7, HEAD)]))
    assert world.command(*words)[0] == command.POSTED
    (body,) = world.fake.bodies()
    assert body.splitlines()[0].startswith("<!-- oneflow-perf-bot ") and '"run":17' in body
    assert "ResNet-50, 16" in body
    assert f"(https://github.com/octo/flow/commit/{HEAD})" in body
    assert "[the run](https://github.com/octo/flow/actions/runs/17)" in body
    assert "`git fetch https://github.com/octo/flow pull/7/head`" in body
    assert world.fake.statuses == [
        {
            "sha": HEAD, "state": "success", "description": "no regression found",
            "context": "perf-bot",
            "target_url": "https://github.com/octo/flow/actions/runs/17",
        }
    ]  # fmt: skip
    before = len(world.fake.calls)
    assert world.command(*words)[0] == command.POSTED
    assert len(world.fake.calls) - before == 2, "nothing is edited that is the same"


def test_finds_the_pull_request_of_a_fork(world: World, tmp_path: Path) -> None:
    world.fake.add_pull(6, "c" * 40, sample.BASE)
    world.fake.add_pull(7, HEAD, sample.BASE)
    words = files(tmp_path, sample.result(slower=True), workflow_run())
    assert world.command(*words)[0] == command.POSTED
    assert len(world.fake.bodies()) == 1 and world.fake.labels == {LABEL}
    assert world.fake.statuses[0]["state"] == "failure"
    assert world.fake.statuses[0]["description"] == "slower, or more memory: resnet50_b16 time"


@pytest.mark.parametrize("pulls", [[], [(7, "c" * 40)]])
def test_a_run_that_was_overtaken_sets_its_status_only(
    world: World, tmp_path: Path, pulls: list[tuple[int, str]]
) -> None:
    words = files(tmp_path, sample.result(), workflow_run(pulls=pulls))
    status, _, log = world.command(*words)
    assert status == command.POSTED and "no open pull request has the head" in log
    assert world.fake.comments == {} and len(world.fake.statuses) == 1


def test_a_result_of_another_commit_is_refused(world: World, tmp_path: Path) -> None:
    event = workflow_run(commit="c" * 40, pulls=[(7, "c" * 40)])
    status, _, log = world.command(*files(tmp_path, sample.result(slower=True), event))
    assert status == command.BAD_RESULT and "result.head.commit" in log
    assert world.fake.comments == {} and world.fake.labels == set()
    assert [(s["sha"], s["state"]) for s in world.fake.statuses] == [("c" * 40, "error")]


def test_a_result_that_is_none_or_missing(world: World, tmp_path: Path) -> None:
    words = files(tmp_path, {"rows": "::set-output name=x::y\n::error::"}, workflow_run())
    status, _, log = world.command(*words)
    assert status == command.BAD_RESULT
    assert all(line.startswith("perf_bot post: ") for line in log.splitlines())
    (tmp_path / "result.json").unlink()
    assert world.command(*words)[0] == command.NO_RESULT
    states = [(s["state"], s["description"][:24]) for s in world.fake.statuses]
    assert states == [("error", "the result is refused: r"), ("error", "the run left no result")]
    assert world.fake.comments == {}


def test_a_hostile_result_arrives_harmless(world: World, tmp_path: Path) -> None:
    words = files(tmp_path, hostile_result(), workflow_run(pulls=[(7, HEAD)]))
    assert world.command(*words)[0] == command.POSTED
    (body,) = world.fake.bodies()
    assert body.count("<!--") == 1 and "@somebody" not in body and "](https://evil" not in body
    assert world.command(*words)[0] == command.POSTED
    assert len(world.fake.bodies()) == 1


def test_by_hand_with_history(world: World, tmp_path: Path) -> None:
    (tmp_path / "history").mkdir()
    words = files(tmp_path, sample.result())
    assert world.command(*words, *BY_HAND, f"--history={tmp_path}/history")[0] == command.POSTED
    assert "▁" not in world.fake.bodies()[0]
    entry = history.entry_of(sample.result(head=sample.BASE) | {"base": sample.result()["head"]})
    (tmp_path / "history/history.jsonl").write_text(json.dumps(entry) + "\n")
    event = workflow_run(pulls=[(7, HEAD)])
    slower = files(tmp_path, sample.result(slower=True), event)
    assert world.command(*slower, f"--history={tmp_path}/history")[0] == command.POSTED
    assert "▁" in world.fake.bodies()[0]
    (tmp_path / "history/history.jsonl").write_text("[]\n")
    status, _, log = world.command(*words, *BY_HAND, f"--history={tmp_path}/history")
    assert status == command.POSTED and "without a history: " in log
    assert len(world.fake.bodies()) == 1


def test_a_dry_run_writes_nothing(world: World, tmp_path: Path) -> None:
    words = files(tmp_path, sample.result(slower=True), workflow_run(pulls=[(7, HEAD)]))
    status, out, _ = world.command(*words, "--dry-run")
    assert status == command.POSTED
    assert "would create a comment on pull request 7" in out and "ResNet-50, 16" in out
    assert f"would add label {LABEL}" in out and "would set the status" in out
    assert {call.split()[0] for call in world.fake.calls} == {"GET"}
    assert world.command(*words)[0] == command.POSTED
    before = len(world.fake.calls)
    changed = files(tmp_path, sample.result(), workflow_run(pulls=[(7, HEAD)], run=18))
    _, out, _ = world.command(*changed, "--dry-run")
    assert "would edit comment" in out and f"would remove label {LABEL}" in out
    assert len(world.fake.calls) == before + 1
    # Without a token it reads nothing either.
    status, out, _ = world.command(*words, "--dry-run", token="")
    assert status == command.POSTED and "would create a comment" in out
    assert len(world.fake.calls) == before + 1


def test_nothing_that_is_printed_is_a_command_to_the_runner(tmp_path: Path) -> None:
    out, error = io.StringIO(), io.StringIO()
    session = command.Session({"GITHUB_TOKEN": BOT_TOKEN}, out, error, FakeClock())
    hostile = f"x\n::error::y\n  ::stop-commands::{BOT_TOKEN}\nz ##[add-mask]x\r\n"
    session.tell(hostile)
    session.log(hostile)
    printed = out.getvalue() + error.getvalue()
    assert not re.search(r"(?m)^\s*::|##\[", printed)
    assert BOT_TOKEN not in printed and error.getvalue().count("\n") == 1


@pytest.mark.parametrize(
    "more",
    [
        (),
        BY_HAND[:2],
        (*BY_HAND[:2], "--commit=HEAD"),
        (*BY_HAND, "--event=x"),
        ("--repository=octo", *BY_HAND[1:]),
        ("--event=/dev/null",),
    ],
)
def test_usage(world: World, tmp_path: Path, more: tuple[str, ...]) -> None:
    status, _, log = world.command(*files(tmp_path, sample.result()), *more)
    assert status == command.USAGE and "expects" in log or "no event" in log or "Expecting" in log
    assert world.fake.calls == []


@pytest.mark.parametrize("token", ["", "two\nlines", "ghs_1\r\nx-evil: 1", "übel"])
def test_a_token_that_is_none(world: World, tmp_path: Path, token: str) -> None:
    status, _, log = world.command(*files(tmp_path, sample.result()), *BY_HAND, token=token)
    assert status == command.USAGE and "expects a token" in log
    assert not token or token not in log


TOO_LONG = {"message": "Body is too long", "documentation_url": "https://github.example/d"}
TROUBLE = [
    Fault("", Answer(401, {"message": f"Bad credentials {BOT_TOKEN}"}), times=99),
    Fault("", Answer(403, {"message": "Resource not accessible by integration"}), times=99),
    Fault("", Answer(500, {"message": BOT_TOKEN}), times=99),
    Fault("", Answer(429, {"message": BOT_TOKEN}, {"retry-after": "100000"}), times=99),
    Fault("", Answer(429, None, {"retry-after": "Fri, 15 Jan 2027 09:00:00 GMT"}), times=99),
    Fault("", Answer(422, {"message": "x", "errors": [{"message": BOT_TOKEN}, "y"]}), times=99),
    # Without the place: Prism would go there itself.
    Fault("", Answer(301, {"message": "Moved", "url": "x"}), times=99),
    Fault("^POST .*comments", Answer(422, TOO_LONG), times=99),
    Fault("", None, times=99),
]


@pytest.mark.parametrize("trouble", TROUBLE, ids=lambda fault: repr(fault.answer)[:40])
def test_trouble_ends_in_time_and_tells_no_token(
    world: World,
    tmp_path: Path,
    trouble: Fault,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    world.fake.faults.append(dataclasses.replace(trouble))
    before = world.clock.now()
    status, out, log = world.command(*files(tmp_path, sample.result()), *BY_HAND)
    assert status == command.FAILED and log
    assert world.clock.now() - before <= LONGEST
    assert len(world.fake.calls) < 20
    assert BOT_TOKEN not in out + log + caplog.text


def test_no_exception_holds_the_token(world: World) -> None:
    """Nor what it hangs on to: a log of local variables would show them."""
    world.fake.faults.append(Fault("", Answer(500, {"message": BOT_TOKEN}), times=9))
    client = world.client()
    with pytest.raises(ApiError) as raised:
        client.comments(7, 1)
    assert raised.value.__context__ is None and raised.value.__cause__ is None
    assert BOT_TOKEN not in str(raised.value) + repr(raised.value) + repr(client)
    with pytest.raises(ApiError) as raised:
        GitHubClient(EVE_TOKEN, "octo/flow", FakeClock(), "http://127.0.0.1:9").comments(7, 1)
    assert raised.value.__context__ is None and EVE_TOKEN not in repr(raised.value)


def test_an_unexpected_failure_tells_no_token(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any) -> None:
        raise RuntimeError(f"::error::\n{BOT_TOKEN}")

    monkeypatch.setattr(command, "render", fail)
    status, _, log = world.command(*files(tmp_path, sample.result()), *BY_HAND)
    assert status == command.FAILED and "RuntimeError" in log and BOT_TOKEN not in log
    assert all(line.startswith("perf_bot post: ") for line in log.splitlines())
