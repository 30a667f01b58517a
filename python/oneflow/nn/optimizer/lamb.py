"""LAMB."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal
from oneflow.nn.optimizer.adam import AdamBase

_C = _oneflow_internal._C


class LAMB(AdamBase):
    """Adam whose steps are as long, relative to each other, as the parameters: for large batches.

    With m and v as in `Adam`:

        d = m / (1 - beta1 ** t) / (sqrt(v / (1 - beta2 ** t)) + eps)
        p = p - lr * norm(p) / norm(d) * (d + weight_decay * p)

    where a ratio with a norm of zero is 1.

    Args:
        params: an iterable of tensors, or of dicts with "params" and options of their own
        lr: learning rate; default 0.001
        betas: decays of the two averages, from 0 to below 1; default (0.9, 0.999)
        eps: default 1e-8
        weight_decay: default 0
        adam_w_mode: whether the weight decay is beside the averages, as above, or added to the
            gradient; default True
        do_bias_correction: whether to divide by (1 - beta ** t); default True
        amsgrad: must be False
        contiguous_params, fused: accepted, without effect: see `SGD`

    Raises:
        RuntimeError: `amsgrad`.
        ValueError: a number is negative, not finite, or a beta not below 1.
        TypeError: a parameter is no Tensor.

    Example:
        >>> import oneflow as flow
        >>> w = flow.nn.Parameter(flow.ones(1))
        >>> lamb = flow.optim.LAMB([w], lr=0.1)
        >>> (w * 2).sum().backward()
        >>> lamb.step()
        >>> w.detach()
        tensor([0.9000], dtype=oneflow.float32)

    Source: You et al., "Large batch optimization for deep learning", 2020.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-08,
        weight_decay: float = 0,
        adam_w_mode: bool = True,
        do_bias_correction: bool = True,
        amsgrad: bool = False,
        contiguous_params: bool = False,
        fused: bool = False,
    ) -> None:
        if amsgrad:
            raise RuntimeError("[LAMB] expects amsgrad=False, got True: it has no such variant")
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "adam_w_mode": adam_w_mode,
                "do_bias_correction": do_bias_correction,
                "amsgrad": False,
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
        decay = {"weight_decay" if options["adam_w_mode"] else "l2": options["weight_decay"]}
        numbers = self._numbers(options, step)
        given = options.get("numbers", ())
        _C.multi_tensor_lamb_update_(
            parameters, *states, gradients, *numbers, **decay, numbers=given
        )
