"""Calls everything that is public with arguments that make no sense, until the time is over.

    python fuzz_calls.py SEED SECONDS LOG

Half of the arguments fit the parameter's name or default, so that many objects come to be: modules,
optimizers, schedulers, data sets. Of each some methods are called, again with anything. What is
called last stands in LOG, so that a call which kills the process is known. Prints how many calls it
made, how many returned, and how many functions and methods they were of; ends with an exception
where one is a bug of ours, or takes too long.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import pkgutil
import random
import re
import signal
import sys
import time
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import oneflow as flow
import oneflow.utils.data

# They write files, ask the network, start processes, replace modules; or take as long as is asked.
LEFT_OUT_MODULES = re.compile(
    r"oneflow\.(test_utils|unittest|multiprocessing|distributed|hub|mock_torch|env|framework)\b"
)
LEFT_OUT = {
    "save", "load", "set_num_threads", "DataLoader", "launch", "spawn", "throw_error",
    "throw_error_", "throw_error_in_backward", "async_torch_to_flow",
}  # fmt: skip
UNCALLABLE = {"__class__", "__init_subclass__", "__subclasshook__", "__del__", "__new__"}
MOST_SECONDS = 10.0  # of processor time that a call may take


class Hang(BaseException):
    """A call takes too long."""


def hang(*_: Any) -> None:
    """The signal's handler."""
    raise Hang


BUGS = (flow.InternalError, SystemError, UnboundLocalError, NameError)


class Evil:
    """Promises to be a number and a sequence, and breaks each promise in another way."""

    def __index__(self) -> int:
        raise ValueError("no index")

    def __float__(self) -> float:
        raise KeyError("no float")

    def __len__(self) -> int:
        return 1 << 40

    def __getitem__(self, index: Any) -> Any:
        return self

    def __iter__(self) -> Any:
        return iter([1, 2])

    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError

    __hash__ = None  # type: ignore[assignment]


def arguments() -> list[Any]:
    """What may be passed; tensors among them."""
    leaf = flow.ones(2, 3, requires_grad=True)
    layer = flow.nn.Linear(3, 2)
    pairs = flow.utils.data.TensorDataset(flow.ones(4, 3), flow.arange(4))
    return [
        *(None, True, 0, 1, -1, 1.5, float("nan"), float("inf")),
        *(1 << 32, 1 << 45, 1 << 62, 1 << 70),
        *("x", "", "cuda", b"x", (), [], [1, 2], (1 << 62, 1 << 62), [None], {}, [[1], [1, 2]]),
        *(Evil(), object(), int, len, flow.float32, flow.int64, flow.device("cpu")),
        *(np.float32(2), np.int64(3), np.array([1, 2]), np.zeros((0, 3)), np.array("x")),
        *(flow.ones(0), flow.tensor(1.0), flow.ones(2, 3), flow.tensor([[1, 2, 3]])),
        *(flow.tensor([True, False]), leaf, leaf * 2, flow.ones(3, 2).t(), flow.tensor(7)),
        *(flow.ones(2, dtype=flow.float16), flow.ones(1).expand(1 << 10), layer, pairs),
        *([leaf], list(layer.parameters()), flow.optim.SGD([leaf], 0.1), layer.state_dict()),
        *(flow.ones(1, 2, 4, 4), flow.ones(2, 3, 4), flow.Generator(), lambda *x: x[0]),
    ]


FITTING: list[tuple[str, list[Any]]] = [
    (r"reduction", ["mean", "sum", "none"]),
    (r"mode", ["nearest", "bilinear", "reflect", "constant", "fan_in"]),
    (r"kernel|stride|dilation|groups|upscale|output_size|scale_factor", [1, 2, (1, 2), 3]),
    (r"padding|dim|axis|offset", [0, 1, -1, (0, 1), 2]),
    (r"channels|features|num_|size|planes|hidden|layers|n$|step|epoch|max", [1, 2, 3, 4, [2, 3]]),
    (r"params|parameters", [None]),
    (r"lr|eps|alpha|beta|gamma|momentum|p$|decay|rate|factor|std|mean|value", [0.1, 0.9, 1e-3, 1]),
]


def fitting(draw: random.Random, name: str, parameter: Any, pool: list[Any]) -> Any:
    """An argument that the parameter of that name may well take."""
    if isinstance(parameter.default, bool):
        return draw.random() < 0.5
    for pattern, values in FITTING:
        if re.search(pattern, name):
            chosen = draw.choice(values)
            return [flow.ones(3, requires_grad=True)] if chosen is None else chosen
    if parameter.default not in (inspect.Parameter.empty, None) and draw.random() < 0.5:
        return parameter.default
    return draw.choice(pool)


def loader(*args: Any, **keywords: Any) -> Any:
    """The first batches of a DataLoader that starts no process."""
    made = flow.utils.data.DataLoader(*args[:4], **{**keywords, "num_workers": 0})
    return list(itertools.islice(iter(made), 3))


def modules(package: Any = flow) -> list[Any]:
    """All that can be imported by a public name."""
    found = [package] if package is not flow else [flow, flow._C]
    for info in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        private = info.name.rpartition(".")[2].startswith("_")
        if not private and not LEFT_OUT_MODULES.match(info.name):
            module = importlib.import_module(info.name)
            found += modules(module) if info.ispkg else [module]
    return found


def functions() -> list[tuple[str, Callable[..., Any]]]:
    """Everything public that can be called, once; methods of tensors get a tensor in front."""
    found: dict[str, Callable[..., Any]] = {"oneflow.utils.data.DataLoader": loader}
    known: set[int] = set()
    for module in modules():
        for name, value in sorted(vars(module).items()):
            if name.startswith("_") or name in LEFT_OUT or isinstance(value, types.ModuleType):
                continue
            home = str(getattr(value, "__module__", "oneflow"))
            if callable(value) and id(value) not in known and home.startswith("oneflow"):
                known.add(id(value))
                found[f"{module.__name__}.{name}"] = value
    for name in dir(flow.Tensor):
        value = getattr(flow.Tensor, name)
        if callable(value) and name not in UNCALLABLE | LEFT_OUT:
            found[f"Tensor.{name}"] = value
    return list(found.items())


def words(value: Any) -> str:
    """An argument, for the log."""
    if isinstance(value, flow.Tensor):
        return f"Tensor{tuple(value.shape)}"
    kinds = (Evil, flow.nn.Module, flow.optim.Optimizer, dict)
    return type(value).__name__ if isinstance(value, kinds) else repr(value)[:60]


class Fuzzer:
    """Calls, and what is known of them."""

    def __init__(self, seed: str, log: Any) -> None:
        self.draw = random.Random(seed)
        self.log = log
        self.calls = self.returned = 0
        self.names: set[str] = set()
        self.pool = arguments()

    def chosen(self, function: Any) -> tuple[list[Any], dict[str, Any]]:
        """Arguments: anything, or what fits the names of the parameters."""
        draw = self.draw
        if draw.random() < 0.5:
            return [draw.choice(self.pool) for _ in range(draw.randrange(5))], {}
        try:
            parameters = inspect.signature(function).parameters
        except (TypeError, ValueError):
            return [draw.choice(self.pool) for _ in range(draw.randrange(5))], {}
        keywords = {}
        for name, parameter in parameters.items():
            named = parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
            required = parameter.default is parameter.empty
            if named and name != "self" and (required or draw.random() < 0.3):
                anything = draw.random() < 0.15
                keywords[name] = (
                    draw.choice(self.pool)
                    if anything
                    else fitting(draw, name, parameter, self.pool)
                )
        return [], keywords

    def call(self, name: str, function: Any, front: list[Any]) -> Any:
        """One call; what it returns, or None."""
        positional, keywords = self.chosen(function)
        positional = [*front, *positional]
        shown = [*map(words, positional), *(f"{k}={words(v)}" for k, v in keywords.items())]
        self.log.seek(0)
        self.log.truncate()
        self.log.write(f"{name}({', '.join(shown)})")
        self.log.flush()
        self.calls += 1
        self.names.add(name)
        signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
        result = None
        try:
            result = function(*positional, **keywords)
            if isinstance(result, flow.Tensor) and result.numel() < 1000:
                result.numpy()
            self.returned += 1
        except BUGS as bug:
            if isinstance(bug, flow.InternalError) or "hostile" not in str(bug):
                raise
        except Exception:  # noqa: S110 - which one is tested elsewhere
            pass
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        return result

    def use(self, name: str, thing: Any) -> None:
        """Calls some methods of an object of ours."""
        kind = type(thing)
        if not kind.__module__.startswith("oneflow") or isinstance(thing, (flow.Tensor, type)):
            return
        methods = [m for m in dir(kind) if m not in UNCALLABLE and not m.startswith("__")]
        special = ("__call__", "__len__", "__getitem__", "__repr__")
        methods += [method for method in special if hasattr(kind, method)]
        for method in self.draw.sample(methods, min(3, len(methods))):
            if not method.startswith("_") or method.startswith("__"):
                try:
                    bound = getattr(thing, method)
                except Exception:  # noqa: S112 - a property that asks what it was given
                    continue
                if callable(bound):
                    self.call(f"{name}().{method}", bound, [])

    def once(self, name: str, function: Any) -> None:
        """One call and what follows of it."""
        front = []
        if name.startswith("Tensor."):
            front = [self.draw.choice([v for v in self.pool if isinstance(v, flow.Tensor)])]
        result = self.call(name, function, front)
        if result is not None:
            self.use(name, result)


def main(seed: str, seconds: str, log: str) -> None:
    """See the module's text."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGPROF, hang)
    everything = functions()
    end = time.monotonic() + float(seconds)
    with open(log, "w") as file:
        fuzzer = Fuzzer(seed, file)
        for turn in itertools.count():
            if turn % 500 == 0:
                flow._oneflow_internal.set_vm_mode(fuzzer.draw.choice(["auto", "queued", "inline"]))
                flow.set_grad_enabled(True)
                fuzzer.pool = arguments()  # what ops in place have made of them is forgotten
            fuzzer.once(*fuzzer.draw.choice(everything))
            if time.monotonic() > end:
                break
    print(fuzzer.calls, fuzzer.returned, len(fuzzer.names))


if __name__ == "__main__":
    main(*sys.argv[1:])
