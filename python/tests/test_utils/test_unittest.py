"""oneflow.unittest and test_util."""

from __future__ import annotations

import unittest
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support import must_fail

import oneflow as flow
from oneflow.test_utils import test_util


@pytest.mark.parametrize(
    ("nodes", "devices", "name"),
    [
        (1, 1, "skip_unless_1n1d"),
        (1, 2, "skip_unless_1n2d"),
        (1, 4, "skip_unless_1n4d"),
        (2, 1, "skip_unless_2n1d"),
        (2, 2, "skip_unless_2n2d"),
        (2, 4, "skip_unless_2n4d"),
    ],
)
def test_tests_are_skipped_by_hosts_and_devices(
    monkeypatch: pytest.MonkeyPatch, nodes: int, devices: int, name: str
) -> None:
    def method(self: Any) -> None:
        """Does nothing."""

    def skipped() -> bool:
        case = type(
            "Case", (flow.unittest.TestCase,), {"test": getattr(flow.unittest, name)()(method)}
        )
        result = unittest.TestResult()
        case("test").run(result)
        return len(result.skipped) == 1

    monkeypatch.setenv("ONEFLOW_TEST_NODE_NUM", str(nodes))
    monkeypatch.setenv("ONEFLOW_TEST_DEVICE_NUM", str(devices))
    assert not skipped()
    monkeypatch.setenv("ONEFLOW_TEST_DEVICE_NUM", "3")
    assert skipped()


def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    env = flow.unittest.env
    assert not env.eager_execution_enabled()
    assert (env.node_size(), env.device_num(), env.world_size()) == (1, 1, 1)
    with pytest.raises(RuntimeError, match="ONEFLOW_TEST_NODE_LIST"):
        env.node_list()
    monkeypatch.setenv("ONEFLOW_TEST_NODE_LIST", "a,b")
    assert env.node_list() == ["a", "b"]
    assert env.node_size() == 2
    assert env.has_node_list()
    assert env.has_world_size()
    monkeypatch.setenv("ONEFLOW_TEST_ENABLE_EAGER", "1")
    assert env.eager_execution_enabled()


def test_cases_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import oneflow as flow\n"
        "def test_one(self): self.assertEqual(1, 1)\n"
        "@flow.unittest.num_nodes_required(2)\n"
        "def test_two(self): self.fail('two hosts')\n"
    )
    scope: dict[str, Any] = {}
    flow.unittest.register_test_cases(scope, tmp_path, lambda hosts: hosts == 1)
    assert not hasattr(scope["test_it"], "test_two")
    result = unittest.TestResult()
    scope["test_it"]("test_one").run(result)
    assert result.wasSuccessful()


def test_combinations(monkeypatch: pytest.MonkeyPatch) -> None:
    choices: dict[str, list[Any]] = {"device": ["cpu", "cuda"], "shape": [(1,), (2,)]}
    assert len(list(test_util.GenArgList(choices))) == 4
    monkeypatch.setenv("ONEFLOW_TEST_CPU_ONLY", "1")
    assert test_util.GenArgDict(choices) == [
        {"device": "cpu", "shape": (1,)},
        {"device": "cpu", "shape": (2,)},
    ]
    with pytest.raises(TypeError, match="list of choices for x"):
        test_util.GenArgList({"x": 1})  # type: ignore[dict-item]


def test_indices() -> None:
    for flat in range(24):
        place = test_util.Index2Coordinate(flat, (2, 3, 4))
        assert test_util.Coordinate2Index(place, (2, 3, 4)) == flat
    with pytest.raises(ValueError, match="expects 2 indices, got 1"):
        test_util.Coordinate2Index([1], (2, 3))
    assert test_util.FlattenArray([[1, 2], [3, 4]]) == [1, 2, 3, 4]
    assert test_util.Array2Numpy([1, 2, 3, 4], (2, 2)).tolist() == [[1, 2], [3, 4]]
    assert test_util.type_name_to_flow_type["double"] == flow.float64
    assert test_util.type_name_to_np_type["double"] is np.float64
    assert repr(test_util.Args([1])) == "flow_args=[1] tf_args=[1]"


def test_control(monkeypatch: pytest.MonkeyPatch) -> None:
    """A decorator that skips nothing; indices that count from the wrong end."""
    monkeypatch.setattr(flow.unittest, "skip_unless_1n1d", lambda: lambda method: method)
    must_fail(test_tests_are_skipped_by_hosts_and_devices, monkeypatch, 1, 1, "skip_unless_1n1d")
    right = test_util.Index2Coordinate
    monkeypatch.setattr(test_util, "Index2Coordinate", lambda i, shape: right(i, shape)[::-1])
    with pytest.raises((AssertionError, ValueError)):
        test_indices()
