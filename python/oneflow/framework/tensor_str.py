"""How a tensor is printed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from oneflow import _oneflow_internal

_C = _oneflow_internal._C


@dataclass(frozen=True)
class PrintOptions:
    """See `set_printoptions`."""

    precision: int = 4
    threshold: int = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


PRINT_OPTS = PrintOptions()


def set_printoptions(
    precision: int | None = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Sets how tensors are printed; what is not given stays.

    Args:
        precision: digits after the point; at first 4
        threshold: from how many elements on only the edges are printed; at first 1000
        edgeitems: how many elements an edge has; at first 3
        linewidth: characters in a line; at first 80
        profile: "default", "short" (2 digits, edges of 2) or "full" (every element)
        sci_mode: whether to use powers of ten; default where it is clearer

    Raises:
        ValueError: a number is negative, or the profile is unknown.

    Example:
        >>> import oneflow as flow
        >>> flow.set_printoptions(precision=2)
        >>> flow.tensor([3.14159])
        tensor([3.14], dtype=oneflow.float32)
        >>> flow.set_printoptions(profile="default")
    """
    global PRINT_OPTS
    profiles: dict[str | None, dict[str, Any]] = {
        None: {},
        "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
        "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
        "full": {"precision": 4, "threshold": 2**62, "edgeitems": 3, "linewidth": 80},
    }
    if profile not in profiles:
        raise ValueError(f"[set_printoptions] expects default, short or full, got {profile!r}")
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    chosen = {**profiles[profile], **{k: v for k, v in given.items() if v is not None}}
    for name, value in chosen.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise ValueError(f"[set_printoptions] expects {name} of at least 0, got {value!r}")
    PRINT_OPTS = replace(PRINT_OPTS, **chosen, sci_mode=sci_mode)


def tensor_repr(tensor: Any) -> str:
    """What `repr(tensor)` is: the elements, then what is not obvious from them.

    Example:
        >>> import oneflow as flow
        >>> flow.tensor([[1, 2]])
        tensor([[1, 2]], dtype=oneflow.int64)
    """
    parts = [_elements(tensor, PRINT_OPTS, len("tensor("))]
    if tensor.numel() == 0 and tensor.ndim > 1:
        parts.append(f"size={tuple(tensor.shape)}")
    if tensor.device.type != "cpu":
        parts.append(f"device='{tensor.device}'")
    parts.append(f"dtype={tensor.dtype}")
    if tensor.grad_fn is not None:
        parts.append(f"grad_fn={_function_name(tensor.grad_fn)}")
    elif tensor.requires_grad:
        parts.append("requires_grad=True")
    text = f"tensor({', '.join(parts)})"
    if isinstance(tensor, _parameter_class()):
        return f"Parameter containing:\n{text}"
    return text


def _parameter_class() -> Any:
    """nn.Parameter if `nn` was imported; a program that never named it has no parameters."""
    import sys

    module = sys.modules.get("oneflow.nn.parameter")
    return module.Parameter if module is not None else ()


def _function_name(function: Any) -> str:
    text = repr(function)
    if text.startswith("<") and " object at " not in text:
        return text
    name = getattr(function, "name", type(function).__name__)
    name = name() if callable(name) else name
    return f"<{name}>"


def _on_host(tensor: Any, options: PrintOptions) -> np.ndarray[Any, Any]:
    """What will be printed: all elements, or of long axes both edges and one element between them.

    A copy, because the memory of the tensor itself would count as shared with NumPy ever after.
    """
    part = tensor.detach().cpu()
    if part.dtype == _oneflow_internal.bfloat16:
        part = part.float()
    if part.numel() <= options.threshold:
        return _C.copy(part).numpy()
    return _edges(part, 0, options.edgeitems)


def _edges(tensor: Any, axis: int, edge: int) -> np.ndarray[Any, Any]:
    if axis == tensor.ndim:
        return _C.copy(tensor).numpy()
    length = tensor.shape[axis]
    if length <= 2 * edge + 1:
        return _edges(tensor, axis + 1, edge)
    # `edge` of 0 leaves one element, for which the dots stand.
    first = _edges(_C.narrow(tensor, axis, 0, edge + 1), axis + 1, edge)
    last = _edges(_C.narrow(tensor, axis, length - edge, edge), axis + 1, edge)
    return np.concatenate([first, last], axis=axis)


def _elements(tensor: Any, options: PrintOptions, indent: int) -> str:
    if tensor.numel() == 0:
        return "[]"
    values = _on_host(tensor, options)
    if values.dtype.kind == "f":
        formatter = _float_formatter(values, options)
    else:
        width = max(len(str(value)) for value in values.flat) if values.ndim else 0
        formatter = lambda value: f"{value!s:>{width}}"  # noqa: E731
    return np.array2string(
        values,
        max_line_width=options.linewidth,
        separator=", ",
        prefix=" " * indent,
        formatter={"all": formatter},
        threshold=0 if tensor.numel() > options.threshold else values.size,
        edgeitems=options.edgeitems,
    )


def _float_formatter(shown: np.ndarray[Any, Any], options: PrintOptions) -> Any:
    """One format for all elements, so that columns align: whole, decimals, or powers of ten."""
    finite = shown[np.isfinite(shown)].astype(np.float64)
    nonzero = np.abs(finite[finite != 0])
    whole = bool((finite == np.rint(finite)).all())
    largest, smallest = (nonzero.max(), nonzero.min()) if nonzero.size else (0.0, 1.0)
    scientific = options.sci_mode
    if scientific is None:
        spread = largest / smallest > 1000.0 if nonzero.size else False
        scientific = largest > 1e8 or (not whole and (spread or smallest < 1e-4))
    if scientific:
        pattern = f".{options.precision}e"
    else:
        pattern = ".0f" if whole else f".{options.precision}f"

    def one(value: float) -> str:
        text = format(value, pattern)
        return text + "." if pattern == ".0f" and np.isfinite(value) else text

    width = max(len(one(value)) for value in shown.flat) if shown.ndim else 0
    return lambda value: f"{one(value):>{width}}"
