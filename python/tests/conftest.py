"""What every Python test starts from."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import oneflow as flow

# Targets of BUILD.bazel run some suites again with every op queued, or a random mix of both ways.
if "ONEFLOW_TEST_VM_MODE" in os.environ:
    flow._oneflow_internal.set_vm_mode(os.environ["ONEFLOW_TEST_VM_MODE"])


@pytest.fixture(autouse=True)
def same_start() -> Iterator[None]:
    """A fixed seed; and the test must leave recording on, as it found it."""
    flow.manual_seed(0)
    yield
    assert flow.is_grad_enabled()
