"""DualObject: an object in PyTorch and its counterpart in OneFlow; autotest compares them."""

from __future__ import annotations

import functools
import operator
import os
import unittest
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch as torch_original

import oneflow as flow
from oneflow.test_utils.automated_test_util import dual_calls
from oneflow.test_utils.automated_test_util.dual_calls import (
    BothDoNotSupportError,
    PyTorchDoesNotSupportError,
    Run,
)
from oneflow.test_utils.automated_test_util.generators import (
    choice_pytorch_tensor,
    generator,
    random_pytorch_tensor,
    rng,
)
from oneflow.test_utils.automated_test_util.global_scope import GlobalScope, is_global
from oneflow.test_utils.automated_test_util.profiler import is_profiled, profile_calls

__all__ = ["DualObject", "GetDualObject", "autotest", "choice_tensor", "globaltest",
           "random_tensor", "torch"]  # fmt: skip

_SIZE_LIMIT_MB = int(os.getenv("ONEFLOW_TEST_TENSOR_SIZE_LIMIT_MB", "32"))


def _random_values(name: str) -> bool:
    """Whether the numbers of this function's result are nobody's business: uninitialised memory."""
    return name in ("Tensor", "FloatTensor", "empty")


class DualObject:
    """Stands for an object in each framework: attributes, calls and operators go to both."""

    is_dual_object = True
    name: str
    pytorch: Any
    oneflow: Any

    def __init__(self, name: str, pytorch: Any, oneflow: Any) -> None:
        if isinstance(pytorch, torch_original.nn.Module):
            oneflow = _with_weights_of(pytorch, oneflow)
        self.__dict__.update(name=name, pytorch=pytorch, oneflow=oneflow)
        run = dual_calls.current
        if isinstance(pytorch, torch_original.Tensor):
            size = pytorch.nelement() * pytorch.element_size() / 2**20
            if size >= _SIZE_LIMIT_MB:
                raise AssertionError(f"{name}: a tensor of {size:.0f} MiB is too large for a test")
            if run.recording:
                run.tensors.append(self)
        elif isinstance(pytorch, torch_original.nn.Module) and run.recording:
            run.modules.append(self)

    def __repr__(self) -> str:
        return f"PyTorch:\n{self.pytorch}\nOneFlow:\n{self.oneflow}"

    def __getattr__(self, key: str) -> Any:
        if key.startswith("__") and key.endswith("__"):
            raise AttributeError(key)
        oneflow = getattr(self.oneflow, key)
        pytorch = _only_in_oneflow(self.pytorch, key)
        if pytorch is None:
            pytorch = getattr(self.pytorch, key)
        if pytorch is None:
            if oneflow is not None:
                raise AssertionError(f"{key} is None in PyTorch, in OneFlow it is {oneflow!r}")
            return None
        return DualObject(f"{self.name}.{key}" if self.name else key, pytorch, oneflow)

    def __setattr__(self, key: str, value: Any) -> None:
        if key in ("name", "pytorch", "oneflow"):  # a test exchanges one side
            self.__dict__[key] = value
            return
        setattr(self.pytorch, key, dual_calls.side_of(value, "pytorch"))
        setattr(self.oneflow, key, dual_calls.side_of(value, "oneflow"))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if is_profiled(self.name):
            return profile_calls(self, args, kwargs)
        results = dual_calls.call(self.name, (self.pytorch, self.oneflow), args, kwargs)
        if _random_values(self.name) and isinstance(results[0], torch_original.Tensor):
            results = (results[0], flow.tensor(results[0].detach().cpu().numpy()))
        return DualObject(f"{self.name}(...)", *results)

    def __eq__(self, other: object) -> Any:
        if isinstance(self.pytorch, torch_original.Tensor):
            return _binary(operator.eq, self, other)
        if dual_calls.is_dual(other):
            return self.pytorch == other.pytorch and self.oneflow == other.oneflow  # type: ignore[attr-defined]
        return self.pytorch == other and self.oneflow == other

    def __ne__(self, other: object) -> Any:
        if isinstance(self.pytorch, torch_original.Tensor):
            return _binary(operator.ne, self, other)
        return not self == other

    def __hash__(self) -> int:
        return id(self)

    def __iter__(self) -> Iterator[Any]:
        for pytorch, oneflow in zip(self.pytorch, self.oneflow, strict=True):
            yield DualObject(f"{self.name}[...]", pytorch, oneflow)

    def __setitem__(self, key: Any, value: Any) -> None:
        dual_calls.call("setitem", (operator.setitem, operator.setitem), (self, key, value), {})

    def _agreed(self, convert: Callable[[Any], Any]) -> Any:
        """The same plain value from both."""
        pytorch, oneflow = convert(self.pytorch), convert(self.oneflow)
        close = pytorch == oneflow or np.allclose(pytorch, oneflow, rtol=1e-4, equal_nan=True)
        if not close:
            raise AssertionError(f"{self.name}: PyTorch gives {pytorch}, OneFlow {oneflow}")
        return pytorch

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        pytorch, oneflow = np.asarray(self.pytorch), np.asarray(self.oneflow)
        if not np.allclose(pytorch, oneflow, rtol=1e-4, atol=1e-5, equal_nan=True):
            raise AssertionError(f"{self.name}: PyTorch gives\n{pytorch}\nOneFlow\n{oneflow}")
        return pytorch.astype(dtype or pytorch.dtype)

    def __len__(self) -> int:
        return int(self._agreed(len))

    def __bool__(self) -> bool:
        return bool(self._agreed(bool))

    def __int__(self) -> int:
        return int(self._agreed(int))

    def __index__(self) -> int:
        return int(self._agreed(operator.index))

    def __float__(self) -> float:
        return float(self._agreed(float))


def _binary(function: Callable[..., Any], *args: Any) -> DualObject:
    results = dual_calls.call(function.__name__, (function, function), args, {})
    return DualObject(f"{function.__name__}(...)", *results)


def _operator(name: str, function: Callable[..., Any], reflected: bool) -> None:
    def method(self: DualObject, *args: Any) -> DualObject:
        return _binary(function, *(reversed((self, *args)) if reflected else (self, *args)))

    setattr(DualObject, name, method)


for _word in (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and",
    "or",
    "xor",
):
    _plain = getattr(operator, f"__{_word}__")
    _operator(f"__{_word}__", _plain, reflected=False)
    _operator(f"__r{_word}__", _plain, reflected=True)
    _operator(f"__i{_word}__", getattr(operator, f"__i{_word}__"), reflected=False)
for _word in ("lt", "le", "gt", "ge", "neg", "pos", "abs", "invert", "getitem", "contains"):
    _operator(f"__{_word}__", getattr(operator, f"__{_word}__"), reflected=False)


def GetDualObject(name: str, pytorch: Any, oneflow: Any) -> DualObject:
    """A DualObject of these two."""
    return DualObject(name, pytorch, oneflow)


def _only_in_oneflow(pytorch: Any, key: str) -> Any:
    """What stands in PyTorch for names that it has not; None for names that it has."""
    if key in ("to_global", "to_local"):
        tensor = isinstance(pytorch, torch_original.Tensor)
        return lambda *args, **kwargs: pytorch.clone() if tensor else pytorch
    if key == "broadcast_like":
        return lambda x, y, *args, **kwargs: torch_original.broadcast_to(x, y.size())
    return "unused" if key in ("placement", "sbp") else None


def _with_weights_of(pytorch: Any, oneflow: Any) -> Any:
    """OneFlow's module with the numbers of PyTorch's."""
    state = {k: flow.tensor(v.detach().cpu().numpy()) for k, v in pytorch.state_dict().items()}
    if is_global():
        state = {k: _to_global(v) for k, v in state.items()}
        oneflow = oneflow.to_global(placement=flow.placement.all("cpu"), sbp=[flow.sbp.broadcast])
    oneflow.load_state_dict(state, strict=False)
    return oneflow


def _to_global(tensor: flow.Tensor) -> flow.Tensor:
    return tensor.to_global(placement=flow.placement.all("cpu"), sbp=[flow.sbp.broadcast])


def _of_pytorch(tensor: Any, pin_memory: bool = False) -> flow.Tensor:
    made = flow.tensor(tensor.detach().cpu().numpy())
    made = _to_global(made) if is_global() else made
    return made.requires_grad_(bool(tensor.requires_grad))


def random_tensor(
    ndim: Any = None,
    dim0: Any = 1,
    dim1: Any = None,
    dim2: Any = None,
    dim3: Any = None,
    dim4: Any = None,
    low: Any = 0,
    high: Any = 1,
    dtype: Any = float,
    requires_grad: Any = True,
    pin_memory: bool = False,
) -> DualObject:
    """A random tensor in both frameworks; see generators.random_pytorch_tensor."""
    wanted = requires_grad.value() if isinstance(requires_grad, generator) else requires_grad
    drawn = random_pytorch_tensor(
        ndim, dim0, dim1, dim2, dim3, dim4, low, high, dtype, pin_memory
    ).value()
    drawn.requires_grad_(bool(wanted) and drawn.is_floating_point())
    return DualObject("random_tensor", drawn, _of_pytorch(drawn))


def choice_tensor(
    a: Any,
    size: Any = None,
    replace: bool = True,
    p: Any = None,
    dtype: Any = int,
    requires_grad: Any = False,
) -> DualObject:
    """Elements of `a` as a tensor in both frameworks, drawn as by numpy.random.choice."""
    wanted = requires_grad.value() if isinstance(requires_grad, generator) else requires_grad
    drawn = choice_pytorch_tensor(a, size, replace, p, dtype).value()
    drawn.requires_grad_(bool(wanted) and drawn.is_floating_point())
    return DualObject("choice_tensor", drawn, _of_pytorch(drawn))


def _tensors_in(dual: Any) -> list[DualObject]:
    """The tensors of a result: itself, or the members of a tuple."""
    if isinstance(dual.pytorch, torch_original.Tensor):
        return [dual]
    if isinstance(dual.pytorch, (list, tuple)):
        if len(dual.pytorch) != len(dual.oneflow):
            raise AssertionError(f"PyTorch gives {len(dual.pytorch)}, OneFlow {len(dual.oneflow)}")
        return [member for pair in dual for member in _tensors_in(pair)]
    if dual.pytorch != dual.oneflow:
        raise AssertionError(f"{dual.name}: PyTorch {dual.pytorch!r}, OneFlow {dual.oneflow!r}")
    return []


def _backward(dual: DualObject, random_gradient: bool) -> None:
    """Differentiates one result, by the same gradient in both."""
    if not (dual.pytorch.requires_grad and dual.pytorch.is_floating_point()):
        return
    if not dual.oneflow.requires_grad:
        raise AssertionError(f"{dual.name} requires grad in PyTorch, in OneFlow it does not")
    shape = tuple(dual.pytorch.shape)
    drawn = rng.uniform(0.0, 1.0, shape) if random_gradient else np.ones(shape)
    gradient = torch_original.tensor(drawn, dtype=dual.pytorch.dtype)
    other = flow.tensor(gradient.numpy(), dtype=dual.oneflow.dtype)
    dual.pytorch.backward(gradient)
    dual.oneflow.backward(_to_global(other) if is_global() else other)


def _compare(what: str, pytorch: Any, oneflow: Any, run: Run, check_dtype: bool) -> None:
    if oneflow is None:
        raise AssertionError(f"{what}: OneFlow has none, PyTorch has\n{pytorch}")
    one, other = pytorch.detach().cpu().numpy(), oneflow.detach().numpy()
    problem = ""
    if one.shape != other.shape:
        problem = f"shape {one.shape} in PyTorch, {other.shape} in OneFlow"
    elif check_dtype and one.dtype != other.dtype:
        problem = f"dtype {one.dtype} in PyTorch, {other.dtype} in OneFlow"
    elif not np.allclose(one, other, rtol=run.rtol, atol=run.atol, equal_nan=True):
        problem = f"PyTorch has\n{one}\nOneFlow has\n{other}"
    if problem:
        raise AssertionError(f"{what}: {problem}\nafter\n{run.listing()}")


def _check_gradient(dual: DualObject, run: Run, check_dtype: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns of the gradient of what is no leaf
        gradient = dual.pytorch.grad
    if gradient is not None:
        _compare(f"gradient of {dual.name}", gradient, dual.oneflow.grad, run, check_dtype)


def check_equality(duals: Sequence[DualObject], run: Run, check_dtype: bool = False) -> None:
    """AssertionError unless tensors, and their gradients, are equal within the tolerance."""
    for dual in duals:  # values first: where they differ, gradients differ for that reason
        _compare(dual.name, dual.pytorch, dual.oneflow, run, check_dtype)
    for dual in duals:
        _check_gradient(dual, run, check_dtype)


def _state_of(module: DualObject) -> list[DualObject]:
    """Parameters and buffers of a module."""
    state = []
    oneflow = dict(module.oneflow.named_parameters()) | dict(module.oneflow.named_buffers())
    pytorch = dict(module.pytorch.named_parameters()) | dict(module.pytorch.named_buffers())
    for key, value in pytorch.items():
        if key not in oneflow:
            warnings.warn(f"OneFlow's module has no `{key}`", stacklevel=2)
            continue
        state.append(DualObject(f"{module.name}.{key}", value, oneflow[key]))
    return state


def autotest(
    n: int = 20,
    auto_backward: bool = True,
    rtol: float = 1e-4,
    atol: float = 1e-5,
    check_graph: bool | str = True,
    check_allclose: bool = True,
    check_dtype: bool = False,
    check_grad_use_random_data: bool = True,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Runs a test method `n` times, and compares both frameworks after each run.

    Arguments that PyTorch refuses are drawn anew, at most 20 times as often as there are runs.

    Args:
      n: how many runs must succeed
      auto_backward: whether what the method returns is differentiated
      rtol: relative tolerance
      atol: absolute tolerance
      check_graph: whether each call of OneFlow is made in a static graph too, and values compared
      check_allclose: whether numbers are compared at all
      check_dtype: whether dtypes must be equal
      check_grad_use_random_data: whether gradients are random, and not all 1

    Raises:
      AssertionError: the frameworks differ; the text lists the calls that were made
      ValueError: PyTorch refused too often
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def repeated(test_case: unittest.TestCase, *args: Any, **kwargs: Any) -> None:
            left, tries, refusal = n, 20 * n, ""
            while left > 0:
                if tries == 0:
                    raise ValueError(f"autotest: PyTorch refuses all arguments: {refusal}")
                tries -= 1
                run = dual_calls.start(Run(True, check_graph is True, rtol, atol))
                try:
                    result = function(test_case, *args, **kwargs)
                except (PyTorchDoesNotSupportError, BothDoNotSupportError) as error:
                    refusal = str(error)
                    continue
                finally:
                    run.recording = run.graph = False
                _finish(run, result, auto_backward, check_grad_use_random_data)
                if check_allclose:
                    state = [dual for module in run.modules for dual in _state_of(module)]
                    check_equality([*run.tensors, *state], run, check_dtype)
                left -= 1

        return repeated

    return decorate


def _finish(run: Run, result: Any, auto_backward: bool, random_gradient: bool) -> None:
    """Differentiates what the test returned, and has it compared."""
    results = result if isinstance(result, Sequence) else [result]
    for dual in results:
        for member in _tensors_in(dual) if dual is not None else []:
            run.tensors.append(member)
            if auto_backward:
                _backward(member, random_gradient)


def globaltest(function: Callable[..., Any]) -> Callable[..., Any]:
    """Runs a test method on global tensors."""

    @functools.wraps(function)
    def inside(*args: Any, **kwargs: Any) -> Any:
        with GlobalScope():
            return function(*args, **kwargs)

    return inside


torch = DualObject("", torch_original, flow)
