"""One call in both frameworks: arguments for each, the call, its note, and the leg in a graph.

Not thread-safe: one test at a time.
"""

from __future__ import annotations

import copy
import inspect
import os
import typing
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch as pytorch

import oneflow as flow
from oneflow.test_utils.automated_test_util.generators import Nothing, generator


class PyTorchDoesNotSupportError(Exception):
    """PyTorch refused the drawn arguments; autotest draws others."""


class BothDoNotSupportError(Exception):
    """Both frameworks refused the drawn arguments; said if ONEFLOW_TEST_ALIGN_EXCEPTION is set."""


class OneFlowGraphBuildOrRunError(Exception):
    """The call fails, or gives other values, in a static graph."""


@dataclass
class Run:
    """What one run of a test has made, and how it is compared."""

    recording: bool = False
    graph: bool = False
    rtol: float = 1e-4
    atol: float = 1e-5
    tensors: list[Any] = field(default_factory=list)
    modules: list[Any] = field(default_factory=list)
    program: list[str] = field(default_factory=list)

    def listing(self) -> str:
        """The calls so far, as a program."""
        return "\n".join(f"    {line}" for line in self.program) or "    (no calls)"


current = Run()


def start(run: Run) -> Run:
    """Makes `run` the current one."""
    global current
    current = run
    return run


def is_dual(x: Any) -> bool:
    """Whether x stands for an object in each framework."""
    return getattr(type(x), "is_dual_object", False)


def side_of(x: Any, side: str) -> Any:
    """What x is in one framework, inside lists, tuples, dicts and slices too."""
    if isinstance(x, generator):
        x = x.value()
    if is_dual(x):
        return getattr(x, side)
    if isinstance(x, (list, tuple)):
        inner = [side_of(item, side) for item in x]
        return type(x)(*inner) if hasattr(x, "_fields") else type(x)(inner)
    if isinstance(x, dict):
        return {key: side_of(value, side) for key, value in x.items()}
    if isinstance(x, slice):
        return slice(*(side_of(item, side) for item in (x.start, x.stop, x.step)))
    return x


def arguments(
    args: tuple[Any, ...], kwargs: dict[str, Any], side: str
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments for one framework, without those that are to be left out."""
    positional = [side_of(a, side) for a in args]
    keywords = {key: side_of(value, side) for key, value in kwargs.items()}
    return (
        [a for a in positional if not isinstance(a, Nothing)],
        {key: value for key, value in keywords.items() if not isinstance(value, Nothing)},
    )


def _annotate(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Tells generators the types of the parameters that they are passed for."""
    if not any(isinstance(a, generator) for a in (*args, *kwargs.values())):
        return
    inner: Any
    try:
        inner = getattr(function, "__init__", None) if isinstance(function, type) else function
        hints = typing.get_type_hints(inner)
        names = [n for n in inspect.signature(inner).parameters if n != "self"]
    except (TypeError, ValueError, NameError):
        return  # a builtin says nothing of its parameters
    for name, given in [*zip(names, args), *kwargs.items()]:
        if isinstance(given, generator) and name in hints:
            given.to(hints[name])


def _shown(x: Any) -> str:
    if isinstance(x, (pytorch.Tensor, flow.Tensor)):
        return f"Tensor{tuple(x.shape)}"
    if isinstance(x, (list, tuple)):
        return type(x).__name__ + "(" + ", ".join(_shown(item) for item in x) + ")"
    return repr(x)


def _note(name: str, args: list[Any], kwargs: dict[str, Any]) -> None:
    words = [_shown(a) for a in args] + [f"{k}={_shown(v)}" for k, v in kwargs.items()]
    current.program.append(f"{name}({', '.join(words)})")


def call(
    name: str,
    functions: tuple[Callable[..., Any], Callable[..., Any]],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[Any, Any]:
    """Calls PyTorch's function, then OneFlow's; the results of both."""
    _annotate(functions[0], args, kwargs)
    torch_args, torch_kwargs = arguments(args, kwargs, "pytorch")
    flow_args, flow_kwargs = arguments(args, kwargs, "oneflow")
    _note(name, torch_args, torch_kwargs)
    try:
        torch_result = functions[0](*torch_args, **torch_kwargs)
    except Exception as error:
        if os.getenv("ONEFLOW_TEST_ALIGN_EXCEPTION") is None:
            raise PyTorchDoesNotSupportError(f"{name}: {error!r}") from error
        try:
            functions[1](*flow_args, **flow_kwargs)
        except Exception as other:
            raise BothDoNotSupportError(f"{name}: {error!r}; {other!r}") from error
        raise AssertionError(f"{name}: PyTorch raises {error!r}, OneFlow does not") from error
    # The graph runs first, on copies: the call itself may change its operands.
    try:
        graphed = _in_graph(name, functions[1], flow_args, flow_kwargs) if current.graph else ()
    except OneFlowGraphBuildOrRunError:
        functions[1](*flow_args, **flow_kwargs)  # what is refused eagerly too raises that error
        raise
    flow_result = functions[1](*flow_args, **flow_kwargs)
    if graphed:
        _compare_graph(name, flow_result, graphed[0])
    return torch_result, flow_result


def _copied(x: Any) -> Any:
    if isinstance(x, flow.Tensor):
        return x.detach().clone()
    if isinstance(x, (list, tuple)):
        return type(x)([_copied(item) for item in x])
    return copy.deepcopy(x) if isinstance(x, flow.nn.Module) else x


def _has_tensor(x: Any) -> bool:
    if isinstance(x, (list, tuple)):
        return any(_has_tensor(item) for item in x)
    return isinstance(x, flow.Tensor)


def _in_graph(name: str, function: Any, args: list[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The call's result as the only statement of a graph; nothing where it has no place in one."""
    graph_class = getattr(flow.nn, "Graph", None)
    owner = getattr(function, "__self__", None)
    operands = [owner, *args, *kwargs.values()]
    if graph_class is None or isinstance(function, type) or not any(map(_has_tensor, operands)):
        return ()
    if name.rpartition(".")[2] in ("backward", "numpy", "item", "tolist", "to", "cpu", "cuda"):
        return ()
    if isinstance(owner, flow.Tensor):
        function = getattr(_copied(owner), function.__name__)
    elif isinstance(function, flow.nn.Module):
        function = _copied(function)
    copied_args = [_copied(a) for a in args]
    copied_kwargs = {key: _copied(value) for key, value in kwargs.items()}

    class OneCall(graph_class):  # type: ignore[misc, valid-type]
        """The call."""

        def __init__(self) -> None:
            super().__init__()
            self.function = function

        def build(self) -> Any:
            """Makes it."""
            return self.function(*copied_args, **copied_kwargs)

    try:
        return (OneCall()(),)
    except Exception as error:
        if isinstance(error, RuntimeError) and "being built" in str(error):
            return ()  # it looks at values, and in a graph there are none yet
        raise OneFlowGraphBuildOrRunError(f"{name} in a graph: {error!r}") from error


def _compare_graph(name: str, eager: Any, graphed: Any) -> None:
    if isinstance(eager, (list, tuple)):
        for one, other in zip(eager, graphed, strict=True):
            _compare_graph(name, one, other)
    elif isinstance(eager, flow.Tensor):
        one, other = eager.detach().numpy(), graphed.detach().numpy()
        if one.shape != other.shape or not np.allclose(
            one, other, rtol=current.rtol, atol=current.atol, equal_nan=True
        ):
            raise OneFlowGraphBuildOrRunError(f"{name}: eager gives\n{one}\na graph gives\n{other}")
