"""Adagrad."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal
from oneflow.framework.creation import full_like
from oneflow.optim.optimizer import Optimizer, check_number

_C = _oneflow_internal._C


class Adagrad(Optimizer):
    """Adagrad: steps by the gradient over the root of the sum of all its squares so far.

    With gradient g of parameter p at step t, and g = g + weight_decay * p:

        s = s + g * g
        p = p - lr / (1 + (t - 1) * lr_decay) * g / (sqrt(s) + eps)

    Args:
        params: an iterable of tensors, or of dicts with "params" and options of their own
        lr: learning rate; default 0.001
        lr_decay: default 0
        weight_decay: default 0
        initial_accumulator_value: the first s; default 0
        eps: default 1e-10
        contiguous_params: accepted, without effect: see `SGD`

    Raises:
        ValueError: a number is negative or not finite.
        TypeError: a parameter is no Tensor.

    Example:
        >>> import oneflow as flow
        >>> w = flow.nn.Parameter(flow.ones(1))
        >>> adagrad = flow.optim.Adagrad([w], lr=0.1)
        >>> (w * 2).sum().backward()
        >>> adagrad.step()
        >>> w.detach()
        tensor([0.9000], dtype=oneflow.float32)

    Source: Duchi et al., "Adaptive subgradient methods", 2011.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 0.001,
        lr_decay: float = 0.0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        contiguous_params: bool = False,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "lr_decay": lr_decay,
                "weight_decay": weight_decay,
                "initial_accumulator_value": initial_accumulator_value,
                "eps": eps,
            },
        )

    def _check_options(self, options: dict[str, Any]) -> None:
        for name in ("lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps"):
            check_number("Adagrad", name, options[name])

    def _state_names(self, options: dict[str, Any]) -> tuple[str, ...]:
        return ("sum",)

    def _new_state(self, name: str, parameter: Any, options: dict[str, Any]) -> Any:
        return full_like(parameter.detach(), options["initial_accumulator_value"])

    def _update(
        self,
        options: dict[str, Any],
        step: int,
        parameters: list[Any],
        gradients: list[Any],
        states: list[list[Any]],
    ) -> None:
        lr, _, _ = self._run_time(options, step)
        _C.multi_tensor_adagrad_update_(
            parameters,
            *states,
            gradients,
            lr,
            options["eps"],
            l2=options["weight_decay"],
            numbers=options.get("numbers", ()),
        )

    def _run_time(self, options: dict[str, Any], step: int) -> tuple[float, float, float]:
        return float(options["lr"]) / (1 + (step - 1) * options["lr_decay"]), 1.0, 1.0
