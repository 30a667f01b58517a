"""Hooks around a module's backward: what `Module.register_full_backward_hook` is made of.

A module's tensors pass through two functions that change nothing, one before `forward`, one after.
In backward the latter sees the gradients of the outputs first, the former those of the inputs last.
"""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal
from oneflow.autograd.autograd_function import Function

Tensor = _oneflow_internal.Tensor


class _Record:
    """One call of a module: what its hooks will be told."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.grad_outputs: tuple[Any, ...] = ()
        self.has_inputs = False

    def before(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        """The gradients of the outputs have come."""
        for hook in tuple(self.module._backward_pre_hooks.values()):
            grads = _replaced(hook(self.module, grads), grads)
        self.grad_outputs = grads
        if not self.has_inputs:
            self.after((None,))
        return grads

    def after(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        """The gradients of the inputs are there."""
        for hook in tuple(self.module._backward_hooks.values()):
            grads = _replaced(hook(self.module, grads, self.grad_outputs), grads)
        return grads


def _replaced(new: Any, old: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a hook returned in the place of the gradients, or these if that is None."""
    if new is None:
        return old
    new = new if isinstance(new, tuple) else (new,)
    if len(new) != len(old):
        raise RuntimeError(
            f"[backward hook] expects {len(old)} gradients from the hook, got {len(new)}"
        )
    return new


class _Outputs(Function):
    """After `forward`."""

    @staticmethod
    def forward(ctx: Any, record: Any, *tensors: Any) -> Any:
        ctx.record = record
        ctx.set_materialize_grads(False)
        return tuple(tensor.detach() for tensor in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (None, *ctx.record.before(grads))


class _Inputs(Function):
    """Before `forward`."""

    @staticmethod
    def forward(ctx: Any, record: Any, *tensors: Any) -> Any:
        ctx.record = record
        ctx.set_materialize_grads(False)
        return tuple(tensor.detach() for tensor in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (None, *ctx.record.after(grads))


def _through(function: Any, record: _Record, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values, the tensors among them passed through `function`."""
    places = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
    if not places:
        return values
    passed = function.apply(record, *(values[i] for i in places))
    passed = passed if isinstance(passed, tuple) else (passed,)
    changed = list(values)
    for place, value in zip(places, passed):
        changed[place] = value
    return tuple(changed)


class Watched:
    """One call of a module that has backward hooks."""

    def __init__(self, module: Any) -> None:
        self._record = _Record(module)

    def inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments of `forward`."""
        recorded = _oneflow_internal.is_grad_enabled()
        tensors = [arg for arg in args if isinstance(arg, Tensor)]
        if not recorded or not any(tensor.requires_grad for tensor in tensors):
            return args
        self._record.has_inputs = True
        return _through(_Inputs, self._record, args)

    def outputs(self, result: Any) -> Any:
        """What `forward` returned: a Tensor, or a tuple or list of them."""
        if isinstance(result, Tensor):
            return _through(_Outputs, self._record, (result,))[0]
        if isinstance(result, (tuple, list)):
            return type(result)(_through(_Outputs, self._record, tuple(result)))
        return result
