"""RMSprop."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal
from oneflow.optim.optimizer import Optimizer, check_number

_C = _oneflow_internal._C


class RMSprop(Optimizer):
    """RMSprop: steps by the gradient over the root of a running average of its squares.

    With gradient g of parameter p, and g = g + weight_decay * p:

        s = alpha * s + (1 - alpha) * g * g
        a = alpha * a + (1 - alpha) * g              (if centered; else a = 0)
        d = momentum * d + lr * g / sqrt(s - a * a + eps)
        p = p - d

    As in OneFlow, eps stands under the root; s - a * a counts as 0 where rounding makes it less.

    Args:
        params: an iterable of tensors, or of dicts with "params" and options of their own
        lr: learning rate; default 0.001
        alpha: decay of the averages; default 0.99
        eps: default 1e-8
        weight_decay: default 0
        momentum: default 0
        centered: whether to divide by the spread around the average; default False
        contiguous_params: accepted, without effect: see `SGD`

    Raises:
        ValueError: a number is negative or not finite.
        TypeError: a parameter is no Tensor.

    Example:
        >>> import oneflow as flow
        >>> w = flow.nn.Parameter(flow.ones(1))
        >>> rmsprop = flow.optim.RMSprop([w], lr=0.1, alpha=0.75)
        >>> (w * 2).sum().backward()
        >>> rmsprop.step()
        >>> w.detach()
        tensor([0.8000], dtype=oneflow.float32)

    Source: Tieleman and Hinton, "Lecture 6.5 - RMSprop", 2012; Graves, "Generating sequences with
    recurrent neural networks", 2013, for the centered one.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 0.001,
        alpha: float = 0.99,
        eps: float = 1e-08,
        weight_decay: float = 0,
        momentum: float = 0.0,
        centered: bool = False,
        contiguous_params: bool = False,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "alpha": alpha,
                "eps": eps,
                "weight_decay": weight_decay,
                "momentum": momentum,
                "centered": centered,
            },
        )

    def _check_options(self, options: dict[str, Any]) -> None:
        for name in ("lr", "alpha", "eps", "weight_decay", "momentum"):
            check_number("RMSprop", name, options[name])

    def _state_names(self, options: dict[str, Any]) -> tuple[str, ...]:
        names = ["square_avg"]
        names += ["grad_avg"] if options["centered"] else []
        names += ["momentum_buf"] if options["momentum"] else []
        return tuple(names)

    def _update(
        self,
        options: dict[str, Any],
        step: int,
        parameters: list[Any],
        gradients: list[Any],
        states: list[list[Any]],
    ) -> None:
        means = states[1] if options["centered"] else []
        buffers = states[-1] if options["momentum"] else []
        _C.multi_tensor_rmsprop_update_(
            parameters,
            states[0],
            means,
            buffers,
            gradients,
            options["lr"],
            options["alpha"],
            options["eps"],
            options["momentum"],
            l2=options["weight_decay"],
            numbers=options.get("numbers", ()),
        )
