"""global_mode: new tensors are global ones while it lasts."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal
from oneflow.framework import global_tensor


class global_mode:
    """While it lasts, what functions such as `oneflow.ones` and `oneflow.randn` make is global.

    It begins when it is made, not with the `with` block, so that it can also be turned on by a
    call; the block's end, or the object's, brings back what was before.

    Args:
        enabled: whether new tensors are global; False makes them local within an outer mode
        placement, sbp: of the new tensors

    Raises:
        ValueError: enabled without placement or sbp.
        NotImplementedError: a placement of other ranks.

    Example:
        >>> import oneflow as flow
        >>> where = flow.placement("cpu", [0])
        >>> with flow.utils.global_view.global_mode(True, where, flow.sbp.broadcast):
        ...     print(flow.ones(2).is_global)
        True
        >>> flow.ones(2).is_global
        False
    """

    def __init__(self, enabled: bool, placement: Any = None, sbp: Any = None) -> None:
        lies = None
        if enabled:
            if placement is None or sbp is None:
                raise ValueError(
                    "[global_mode] expects placement and sbp where it is enabled, got one or none"
                )
            global_tensor.check_one_rank("global_mode", placement)
            any_dim = global_tensor.MAX_SPLIT_AXIS
            how = global_tensor.as_sbps("global_mode", placement, sbp, any_dim)
            lies = global_tensor.as_text(placement, how)
        self._before = _oneflow_internal.source_global()
        self._ended = False
        _oneflow_internal.set_source_global(lies)

    def __enter__(self) -> global_mode:
        return self

    def __exit__(self, *error: object) -> None:
        if not self._ended:
            self._ended = True
            _oneflow_internal.set_source_global(self._before)

    def __del__(self) -> None:
        if not getattr(self, "_ended", True):
            self.__exit__()


class current_global_mode:
    """What the innermost `global_mode` says, at the time when it is made.

    Example:
        >>> import oneflow as flow
        >>> flow.utils.global_view.current_global_mode().is_enabled
        False
    """

    def __init__(self) -> None:
        self._lies = _oneflow_internal.source_global()

    @property
    def is_enabled(self) -> bool:
        """Whether new tensors are global."""
        return self._lies is not None

    @property
    def placement(self) -> Any:
        """The placement of new tensors.

        Raises:
            RuntimeError: new tensors are local.
        """
        return self._entry("placement", 0)

    @property
    def sbp(self) -> Any:
        """The sbp of new tensors, a tuple.

        Raises:
            RuntimeError: new tensors are local.
        """
        return self._entry("sbp", 1)

    def _entry(self, name: str, which: int) -> Any:
        if not self.is_enabled:
            raise RuntimeError(f"[{name}] expects global_mode to be enabled, got none")
        return global_tensor.from_text(self._lies)[which]
