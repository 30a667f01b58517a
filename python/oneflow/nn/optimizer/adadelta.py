"""Adadelta."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal
from oneflow.optim.optimizer import Optimizer, check_number

_C = _oneflow_internal._C


class Adadelta(Optimizer):
    """Adadelta: steps as long as the recent steps were, by the gradient over its recent size.

    With gradient g of parameter p, and g = g + weight_decay * p (g = -g first, if maximize):

        s = rho * s + (1 - rho) * g * g
        d = sqrt(a + eps) / sqrt(s + eps) * g
        a = rho * a + (1 - rho) * d * d
        p = p - lr * d

    Args:
        params: an iterable of tensors, or of dicts with "params" and options of their own
        lr: learning rate; default 1
        rho: decay of the averages, from 0 to 1; default 0.9
        eps: default 1e-6
        weight_decay: default 0
        maximize: whether to go up the gradient; default False
        contiguous_params: accepted, without effect: see `SGD`

    Raises:
        ValueError: a number is negative or not finite, or `rho` above 1.
        TypeError: a parameter is no Tensor.

    Example:
        >>> import oneflow as flow
        >>> w = flow.nn.Parameter(flow.ones(1))
        >>> adadelta = flow.optim.Adadelta([w], eps=0.25)
        >>> (w * 2).sum().backward()
        >>> adadelta.step()
        >>> w.detach()
        tensor([-0.2403], dtype=oneflow.float32)

    Source: Zeiler, "ADADELTA", 2012.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        maximize: bool = False,
        contiguous_params: bool = False,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "rho": rho,
                "eps": eps,
                "weight_decay": weight_decay,
                "maximize": maximize,
            },
        )

    def _check_options(self, options: dict[str, Any]) -> None:
        for name in ("lr", "rho", "eps", "weight_decay"):
            check_number("Adadelta", name, options[name])
        if options["rho"] > 1:
            raise ValueError(f"[Adadelta] expects rho from 0 to 1, got {options['rho']}")

    def _state_names(self, options: dict[str, Any]) -> tuple[str, ...]:
        return ("square_avgs", "acc_deltas")

    def _update(
        self,
        options: dict[str, Any],
        step: int,
        parameters: list[Any],
        gradients: list[Any],
        states: list[list[Any]],
    ) -> None:
        _C.multi_tensor_adadelta_update_(
            parameters,
            *states,
            gradients,
            options["lr"],
            options["rho"],
            options["eps"],
            options["maximize"],
            l2=options["weight_decay"],
            numbers=options.get("numbers", ()),
        )
