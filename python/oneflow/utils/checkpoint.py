"""Checkpointing: memory for time. What a part of a model saves for backward is computed again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import oneflow as flow
from oneflow import _oneflow_internal
from oneflow.autograd.autograd_function import Function
from oneflow.autograd.autograd_mode import enable_grad, is_grad_enabled

__all__ = ["checkpoint"]

Tensor = _oneflow_internal.Tensor
_graph = _oneflow_internal.graph
_regions = threading.local()  # of recomputations in a graph: how many there were, and the innermost


class _Call:
    """One call: the function, its arguments without their tensors, the state of random numbers."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        preserve_rng_state: bool,
    ) -> None:
        self.function, self.names = function, list(kwargs)
        self.values = [*args, *kwargs.values()]
        self.places = [i for i, value in enumerate(self.values) if isinstance(value, Tensor)]
        self.traced = _graph.tracing() is not None
        self.state = None
        if preserve_rng_state:
            self.state = _graph.trace_draws() if self.traced else flow.get_rng_state()

    def take_tensors(self) -> list[Any]:
        """The tensors among the arguments, which the tape keeps from now on."""
        taken = [self.values[i] for i in self.places]
        for i in self.places:
            self.values[i] = None
        return taken

    def run(self, tensors: list[Any]) -> Any:
        """Calls the function."""
        values = list(self.values)
        for i, tensor in zip(self.places, tensors):
            values[i] = tensor
        count = len(values) - len(self.names)
        return self.function(*values[:count], **dict(zip(self.names, values[count:])))

    def run_again(self, tensors: list[Any]) -> Any:
        """Calls it with the random numbers of the first time."""
        if self.traced and _graph.tracing() is not None:
            return self._trace_again(tensors)
        if self.state is None:
            return self.run(tensors)
        now = flow.get_rng_state()
        flow.set_rng_state(self.state)
        try:
            return self.run(tensors)
        finally:
            flow.set_rng_state(now)

    def _trace_again(self, tensors: list[Any]) -> Any:
        """In a graph: ops of their own, which no pass merges with those of the first time."""
        outer = getattr(_regions, "current", 0)
        _regions.count = getattr(_regions, "count", 0) + 1
        _regions.current = _regions.count
        now = _graph.trace_draws()
        if self.state is not None:
            _graph.trace_rewind(self.state)
        _graph.trace_region(_regions.current)
        try:
            return self.run(tensors)
        finally:
            _regions.current = outer
            if _graph.tracing() is not None:
                _graph.trace_region(outer)
                if self.state is not None:
                    _graph.trace_rewind(now)


class _Checkpoint(Function):
    """Computes without a record; computes again, with one, in backward."""

    @staticmethod
    def forward(ctx: Any, call: _Call, _anchor: Any, *tensors: Any) -> Any:
        ctx.call = call
        ctx.save_for_backward(*tensors)
        return call.run(list(tensors))

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        inputs = []
        for saved in ctx.saved_tensors:
            copy = saved.detach()
            copy.requires_grad = saved.requires_grad
            inputs.append(copy)
        with enable_grad():
            result = ctx.call.run_again(inputs)
        outputs = result if isinstance(result, (tuple, list)) else (result,)
        pairs = [
            (output, grad)
            for output, grad in zip(outputs, grads)
            if isinstance(output, Tensor) and output.requires_grad and grad is not None
        ]
        if pairs:
            roots, gradients = zip(*pairs)
            flow.autograd.backward(roots, gradients)
        return (None, None, *(tensor.grad for tensor in inputs))


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """Calls a function, and forgets what it saved for backward; backward calls it again.

    Args:
        function: called as function(*args, **kwargs), once now and once in backward; what it
            returns must depend on nothing else that changes in between, but for random numbers
        args: its arguments; of tensors among them gradients can be asked for
        use_reentrant: is not looked at
        preserve_rng_state: whether the second call draws the random numbers of the first
        kwargs: further arguments

    Returns:
        what the function returned: a tensor, or a tuple of tensors and other values

    Raises:
        TypeError: `function` cannot be called.

    Thread safety: the second call runs on the thread that called `Tensor.backward`.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([2.0], requires_grad=True)
        >>> flow.utils.checkpoint.checkpoint(lambda t: t * t * t, x).backward()
        >>> x.grad.numpy().tolist()
        [12.0]

    Source: Chen et al., "Training Deep Nets with Sublinear Memory Cost", arXiv:1604.06174
    """
    if not callable(function):
        raise TypeError(f"[checkpoint] expects a function, got {type(function).__name__}")
    if not is_grad_enabled():
        return function(*args, **kwargs)
    call = _Call(function, args, kwargs, preserve_rng_state)
    # Parameters that the function uses need gradients even where no argument does.
    anchor = flow.zeros(1, requires_grad=True)
    return _Checkpoint.apply(call, anchor, *call.take_tensors())
