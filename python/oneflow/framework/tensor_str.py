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


MOST_DIGITS = 340  # after these, and before, no float64 has any


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
        ValueError: a number is negative or too large, or the profile is unknown.

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
        most = MOST_DIGITS if name == "precision" else 2**62
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
            raise ValueError(
                f"[set_printoptions] expects {name} of at least 0 and at most {most}, got {value!r}"
            )
    if sci_mode is not None and not isinstance(sci_mode, bool):
        raise ValueError(f"[set_printoptions] expects sci_mode to be a bool, got {sci_mode!r}")
    PRINT_OPTS = replace(PRINT_OPTS, **chosen, sci_mode=sci_mode)


def tensor_repr(tensor: Any) -> str:
    """What `repr(tensor)` is: the elements, then what is not obvious from them.

    Example:
        >>> import oneflow as flow
        >>> flow.tensor([[1, 2]])
        tensor([[1, 2]], dtype=oneflow.int64)
    """
    lazy = tensor.is_lazy  # in the build of a graph: there are no elements yet
    elements = "..." if lazy else _elements(tensor, PRINT_OPTS, len("tensor("))
    suffixes = ["lazy"] if lazy else []
    if lazy or (tensor.numel() == 0 and tensor.ndim > 1):
        suffixes.append(f"size={tuple(tensor.shape)}")
    if tensor.is_global:
        suffixes.append(f"placement={tensor.placement!r}")
        suffixes.append(f"sbp={tensor.sbp!r}")
    elif tensor.device.type != "cpu":
        suffixes.append(f"device='{tensor.device}'")
    suffixes.append(f"dtype={tensor.dtype}")
    if tensor.grad_fn is not None:
        suffixes.append(f"grad_fn={_function_name(tensor.grad_fn)}")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    text = _with_suffixes(f"tensor({elements}", suffixes, PRINT_OPTS.linewidth)
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


def _with_suffixes(text: str, suffixes: list[str], linewidth: int) -> str:
    """What follows the elements, on lines of its own where it does not fit."""
    for suffix in suffixes:
        last = len(text) - text.rfind("\n") - 1
        fits = last + len(suffix) + 3 <= linewidth
        text += f", {suffix}" if fits else ",\n" + " " * len("tensor(") + suffix
    return text + ")"


def _elements(tensor: Any, options: PrintOptions, indent: int) -> str:
    if tensor.numel() == 0:
        return "[]"
    values = _on_host(tensor, options)
    cut = tensor.numel() > options.threshold
    shown = _without_middles(values, options.edgeitems) if cut else values
    formatter = _FloatFormatter(shown, options) if values.dtype.kind == "f" else _Formatter(shown)
    return _lines(values, formatter, options, indent, cut)


def _without_middles(values: np.ndarray[Any, Any], edge: int) -> np.ndarray[Any, Any]:
    """What the dots do not stand for."""
    for axis, length in enumerate(values.shape):
        if length > 2 * edge:
            kept = [*range(edge), *range(length - edge, length)]
            values = np.take(values, kept, axis=axis)
    return values


def _lines(
    values: np.ndarray[Any, Any], formatter: Any, options: PrintOptions, indent: int, cut: bool
) -> str:
    """The elements in brackets; lines after the first begin below the first bracket's content."""
    if values.ndim == 0:
        return str(formatter(values[()]))
    edge, length = options.edgeitems, values.shape[0]
    dots = cut and length > 2 * edge
    kept = [*range(edge), *range(length - edge, length)] if dots else [*range(length)]
    if values.ndim > 1:
        parts = [_lines(values[i], formatter, options, indent + 1, cut) for i in kept]
        if dots:
            parts.insert(edge, "...")
        return "[" + ("," + "\n" * (values.ndim - 1) + " " * (indent + 1)).join(parts) + "]"
    words = [formatter(values[i]) for i in kept]
    width = max((len(word) for word in words), default=0) if values.dtype.kind != "f" else 0
    per_line = max(1, (options.linewidth - indent) // (max(formatter.width, width) + 2))
    if dots:
        words.insert(edge, " ...")
    lines = [", ".join(words[i : i + per_line]) for i in range(0, len(words), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


class _Formatter:
    """One width for all elements, so that columns align."""

    def __init__(self, shown: np.ndarray[Any, Any]) -> None:
        self.width = max((len(str(value)) for value in shown.flat), default=0)
        self.width = self.width if shown.ndim else 0

    def __call__(self, value: Any) -> str:
        return f"{value!s:>{self.width}}"


class _FloatFormatter:
    """One format for all elements: whole, decimals, or powers of ten.

    The width is that of the widest finite number but zero; others may be wider.
    """

    def __init__(self, shown: np.ndarray[Any, Any], options: PrintOptions) -> None:
        finite = shown[np.isfinite(shown)].astype(np.float64)
        numbers = finite[finite != 0]
        magnitudes = np.abs(numbers)
        whole = bool((finite == np.rint(finite)).all())
        scientific = options.sci_mode
        if scientific is None:
            most, least = (magnitudes.max(), magnitudes.min()) if numbers.size else (1.0, 1.0)
            scientific = bool(most / least > 1000.0 or most > 1e8 or (not whole and least < 1e-4))
        self.pattern = f".{options.precision}{'e' if scientific else 'f'}"
        self.point = whole and not scientific
        self.pattern = ".0f" if self.point else self.pattern
        self.width = 0
        self.width = max((len(self(value)) for value in numbers), default=1) if shown.ndim else 0

    def __call__(self, value: float) -> str:
        text = format(value, self.pattern)
        text += "." if self.point and np.isfinite(value) else ""
        return f"{text:>{self.width}}"
