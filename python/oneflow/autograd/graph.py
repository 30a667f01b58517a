"""What happens to tensors that are saved for backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oneflow import _oneflow_internal

__all__ = ["saved_tensors_hooks"]


class saved_tensors_hooks:  # noqa: N801  (OneFlow's name)
    """Packs the tensors that ops save for backward, while it is entered, and unpacks them there.

    The innermost one counts. What a hook computes is saved as it is.

    Args:
        pack_hook: called with each tensor that an op of this thread saves; returns any object
        unpack_hook: called with that object when backward needs it, as often as it does; returns a
            Tensor of the same shape and dtype

    Raises:
        TypeError: a hook cannot be called, or (in backward) unpack_hook returns no Tensor.

    Thread safety: for the thread that entered it.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([3.0], requires_grad=True)
        >>> with flow.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(), flow.from_numpy):
        ...     y = x * x
        >>> y.backward()
        >>> x.grad.numpy().tolist()
        [6.0]
    """

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        _oneflow_internal.push_saved_tensors_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *_: object) -> None:
        _oneflow_internal.pop_saved_tensors_hooks()
