"""Anomaly mode: finds the first NaN, and names the line that it comes from."""

from __future__ import annotations

from oneflow import _oneflow_internal


def is_anomaly_enabled() -> bool:
    """Whether backward looks for NaN.

    Example:
        >>> import oneflow as flow
        >>> flow.autograd.is_anomaly_enabled()
        False
    """
    return bool(_oneflow_internal.anomaly_mode()[0])


class set_detect_anomaly:
    """Sets anomaly mode at once; as a context manager it restores what was before.

    In anomaly mode backward looks at each gradient as soon as it is computed, and the first that
    has a NaN is an error. It names the op and the line of the forward op whose derivative gave it,
    and the line that called backward. Each look waits for the value, so that a step takes several
    times as long; when off, it costs nothing.

    Args:
        mode: whether backward looks
        check_nan: False to look at nothing after all, as in PyTorch's programs
        check_forward: whether each op that autograd records looks at its result, too

    The mode belongs to the process, not to a thread.

    Raises:
        TypeError: an argument is no bool.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([0.0], requires_grad=True)
        >>> with flow.autograd.set_detect_anomaly(True):
        ...     (x / x).backward()
        Traceback (most recent call last):
        RuntimeError: [div] anomaly: the gradient that its backward gave for input 1 has a NaN ...
        >>> flow.autograd.is_anomaly_enabled()
        False
    """

    def __init__(self, mode: bool, check_nan: bool = True, check_forward: bool = False) -> None:
        options = {"mode": mode, "check_nan": check_nan, "check_forward": check_forward}
        for name, value in options.items():
            if not isinstance(value, bool):
                raise TypeError(
                    f"[{type(self).__name__}] expects a bool as {name}, got {type(value).__name__}"
                )
        self._wanted = (mode and check_nan, mode and check_forward)
        self._before = [_oneflow_internal.set_anomaly_mode(*self._wanted)]
        self._set = True

    def __enter__(self) -> None:
        """The first time, the mode was set already, when the object was made."""
        if not self._set:
            self._before.append(_oneflow_internal.set_anomaly_mode(*self._wanted))
        self._set = False

    def __exit__(self, *error: object) -> None:
        _oneflow_internal.set_anomaly_mode(*self._before.pop())


class detect_anomaly(set_detect_anomaly):
    """Inside it, anomaly mode is on. See `set_detect_anomaly`.

    Args:
        check_nan: False to look at nothing after all
        check_forward: whether each op that autograd records looks at its result, too

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([0.0], requires_grad=True)
        >>> with flow.autograd.detect_anomaly(check_forward=True):
        ...     y = x / x
        Traceback (most recent call last):
        RuntimeError: [div] anomaly: output 0 of shape (1,) has a NaN; no input has one
    """

    def __init__(self, check_nan: bool = True, check_forward: bool = False) -> None:
        for name, value in (("check_nan", check_nan), ("check_forward", check_forward)):
            if not isinstance(value, bool):
                raise TypeError(
                    f"[detect_anomaly] expects a bool as {name}, got {type(value).__name__}"
                )
        self._wanted = (check_nan, check_forward)
        self._before = []
        self._set = False
