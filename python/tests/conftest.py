"""What every Python test starts from."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import oneflow as flow


@pytest.fixture(autouse=True)
def same_start() -> Iterator[None]:
    """A fixed seed; and the test must leave recording on, as it found it."""
    flow.manual_seed(0)
    yield
    assert flow.is_grad_enabled()
