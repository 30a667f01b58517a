"""autocast: products in a short dtype, what needs precision in float32."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from oneflow import _oneflow_internal

__all__ = ["autocast", "autocast_decorator"]


class autocast:
    """Runs the ops inside with operands in a short dtype, where that is fast and precise enough.

    Products of matrices and convolutions get their operands in the short dtype; layer and group
    norm, softmax, losses and recurrent layers in float32; other ops take what they are given, and
    promote as ever. Batch norm gives its input's dtype, with statistics in float32. Operands of
    float64 and integers stay as they are. Gradients come back in the dtype of the parameters. Works
    as a context manager, nested too, and as a decorator, for the calling thread.

    Args:
        device_type: "cpu" or "cuda"
        dtype: the short dtype; default bfloat16 on the CPU, float16 on a GPU
        enabled: False turns autocast off inside; default True
        cache_enabled: whether the cast of a parameter is kept until the outermost context ends;
            default what `is_autocast_cache_enabled` says, at first True

    Raises:
        RuntimeError: the device type is neither.
        TypeError: `dtype` is no floating dtype.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.Linear(2, 3)
        >>> with flow.autocast("cpu"):
        ...     y = layer(flow.ones(1, 2))
        >>> y.dtype, layer(flow.ones(1, 2)).dtype
        (oneflow.bfloat16, oneflow.float32)

    Source: Micikevicius et al., "Mixed precision training", 2018.
    """

    def __init__(
        self,
        device_type: str,
        dtype: Any = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if device_type not in ("cpu", "cuda"):
            raise RuntimeError(f"[autocast] expects device type cpu or cuda, got {device_type!r}")
        place = "cpu" if device_type == "cpu" else "gpu"
        self.device = device_type
        self.enabled = bool(enabled)
        self._get = getattr(_oneflow_internal, f"get_autocast_{place}_dtype")
        self._set = getattr(_oneflow_internal, f"set_autocast_{place}_dtype")
        self.fast_dtype = self._get() if dtype is None else dtype
        cached = _oneflow_internal.is_autocast_cache_enabled()
        self.cache_enabled = cached if cache_enabled is None else bool(cache_enabled)
        self._before: list[tuple[bool, Any, bool]] = []
        before = self._get()
        self._set(self.fast_dtype)  # raises TypeError for what is no floating dtype
        self._set(before)

    def __enter__(self) -> autocast:
        enabled = _oneflow_internal.is_autocast_enabled()
        cached = _oneflow_internal.is_autocast_cache_enabled()
        self._before.append((enabled, self._get(), cached))
        self._set(self.fast_dtype)
        _oneflow_internal.set_autocast_enabled(self.enabled)
        _oneflow_internal.set_autocast_cache_enabled(self.cache_enabled)
        return self

    def __exit__(self, *error: object) -> None:
        enabled, dtype, cached = self._before.pop()
        self._set(dtype)
        _oneflow_internal.set_autocast_enabled(enabled)
        _oneflow_internal.set_autocast_cache_enabled(cached)
        if not enabled:
            _oneflow_internal.clear_autocast_cache()

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        return autocast_decorator(self, func)


def autocast_decorator(autocast_instance: autocast, func: Callable[..., Any]) -> Callable[..., Any]:
    """The function, run inside a context of autocast.

    Example:
        >>> import oneflow as flow
        >>> @flow.autocast("cpu", dtype=flow.float16)
        ... def product(x):
        ...     return flow.matmul(x, x)
        >>> product(flow.ones(2, 2)).dtype
        oneflow.float16
    """

    @functools.wraps(func)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with autocast_instance:
            return func(*args, **kwargs)

    return decorated
