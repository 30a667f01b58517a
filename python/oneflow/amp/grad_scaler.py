"""GradScaler: keeps small gradients from vanishing in float16."""

from __future__ import annotations

import math
from typing import Any

from oneflow import _oneflow_internal
from oneflow.autograd.autograd_mode import no_grad
from oneflow.optim.optimizer import Optimizer

_C = _oneflow_internal._C
Tensor = _oneflow_internal.Tensor


class GradScaler:
    """Scales the loss, and its gradients back, by a factor that is as large as gradients allow.

    `scale` the loss before backward; then `step` an optimizer, which is left alone if a gradient is
    not finite; then `update` the factor: less after a step that was left out, more after many good
    ones.

    Args:
        init_scale: the first factor; default 65536
        growth_factor: what it is multiplied by after `growth_interval` good steps; default 2
        backoff_factor: what it is multiplied by after one that was left out; default 0.5
        growth_interval: default 2000
        enabled: False makes `scale` and `step` do nothing but their plain work; default True

    Raises:
        ValueError: a number is out of range.

    Example:
        >>> import oneflow as flow
        >>> w = flow.nn.Parameter(flow.ones(1))
        >>> sgd, scaler = flow.optim.SGD([w], lr=0.5), flow.amp.GradScaler(init_scale=8.0)
        >>> scaler.scale((w * 2).sum()).backward()
        >>> w.grad
        tensor([16.], dtype=oneflow.float32)
        >>> scaler.step(sgd)
        >>> scaler.update()
        >>> w.detach()
        tensor([0.], dtype=oneflow.float32)

    Source: Micikevicius et al., "Mixed precision training", 2018.
    """

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if not (init_scale > 0 and growth_factor > 1 and 0 < backoff_factor < 1):
            raise ValueError(
                "[GradScaler] expects init_scale above 0, growth_factor above 1 and backoff_factor "
                f"between 0 and 1, got {init_scale}, {growth_factor} and {backoff_factor}"
            )
        if growth_interval < 1:
            raise ValueError(
                f"[GradScaler] expects growth_interval of at least 1, got {growth_interval}"
            )
        self._init_scale = init_scale
        self._scale = float(init_scale)
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._growth_tracker = 0
        self._enabled = enabled
        # For each optimizer since the last update: whether its gradients were finite.
        self._finite: dict[int, bool] = {}
        self._stepped: set[int] = set()

    def is_enabled(self) -> bool:
        """Whether it scales."""
        return self._enabled

    def get_scale(self) -> float:
        """The factor; 1 if it is not enabled."""
        return self._scale if self._enabled else 1.0

    def scale(self, outputs: Any) -> Any:
        """The tensors times the factor.

        Args:
            outputs: a Tensor, or a list or tuple of such

        Returns:
            the same structure
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(self.scale(output) for output in outputs)
        raise TypeError(f"[GradScaler.scale] expects tensors, got {type(outputs).__name__}")

    def unscale_(self, optimizer: Any) -> None:
        """Divides an optimizer's gradients by the factor, so that they can be clipped.

        Raises:
            TypeError: no Optimizer.
            RuntimeError: it was done already since the last `update`, or by `step`.
        """
        if not self._enabled:
            return
        self._check(optimizer)
        if id(optimizer) in self._finite:
            raise RuntimeError("[GradScaler.unscale_] expects one call for each update, got two")
        gradients = [
            parameter.grad.detach()
            for group in optimizer.param_groups
            for parameter in group["params"]
            if parameter.grad is not None
        ]
        finite = True
        if gradients:
            with no_grad():
                finite = math.isfinite(_C.multi_tensor_norm(gradients, math.inf).item())
                _C.multi_tensor_scale_(gradients, 1.0 / self._scale)
        self._finite[id(optimizer)] = finite

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """`optimizer.step(*args, **kwargs)`, unless a gradient is not finite.

        Returns:
            what the step returned, or None if it was left out

        Raises:
            TypeError: no Optimizer.
            RuntimeError: it was stepped already since the last `update`.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        self._check(optimizer)
        if id(optimizer) in self._stepped:
            raise RuntimeError("[GradScaler.step] expects update() after each step, got two steps")
        if id(optimizer) not in self._finite:
            self.unscale_(optimizer)
        self._stepped.add(id(optimizer))
        return optimizer.step(*args, **kwargs) if self._finite[id(optimizer)] else None

    def update(self, new_scale: float | None = None) -> None:
        """Sets the factor for the next steps, by what was found in the last ones.

        Args:
            new_scale: the factor itself; default none
        """
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not all(self._finite.values()):
            self._scale *= self._backoff_factor
            self._growth_tracker = 0
        elif self._finite:
            self._growth_tracker += 1
            if self._growth_tracker == self._growth_interval:
                self._scale *= self._growth_factor
                self._growth_tracker = 0
        self._finite.clear()
        self._stepped.clear()

    @staticmethod
    def _check(optimizer: Any) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"[GradScaler] expects an Optimizer, got {type(optimizer).__name__}")

    def state_dict(self) -> dict[str, Any]:
        """The factor and its settings; empty if it is not enabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what `state_dict` returned.

        Raises:
            RuntimeError: it is empty, from one that was not enabled.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("[GradScaler.load_state_dict] expects a state, got an empty one")
        self._scale = float(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = state_dict["_growth_tracker"]


class StaticGradScaler(GradScaler):
    """A `GradScaler` whose factor stays; it leaves out steps with gradients that are not finite.

    Args:
        scale_factor: the factor, above 0

    Raises:
        ValueError: it is not.

    Example:
        >>> import oneflow as flow
        >>> scaler = flow.amp.StaticGradScaler(200.0)
        >>> scaler.scale(flow.ones(1))
        tensor([200.], dtype=oneflow.float32)
    """

    def __init__(self, scale_factor: float) -> None:
        if scale_factor <= 0.0:
            raise ValueError(f"[StaticGradScaler] expects scale_factor above 0, got {scale_factor}")
        super().__init__(init_scale=scale_factor)
        self._scale_factor = scale_factor

    def update(self, new_scale: float | None = None) -> None:
        """Makes ready for the next steps; the factor stays."""
        self._finite.clear()
        self._stepped.clear()
