"""Every example in a docstring runs, and every public function and class has one."""

from __future__ import annotations

import builtins
import doctest
import importlib
import inspect
import pkgutil
import types
from collections.abc import Iterator
from typing import Any

import pytest

import oneflow as flow

FLAGS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


# The extension; and what compares with PyTorch, which need not be installed: its own tests, in
# test_utils/, give it a stand-in.
NOT_IMPORTED = ("oneflow._oneflow_internal", "oneflow.test_utils.automated_test_util")


def modules() -> list[str]:
    """Every module of the package that is written in Python."""
    found = ["oneflow"]
    for info in pkgutil.walk_packages(flow.__path__, "oneflow."):
        if not info.name.startswith(NOT_IMPORTED):
            found.append(info.name)
    return sorted(found)


def run_examples(name: str) -> tuple[int, str]:
    """(number of examples, report of those that failed) of one module."""
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner(verbose=False, optionflags=FLAGS)
    report: list[str] = []
    count = 0
    # What examples take for granted; `float` and the like are not the dtypes of the package's root.
    names = {**vars(builtins), "flow": flow, "oneflow": flow}
    for test in doctest.DocTestFinder().find(module, name, extraglobs=names):
        count += len(test.examples)
        flow.manual_seed(0)
        runner.run(test, out=report.append)
    return count, "".join(report)


@pytest.mark.parametrize("name", modules())
def test_examples_run(name: str) -> None:
    _, report = run_examples(name)
    assert not report, report


def test_there_are_examples() -> None:
    assert len(modules()) > 30
    assert sum(run_examples(name)[0] for name in modules()) > 200


def public_things(name: str) -> Iterator[tuple[str, Any]]:
    """The functions and classes that a module defines and whose names say that they are public."""
    module = importlib.import_module(name)
    if any(part.startswith("_") for part in name.split(".")):
        return
    for key, value in vars(module).items():
        own = getattr(value, "__module__", None) == name and key not in vars(flow._oneflow_internal)
        if own and not key.startswith("_") and inspect.isroutine(value) | inspect.isclass(value):
            yield f"{name}.{key}", value


# Helpers of the package itself, what Tensor and the exit hook call by themselves, and what stands
# in for the parts of a module while a graph is built.
WITHOUT_EXAMPLE = {
    "oneflow.framework.creation.like",
    "oneflow.framework.creation.placed",
    "oneflow.framework.creation.sizes_of",
    "oneflow.framework.creation.with_grad",
    "oneflow.framework.generator.checked_seed",
    "oneflow.framework.global_tensor.as_sbps",
    "oneflow.framework.global_tensor.check_one_rank",
    "oneflow.framework.global_tensor.made_global",
    "oneflow.framework.serialization.CheckpointError",
    "oneflow.framework.tensor.deepcopy",
    "oneflow.framework.tensor.format_",
    "oneflow.framework.tensor.rebuild",
    "oneflow.framework.tensor.reduce_",
    "oneflow.framework.tensor.register_methods",
    "oneflow.framework.tensor_more.is_lazy",
    "oneflow.framework.tensor_more.setstate",
    "oneflow.framework.tensor_str.PrintOptions",
    "oneflow.nn.graph.optimizer.Step",
    "oneflow.nn.graph.optimizer.check_parameters",
    "oneflow.nn.graph.optimizer.state_names",
    "oneflow.nn.graph.proxy.ProxyModule",
    "oneflow.nn.graph.proxy.ProxyModuleDict",
    "oneflow.nn.graph.proxy.ProxyModuleList",
    "oneflow.nn.graph.proxy.ProxyParameterDict",
    "oneflow.nn.graph.proxy.ProxyParameterList",
    "oneflow.nn.graph.proxy.ProxySequential",
    "oneflow.nn.graph.proxy.ProxyTensor",
    "oneflow.utils.hooks.HookDict",
}


def missing_examples(names: list[str]) -> list[str]:
    """The public things without a docstring, or with one that shows no example."""
    found = []
    for name in names:
        for path, value in public_things(name):
            if path not in WITHOUT_EXAMPLE and ">>>" not in (inspect.getdoc(value) or ""):
                found.append(path)
    return found


def test_public_things_have_examples() -> None:
    assert missing_examples(modules()) == []


def test_controls(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong example and a missing one are both found."""
    module = types.ModuleType("planted")

    def wrong() -> None:
        """Adds.

        >>> 1 + 1
        3
        """

    def silent() -> None:
        """Says nothing."""

    for function in (wrong, silent):
        function.__module__ = "planted"
        function.__qualname__ = function.__name__
        setattr(module, function.__name__, function)
    monkeypatch.setitem(__import__("sys").modules, "planted", module)
    assert "Expected" in run_examples("planted")[1]
    assert missing_examples(["planted"]) == ["planted.silent"]
