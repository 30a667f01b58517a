"""The fixture `world`, for the tests that talk to the fake GitHub."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ci.perf_bot.post.memory import Memory
from ci.perf_bot.post.sticky import Poster
from ci.perf_bot.post.testing.world import World, open_world

DESCRIPTIONS = ("ONEFLOW_API", "ONEFLOW_GHES")


@pytest.fixture(scope="module", params=DESCRIPTIONS)
def shared_world(request: pytest.FixtureRequest) -> Iterator[World]:
    """github.com, then an Enterprise Server."""
    with open_world(Path(os.environ[request.param])) as made:
        yield made


@pytest.fixture
def world(shared_world: World) -> Iterator[World]:
    """A world in which nothing has happened; no call of the test may break the description."""
    shared_world.fake.reset()
    shared_world.make_poster = Poster
    shared_world.memory = Memory()
    yield shared_world
    assert shared_world.prism.take_broken() == []
