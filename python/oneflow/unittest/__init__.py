"""What users build their tests on: TestCase, and decorators by number of hosts and devices.

The environment says where a test runs: ONEFLOW_TEST_NODE_NUM (hosts; default 1) and
ONEFLOW_TEST_DEVICE_NUM (devices of each; default 1).
"""

from __future__ import annotations

import importlib.util
import os
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from oneflow.unittest import env

__all__ = ["TestCase", "env", "num_nodes_required", "register_test_cases", "skip_unless_1n1d",
           "skip_unless_1n2d", "skip_unless_1n4d", "skip_unless_2n1d", "skip_unless_2n2d",
           "skip_unless_2n4d"]  # fmt: skip

T = TypeVar("T")
_REQUIRED = "__oneflow_test_case_num_nodes_required__"


class TestCase(unittest.TestCase):
    """unittest's TestCase.

    >>> TestCase().assertEqual(1, 1)
    """


def _skip_unless(nodes: int, devices: int) -> Callable[[T], T]:
    runs = (env.node_size(), env.device_num()) == (nodes, devices)
    mark: Any = unittest.skipUnless(runs, f"expects {nodes} hosts with {devices} devices each")
    return lambda test: mark(test)


def skip_unless_1n1d() -> Callable[[T], T]:
    """Skips a test that is not run with one host and one device.

    >>> @skip_unless_1n1d()
    ... def test(self):
    ...     pass
    """
    return _skip_unless(1, 1)


def skip_unless_1n2d() -> Callable[[T], T]:
    """Skips a test that is not run with one host and two devices.

    >>> @skip_unless_1n2d()
    ... def test(self):
    ...     pass
    """
    return _skip_unless(1, 2)


def skip_unless_1n4d() -> Callable[[T], T]:
    """Skips a test that is not run with one host and four devices.

    >>> @skip_unless_1n4d()
    ... def test(self):
    ...     pass
    """
    return _skip_unless(1, 4)


def skip_unless_2n1d() -> Callable[[T], T]:
    """Skips a test that is not run with two hosts and one device each.

    >>> @skip_unless_2n1d()
    ... def test(self):
    ...     pass
    """
    return _skip_unless(2, 1)


def skip_unless_2n2d() -> Callable[[T], T]:
    """Skips a test that is not run with two hosts and two devices each.

    >>> @skip_unless_2n2d()
    ... def test(self):
    ...     pass
    """
    return _skip_unless(2, 2)


def skip_unless_2n4d() -> Callable[[T], T]:
    """Skips a test that is not run with two hosts and four devices each.

    >>> @skip_unless_2n4d()
    ... def test(self):
    ...     pass
    """
    return _skip_unless(2, 4)


def num_nodes_required(num_nodes: int) -> Callable[[T], T]:
    """Marks a test function with the number of hosts that it needs.

    >>> @num_nodes_required(2)
    ... def test(self):
    ...     pass
    """

    def mark(function: T) -> T:
        setattr(function, _REQUIRED, num_nodes)
        return function

    return mark


def register_test_cases(
    scope: dict[str, Any],
    directory: str | os.PathLike[str],
    filter_by_num_nodes: Callable[[int], bool],
    base_class: type[unittest.TestCase] = unittest.TestCase,
) -> None:
    """Makes a TestCase in `scope` of the test functions of each `test*.py` in a folder.

    >>> import tempfile
    >>> register_test_cases({}, tempfile.mkdtemp(), lambda hosts: hosts == 1)
    """
    for path in sorted(Path(directory).glob("test*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        if spec is None or spec.loader is None:
            raise ImportError(f"[register_test_cases] expects a Python file, got {path}")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        methods = {
            name: item
            for name, item in vars(module).items()
            if name.startswith("test")
            and callable(item)
            and filter_by_num_nodes(getattr(item, _REQUIRED, 1))
        }
        scope[path.stem] = type(path.stem, (base_class,), methods)
