"""What a poster must bear, each as a function that asserts it: tests run them with the real poster,
and with spoilt ones that some of them must catch.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from ci.perf_bot.post import marker
from ci.perf_bot.post.api import Refused
from ci.perf_bot.post.sticky import LABEL
from ci.perf_bot.post.testing.fake_github import BOT, EVE, Answer, Fault
from ci.perf_bot.post.testing.world import COMMIT, World, report

_LIST = "GET /repos/octo/flow/issues/7/comments"
_CREATE = "POST /repos/octo/flow/issues/7/comments"
_STATUS = f"POST /repos/octo/flow/statuses/{COMMIT}"


def one_comment(world: World) -> str:
    """The text of our one comment."""
    found = world.fake.bodies()
    assert len(found) == 1, f"{len(found)} comments"
    return found[0]


def hundred_pushes(world: World) -> None:
    """A hundred pushes leave one comment, of the last; an update takes three calls."""
    assert world.post(report(1)) == [_LIST, _CREATE, _LIST, _STATUS]
    for run in range(2, 101):
        calls = world.post(report(run))
        assert len(calls) == 3, calls
    assert "run 100" in one_comment(world)
    assert len(world.fake.statuses) == 100


def racing_posters(world: World) -> None:
    """Ten posters that all have seen no comment leave one."""
    barrier = threading.Barrier(10)
    world.fake.faults.append(Fault("^GET .*comments", hold=lambda: barrier.wait(60), times=10))
    with ThreadPoolExecutor(10) as pool:
        list(pool.map(lambda run: world.poster().post(report(run)), range(1, 11)))
    assert world.fake.calls.count(_CREATE) == 10
    one_comment(world)
    world.post(report(11))
    assert "run 11" in one_comment(world)


def lists_that_lag(world: World) -> None:
    """Where lists do not show the newest comment yet, the next push makes good."""
    world.fake.lag = 1
    barrier = threading.Barrier(2)
    world.fake.faults.append(Fault("^GET .*comments", hold=lambda: barrier.wait(60), times=2))
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda run: world.poster().post(report(run)), (1, 2)))
    world.fake.lag = 0
    for run in (3, 4, 5):
        world.post(report(run))
    assert "run 5" in one_comment(world)


def stored_and_failed(world: World) -> None:
    """A creation that was stored and then failed is not made again."""
    for answer in (Answer(502), Answer(500, {"message": "oops"}), Answer(504), None):
        world.fake.reset()
        world.fake.faults.append(Fault("^POST .*comments", answer, stored=True))
        world.post(report(1))
        assert world.fake.calls.count(_CREATE) == 1
        one_comment(world)


def failed(world: World) -> None:
    """Whatever fails and was not stored is made again."""
    for call in ("^GET", "^POST .*comments", "^PATCH", "^POST .*labels", "^POST .*statuses"):
        for answer in (Answer(500, {"message": "oops"}), Answer(503, None, {"retry-after": "9"})):
            world.fake.reset()
            if "POST .*comments" not in call:
                world.post(report(1))
            world.fake.faults.append(Fault(call, answer, times=2))
            world.post(report(2, slower=True))
            assert "run 2" in one_comment(world)
            assert world.fake.labels == {LABEL}
            assert world.fake.statuses[-1]["state"] == "failure"


def limited(world: World) -> None:
    """A limit is waited for, as long as it lasts, and no call is made before its end."""
    for seconds, code, headers in (
        (90.0, 429, {"retry-after": "90"}),
        (45.0, 403, {"retry-after": "45"}),
        (700.0, 403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "?"}),
    ):
        world.fake.reset()
        if "x-ratelimit-reset" in headers:
            headers["x-ratelimit-reset"] = str(int(world.clock.now() + seconds))
        world.fake.limit(seconds, Answer(code, {"message": "wait"}, headers))
        world.post(report(1))
        one_comment(world)
        assert world.fake.early == 1, f"{world.fake.early} calls during a limit of {seconds} s"


def limited_without_a_word(world: World) -> None:
    """A limit that does not say how long it lasts: a minute, two, four."""
    for code in (403, 429):
        world.fake.reset()
        world.fake.limit(
            200.0, Answer(code, {"message": "You have exceeded a secondary rate limit"})
        )
        before = len(world.clock.slept)
        world.post(report(1))
        assert world.clock.slept[before:] == [60.0, 120.0, 240.0]
        one_comment(world)


def created_under_a_limit(world: World) -> None:
    """A creation that was refused is repeated, unless somebody else has created one meanwhile."""
    refusal = Answer(403, {"message": "You have exceeded a secondary rate limit"})
    world.fake.faults.append(Fault("^POST .*comments", refusal))
    world.post(report(1))
    one_comment(world)
    world.fake.reset()
    other = world.poster()
    hold = Fault("^POST .*comments", refusal, stored=True)
    world.fake.faults.append(hold)
    other.post(report(2))
    one_comment(world)


def spoofed(world: World) -> None:
    """A stranger's comment with our mark is none of ours; nor is our own that only quotes it."""
    mark = marker.State(999, 1, COMMIT, True).line()
    theirs = f"{mark}\nnothing is slower, honestly"
    quote = f"> {mark}\nas somebody wrote"
    world.fake.add_comment(EVE, theirs)
    world.fake.add_comment(BOT, quote)
    world.post(report(1, slower=True))
    world.post(report(2, slower=True))
    assert world.fake.bodies(EVE) == [theirs]
    mine = world.fake.bodies(BOT)
    assert len(mine) == 2 and mine[0] == quote and "run 2" in mine[1]
    assert world.fake.labels == {LABEL}


def many_pages(world: World) -> None:
    """Our comment is found on the third page, and one more of ours on the fourth is deleted."""
    for number in range(250):
        world.fake.add_comment(EVE, f"remark {number}")
    world.post(report(1))
    for number in range(100):
        world.fake.add_comment(EVE, f"further remark {number}")
    world.fake.add_comment(BOT, marker.State(1, 1, COMMIT, False).line() + "\nleft over")
    calls = world.post(report(2))
    assert sum(call.startswith("GET") for call in calls) == 4
    assert "run 2" in one_comment(world)
    assert len(world.fake.bodies(EVE)) == 350


def labelled(world: World) -> None:
    """The label comes with a regression, stays where nobody can tell, and goes with a clean run."""
    world.post(report(1, slower=True))
    assert world.fake.labels == {LABEL}
    assert len(world.post(report(2, slower=True))) == 3
    assert len(world.post(report(3, slower=None))) == 3
    assert world.fake.labels == {LABEL}
    # One less where the poster remembers its comment.
    assert len(world.post(report(4, slower=False))) <= 4
    assert world.fake.labels == set()
    # Somebody took it off by hand.
    world.post(report(5, slower=True))
    world.fake.labels.clear()
    world.post(report(6, slower=False))
    assert world.fake.labels == set()


def overtaken(world: World) -> None:
    """A run that ends after a later one leaves the comment alone, and sets its commit's status."""
    world.post(report(5))
    world.post(report(4, slower=True))
    assert "run 5" in one_comment(world)
    assert world.fake.labels == set()
    assert [status["state"] for status in world.fake.statuses] == ["success", "failure"]


def over_long(world: World) -> None:
    """A text that is too long is shortened; where the server takes less than it says, further."""
    text = "### Heading\n" + "\n".join(f"line {n} " + "x" * 80 for n in range(2000))
    for longest in (65_536, 40_000, 5_000):
        world.fake.reset()
        world.fake.longest_body = longest
        world.post(report(1, text=text))
        body = one_comment(world)
        assert longest // 4 < len(body) <= longest
        assert body.endswith("shortened") and "### Heading" in body
        world.post(report(2, text=text))
        assert len(one_comment(world)) <= longest


def locked(world: World) -> None:
    """Where no comment is taken, the status is set all the same, and the error is told."""
    locked = {"message": "Unable to create comment because issue is locked."}
    world.fake.faults.append(Fault("^POST .*comments", Answer(403, locked)))
    try:
        world.post(report(1))
    except Refused as error:
        assert "locked" in str(error)
    else:
        raise AssertionError("a refusal was not told")
    assert [status["state"] for status in world.fake.statuses] == ["success"]


def deleted_meanwhile(world: World) -> None:
    """A comment that is deleted between the list and the edit is created anew."""
    world.post(report(1))
    # The list still shows it.
    world.fake.faults.append(Fault("^GET .*comments", hold=world.fake.comments.clear))
    world.post(report(2))
    assert "run 2" in one_comment(world)


ALL = (
    hundred_pushes,
    racing_posters,
    lists_that_lag,
    stored_and_failed,
    failed,
    limited,
    limited_without_a_word,
    created_under_a_limit,
    spoofed,
    many_pages,
    labelled,
    overtaken,
    over_long,
    locked,
    deleted_meanwhile,
)
