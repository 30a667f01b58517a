"""Stochastic gradient descent."""

from __future__ import annotations

import warnings
from typing import Any

from oneflow import _oneflow_internal
from oneflow.optim.optimizer import Optimizer, check_number

_C = _oneflow_internal._C


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum.

    With gradient g of parameter p:

        g = g + weight_decay * p
        buffer = momentum * buffer + (1 - dampening) * g            (at first buffer = 0)
        p = p - lr * (g + momentum * buffer if nesterov else buffer)    (+ lr if maximize)

    Without momentum p = p - lr * g.

    Args:
        params: an iterable of tensors, or of dicts with "params" and options of their own
        lr: learning rate; default 0.001
        momentum: default 0
        dampening: what of each gradient is kept out of the buffer, of the first one, too; default 0
        weight_decay: default 0
        nesterov: whether to look ahead; it has an effect only with momentum
        maximize: whether to go up; as in OneFlow it has an effect only with momentum, and turns the
            weight decay round as well
        contiguous_params, fused: accepted for programs written for OneFlow, where they choose
            between implementations; here one op updates all parameters of a group in any case

    Raises:
        ValueError: a number is negative or not finite.
        TypeError: a parameter is no Tensor.

    Example:
        >>> import oneflow as flow
        >>> w = flow.nn.Parameter(flow.ones(1))
        >>> sgd = flow.optim.SGD([w], lr=0.1)
        >>> (w * 2).sum().backward()
        >>> sgd.step()
        >>> w.detach()
        tensor([0.8000], dtype=oneflow.float32)

    Source: Sutskever et al., "On the importance of initialization and momentum", 2013.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 0.001,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        maximize: bool = False,
        contiguous_params: bool = False,
        fused: bool = False,
    ) -> None:
        if maximize and momentum == 0:
            warnings.warn(
                "[SGD] maximize has an effect only with momentum above 0",
                FutureWarning,
                stacklevel=2,
            )
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
                "maximize": maximize,
            },
        )

    def _check_options(self, options: dict[str, Any]) -> None:
        for name in ("lr", "momentum", "dampening", "weight_decay"):
            check_number("SGD", name, options[name])

    def _state_names(self, options: dict[str, Any]) -> tuple[str, ...]:
        return () if options["momentum"] == 0 else ("momentum_buf",)

    def _update(
        self,
        options: dict[str, Any],
        step: int,
        parameters: list[Any],
        gradients: list[Any],
        states: list[list[Any]],
    ) -> None:
        lr, decay = options["lr"], options["weight_decay"]
        numbers = options.get("numbers", ())
        if not states:
            _C.multi_tensor_sgd_update_(parameters, gradients, lr, l2=decay, numbers=numbers)
            return
        _C.multi_tensor_momentum_update_(
            parameters,
            states[0],
            gradients,
            lr,
            options["momentum"],
            options["dampening"],
            options["nesterov"],
            options["maximize"],
            l2=decay,
            numbers=numbers,
        )
