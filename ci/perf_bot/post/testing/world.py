"""Everything that a test of posting needs: the fake GitHub, Prism before it, a clock, a log."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path

from ci.perf_bot.post.client import GitHubClient
from ci.perf_bot.post.command import Session, run
from ci.perf_bot.post.memory import Memory
from ci.perf_bot.post.patience import Patience
from ci.perf_bot.post.sticky import Poster, Report
from ci.perf_bot.post.testing.fake_clock import FakeClock
from ci.perf_bot.post.testing.fake_github import BOT, BOT_TOKEN, REPOSITORY, FakeGitHub, Server
from ci.perf_bot.post.testing.prism import Prism
from ci.perf_bot.post.testing.trim_openapi import prefix_of

PULL = 7
COMMIT = "a" * 40
LINK = f"https://github.com/{REPOSITORY}/actions/runs/17"

MakePoster = Callable[..., Poster]


@dataclasses.dataclass
class World:
    """One fake GitHub and the way to it. `log` has every line that posters logged; `memory` is what
    posters share, nothing unless a test gives them a file.
    """

    fake: FakeGitHub
    clock: FakeClock
    address: str
    prism: Prism
    make_poster: MakePoster = Poster
    memory: Memory = dataclasses.field(default_factory=Memory)
    log: list[str] = dataclasses.field(default_factory=list)

    def client(self, token: str = BOT_TOKEN) -> GitHubClient:
        """A client of its own."""
        return GitHubClient(token, REPOSITORY, self.clock, self.address)

    def poster(self, token: str = BOT_TOKEN, author: str = BOT) -> Poster:
        """A poster with a client of its own."""
        patience = Patience(self.clock, log=self.log.append)
        return self.make_poster(self.client(token), author, patience, self.log.append, self.memory)

    def post(self, report: Report) -> list[str]:
        """Posts; returns the calls that this took."""
        before = len(self.fake.calls)
        self.poster().post(report)
        return self.fake.calls[before:]

    def command(self, *words: str, token: str = BOT_TOKEN) -> tuple[int, str, str]:
        """Runs the command `post`; its status, and what it printed."""
        environment = {"GITHUB_API_URL": self.address} | ({"GITHUB_TOKEN": token} if token else {})
        out, error = io.StringIO(), io.StringIO()
        status = run(words, Session(environment, out, error, self.clock))
        return status, out.getvalue(), error.getvalue()


@contextlib.contextmanager
def open_world(description: Path) -> Iterator[World]:
    """A world whose calls are compared with a description, trimmed by `trim_openapi`."""
    described = json.loads(description.read_text())
    prefix = prefix_of(described)
    clock = FakeClock()
    fake = FakeGitHub(described, clock, prefix)
    with Server(fake) as server, Prism(description, server.address) as prism:
        yield World(fake, clock, prism.address + prefix, prism)


def report(
    run: int = 1, slower: bool | None = False, text: str = "", commit: str = COMMIT
) -> Report:
    """A report of one run."""
    return Report(
        pull=PULL,
        commit=commit,
        run=run,
        attempt=1,
        text=text or f"### The report of run {run}\n",
        notice="shortened\n",
        regressed=slower,
        state="failure" if slower else "success",
        description="no regression found",
        link=LINK,
    )
