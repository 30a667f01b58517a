"""Adam."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal
from oneflow.optim.optimizer import Optimizer, check_fraction, check_number

_C = _oneflow_internal._C


class AdamBase(Optimizer):
    """What Adam, AdamW and LAMB share: their options, their averages and the correction of these.

    Example:
        >>> import oneflow as flow
        >>> isinstance(flow.optim.Adam([flow.nn.Parameter(flow.ones(1))]), flow.optim.Optimizer)
        True
    """

    def _check_options(self, options: dict[str, Any]) -> None:
        for name in ("lr", "eps", "weight_decay"):
            check_number(self._name, name, options[name])
        betas = options["betas"]
        if not isinstance(betas, (tuple, list)) or len(betas) != 2:
            raise ValueError(f"[{self._name}] expects two numbers as betas, got {betas!r}")
        for i in range(2):
            check_fraction(self._name, f"betas[{i}]", betas[i])

    def _state_names(self, options: dict[str, Any]) -> tuple[str, ...]:
        names = ("exp_avg", "exp_avg_sq")
        return (*names, "max_exp_avg_sq") if options["amsgrad"] else names

    def _numbers(self, options: dict[str, Any], step: int) -> list[Any]:
        """What the ops are told: learning rate, decays, epsilon and corrections at a step."""
        beta1, beta2 = options["betas"]
        corrections = [1.0, 1.0]
        if options["do_bias_correction"]:
            corrections = [1.0 - beta1**step, 1.0 - beta2**step]
        return [options["lr"], beta1, beta2, options["eps"], *corrections]

    def _run_time(self, options: dict[str, Any], step: int) -> tuple[float, float, float]:
        lr, *_, first, second = self._numbers(options, step)
        return float(lr), first, second


class Adam(AdamBase):
    """Adam: steps by a running average of the gradients over the root of that of their squares.

    With gradient g of parameter p at step t, and g = g + weight_decay * p:

        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g
        p = p - lr * m / (1 - beta1 ** t) / (sqrt(v / (1 - beta2 ** t)) + eps)

    t counts the steps of the optimizer, for all its parameters.

    Args:
        params: an iterable of tensors, or of dicts with "params" and options of their own
        lr: learning rate; default 0.001
        betas: decays of the two averages, from 0 to below 1; default (0.9, 0.999)
        eps: default 1e-8
        weight_decay: default 0
        amsgrad: whether to divide by the largest v so far; default False
        do_bias_correction: whether to divide by (1 - beta ** t); default True
        contiguous_params, fused: accepted, without effect: see `SGD`

    Raises:
        ValueError: a number is negative, not finite, or a beta not below 1.
        TypeError: a parameter is no Tensor.

    Example:
        >>> import oneflow as flow
        >>> w = flow.nn.Parameter(flow.ones(1))
        >>> adam = flow.optim.Adam([w], lr=0.1)
        >>> (w * 2).sum().backward()
        >>> adam.step()
        >>> w.detach()
        tensor([0.9000], dtype=oneflow.float32)

    Source: Kingma and Ba, "Adam", 2015; Reddi et al., "On the convergence of Adam", 2018.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-08,
        weight_decay: float = 0,
        amsgrad: bool = False,
        do_bias_correction: bool = True,
        contiguous_params: bool = False,
        fused: bool = False,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "amsgrad": amsgrad,
                "do_bias_correction": do_bias_correction,
            },
        )

    def _update(
        self,
        options: dict[str, Any],
        step: int,
        parameters: list[Any],
        gradients: list[Any],
        states: list[list[Any]],
    ) -> None:
        largest = states[2] if options["amsgrad"] else []
        numbers = self._numbers(options, step)
        _C.multi_tensor_adam_update_(
            parameters,
            *states[:2],
            largest,
            gradients,
            *numbers,
            l2=options["weight_decay"],
            numbers=options.get("numbers", ()),
        )


class AdamW(Adam):
    """Adam, but with a weight decay beside the averages: p = p - lr * weight_decay * p.

    Args:
        params: an iterable of tensors, or of dicts with "params" and options of their own
        lr: learning rate; default 0.001
        betas: decays of the two averages, from 0 to below 1; default (0.9, 0.999)
        eps: default 1e-8
        weight_decay: default 0
        amsgrad: whether to divide by the largest v so far; default False
        do_bias_correction: whether to divide by (1 - beta ** t); default True
        contiguous_params, fused: accepted, without effect: see `SGD`

    Raises:
        ValueError: a number is negative, not finite, or a beta not below 1.
        TypeError: a parameter is no Tensor.

    Example:
        >>> import oneflow as flow
        >>> w = flow.nn.Parameter(flow.ones(1))
        >>> adam = flow.optim.AdamW([w], lr=0.1, weight_decay=0.5)
        >>> (w * 2).sum().backward()
        >>> adam.step()
        >>> w.detach()
        tensor([0.8500], dtype=oneflow.float32)

    Source: Loshchilov and Hutter, "Decoupled weight decay regularization", 2019.
    """

    def _update(
        self,
        options: dict[str, Any],
        step: int,
        parameters: list[Any],
        gradients: list[Any],
        states: list[list[Any]],
    ) -> None:
        largest = states[2] if options["amsgrad"] else []
        numbers = self._numbers(options, step)
        decay = options["weight_decay"]
        _C.multi_tensor_adam_update_(
            parameters,
            *states[:2],
            largest,
            gradients,
            *numbers,
            weight_decay=decay,
            numbers=options.get("numbers", ()),
        )
