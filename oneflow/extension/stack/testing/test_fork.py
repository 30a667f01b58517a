"""Forks. Apart, as the address sanitizer's allocator does not survive one beside threads."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import stack_testing as st
from stack_helpers import last


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    """Installs the recorder; a second time does nothing."""
    st.install()
    yield


def _child_captures(before: int) -> str:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            frames = last(before), last(st.capture())
            os.write(write, " ".join(frame[1] for frame in frames).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    text = os.read(read, 1000).decode()
    os.close(read)
    assert os.waitpid(child, 0)[1] == 0
    return text


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_fork() -> None:
    """A child captures and resolves, old and new stacks."""
    assert _child_captures(st.capture()) == "test_fork _child_captures"


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_fork_while_a_thread_resolves() -> None:
    """The child does not inherit a lock that its missing thread held."""
    stack = st.capture()
    st.start_resolving(stack)
    try:
        for _ in range(50):
            seen = _child_captures(stack)
            assert seen == "test_fork_while_a_thread_resolves _child_captures"
    finally:
        st.stop_resolving()
