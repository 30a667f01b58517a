"""FTRL."""

from __future__ import annotations

from typing import Any

from oneflow.framework.creation import full_like
from oneflow.optim.optimizer import Optimizer, check_number


class Ftrl(Optimizer):
    """Follows the regularised leader: steps that leave many parameters exactly 0.

    With gradient g of parameter p, and g = g + weight_decay * p, q = lr_power:

        m = n + g * g
        z = z + g - (m ** q - n ** q) / lr * p
        n = m
        p = 0 where |z| < lambda1, else (sign(z) * lambda1 - z) / ((beta + n ** q) / lr + lambda2)

    The source's is lr_power=0.5; the default is OneFlow's.

    Args:
        params: an iterable of tensors, or of dicts with "params" and options of their own
        lr: learning rate; default 0.001
        weight_decay: default 0
        lr_power: the power of the sum of squares by which the rate falls; default -0.5
        initial_accumulator_value: the first n; default 0.1
        lambda1: how much is set to 0; default 0
        lambda2: how much parameters shrink; default 0
        beta: default 0

    Raises:
        ValueError: a number other than lr_power is negative or not finite.
        TypeError: a parameter is no Tensor.

    Example:
        >>> import oneflow as flow
        >>> w = flow.nn.Parameter(flow.ones(1))
        >>> ftrl = flow.one_embedding.Ftrl([w], lr=0.5, lr_power=0.5, initial_accumulator_value=0.0)
        >>> (w * 2).sum().backward()
        >>> ftrl.step()
        >>> w.detach()
        tensor([0.5000], dtype=oneflow.float32)

    Source: McMahan et al., "Ad click prediction: a view from the trenches", 2013.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 0.001,
        weight_decay: float = 0.0,
        lr_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        lambda1: float = 0.0,
        lambda2: float = 0.0,
        beta: float = 0.0,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "weight_decay": weight_decay,
                "lr_power": lr_power,
                "initial_accumulator_value": initial_accumulator_value,
                "lambda1": lambda1,
                "lambda2": lambda2,
                "beta": beta,
            },
        )

    def _check_options(self, options: dict[str, Any]) -> None:
        for name in ("lr", "weight_decay", "initial_accumulator_value", "lambda1", "lambda2",
                     "beta"):  # fmt: skip
            check_number("Ftrl", name, options[name])

    def _state_names(self, options: dict[str, Any]) -> tuple[str, ...]:
        return ("accumulate", "z")

    def _new_state(self, name: str, parameter: Any, options: dict[str, Any]) -> Any:
        first = options["initial_accumulator_value"] if name == "accumulate" else 0.0
        return full_like(parameter.detach(), first)

    def _update(
        self,
        options: dict[str, Any],
        step: int,
        parameters: list[Any],
        gradients: list[Any],
        states: list[list[Any]],
    ) -> None:
        lr, power, edge = options["lr"], options["lr_power"], options["lambda1"]
        numbers = options.get("numbers", ())  # in a graph, where the learning rate is an input
        for p, g, n, z in zip(parameters, gradients, *states):
            lr = numbers[0][0].to(p.dtype) if numbers else lr
            g = g + p * options["weight_decay"]
            total = n + g * g
            pull = z + g - (total**power - n**power) / lr * p
            scale = (total**power + options["beta"]) / lr + options["lambda2"]
            moved = ((pull.sign() * edge - pull) / scale).masked_fill(pull.abs() < edge, 0.0)
            n.copy_(total)
            z.copy_(pull)
            p.copy_(moved)
