"""Numbers at the ends of each dtype, and what an op may make of them.

An op is right where it gives what its formula gives in long double, rounded once; or, since what is
in between may be out of the dtype's range, what the formula gives in the dtype itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from tests.ops.checker import TOLERANCE, evaluated, function_of, run, wide_array
from tests.ops.operands import Operand, numpy_dtype, to_bfloat16
from tests.ops.samples import Sample

import oneflow as flow
from tools.gen.table import Row

Array = np.ndarray[Any, Any]

# What changes at these: rounding, overflow of exp, sinh and squares, integers that floats hold.
SIZES = (
    *(1e-306, 1e-300, 1e-36, 1e-30, 1e-8, 0.25, 0.5, 0.75, 1.5, 2.0, 2.5, 3.0, 7.0, 11.5),
    *(17.5, 20.5, 88.5, 89.0, 89.5, 103.5, 104.5, 709.5, 710.25, 710.5, 744.5, 746.0, 1e4),
    *(2.0**24 + 2, 2.0**31, 2.0**32, 2.0**53, 2.0**63, 2.0**64, 1e20, 1e38, 1e160, 1e300),
)
# These round once, whatever they are given; and a zero has the sign that IEEE 754 says.
EXACT = {
    *("abs", "neg", "copy", "add", "sub", "mul", "div", "square", "sqrt", "ceil", "floor", "trunc"),
    *("round", "scalar_add", "scalar_sub", "scalar_mul", "scalar_div", "scalar_rdiv"),
    *("scalar_radd", "scalar_rmul", "reciprocal"),
}
# A number times a gate from 0 to 1, and the logarithm of a sum from 1 on: the gate, and the sum,
# are within a rounding of 1, which may be all that there is of them. A loss of logits is less one.
GATED = {"silu", "gelu", "fast_gelu", "gelu_with_approximate", "quick_gelu", "mish"}
GATED.add("binary_cross_entropy_with_logits_loss")
BESIDE_ONE = {"log_softmax", "lgamma"}
# Without the samples' strategy: what to give them instead.
PAIRED = {
    "fmod": ("input", "other"),
    "remainder": ("input", "other"),
    "floor_divide": ("input", "other"),
    "trunc_divide": ("input", "other"),
    "max_pair": ("input", "other"),
    "min_pair": ("input", "other"),
    "mse_loss": ("input", "target"),
    "l1_loss": ("input", "target"),
    "smooth_l1_loss": ("logits", "label"),
    "huber_loss": ("input", "target"),
    "binary_cross_entropy_with_logits_loss": ("input", "target"),
}
SINGLE = {"digamma", "erfinv"}
ALONG: dict[str, list[dict[str, Any]]] = {
    "cumsum": [{"dim": 1}],
    "cumprod": [{"dim": 1}],
    "cummax": [{"dim": 1}],
    "cummin": [{"dim": 1}],
    "argmax": [{"dim": 1}],
    "argmin": [{"dim": 1}],
    "max_dim": [{"dim": 1}],
    "min_dim": [{"dim": 1}],
    "sort": [{"dim": 1}, {"dim": 1, "descending": True}],
    "topk": [{"k": 2, "dim": 1}, {"k": 1, "dim": 1, "largest": False}],
    "kthvalue": [{"k": 2, "dim": 1}],
    "median_dim": [{"dim": 1}],
    "softmax": [{"dim": 1}],
    "log_softmax": [{"dim": 1}],
    "vector_norm": [{"ord": n, "dim": [1]} for n in (2, 1, float("inf"), float("-inf"), 0, 3)],
    "normalize": [{"dim": 1}],
}


def ends(dtype: str, few: bool = False) -> Array:
    """Numbers of a dtype: NaN, infinities, zeros, the least, the largest, and some between."""
    kind = numpy_dtype(dtype)
    if kind.kind == "b":
        return np.array([False, True])
    if kind.kind in "iu":
        info = np.iinfo(kind)
        near = [n for n in (-3, -2, -1, 0, 1, 2, 3, 7) if n >= info.min]
        far = [info.max // 2, info.max - 1, info.max]
        return np.array([info.min, info.min + 1, *near, *far], kind)
    limits = np.finfo(kind)
    own: list[Any] = [
        limits.smallest_subnormal,
        5 * limits.smallest_subnormal,
        limits.tiny,
        limits.eps,
    ]
    own += [1 - limits.eps, 1.0, 1 + limits.eps, limits.max / 2, limits.max]
    sizes = [*own[::2], 0.5, 2.0, 89.0] if few else [*own, *SIZES]
    with np.errstate(all="ignore"):
        positive = np.array([0.0, *sizes, np.inf], np.float64).astype(kind)
        if dtype == "bfloat16":
            positive = to_bfloat16(positive)
    return np.concatenate([positive, -positive, np.array([np.nan], kind)])


def pairs(dtype: str, count: int) -> Iterator[tuple[str, list[Array]]]:
    """Every combination of the ends: spread over axes, and written out."""
    numbers = ends(dtype, few=count > 2)
    if count == 1:
        yield "dense", [np.tile(numbers, 3)]
        yield "stepped", [np.repeat(numbers, 2)[::2]]
        return
    axes = [
        numbers.reshape([-1 if i == axis else 1 for i in range(count)]) for axis in range(count)
    ]
    yield "spread", axes
    yield "dense", [np.array(a) for a in np.broadcast_arrays(*axes)]


def rows(dtype: str, fill: int) -> Iterator[tuple[str, Array]]:
    """Matrices whose rows hold every two of the ends: alone, and with `fill` between them."""
    numbers = ends(dtype)
    first, second = (a.ravel() for a in np.meshgrid(numbers, numbers))
    yield "two", np.stack([first, second], 1)
    numbers = ends(dtype, few=True)
    first, second = (a.ravel() for a in np.meshgrid(numbers, numbers))
    long = np.full((first.size, 67), fill).astype(first.dtype)
    long[:, 3], long[:, 64] = first, second
    yield "long", long
    columns = np.ascontiguousarray(long.T)
    yield "columns", columns.T


@dataclass
class Case:
    """One call."""

    row: Row
    sample: Sample
    dtype: str

    def check(self) -> None:
        """AssertionError where a result is not as it may be; it names the operands."""
        results = run(self.row, self.sample, function_of(self.row))
        narrow = np.dtype(np.float32) if self.dtype == "bfloat16" else numpy_dtype(self.dtype)
        case = self
        if narrow.kind in "iu" and results[0].is_floating_point():
            narrow = np.dtype(np.float32)  # which the integers are taken as
            case = self._with(narrow)
        allowed = [case.formula(narrow)]
        if not self.exact and narrow.kind == "f":
            allowed.append(case.formula(np.longdouble))
        for i, tensor in enumerate(results):
            self._compare(tensor, [answer[i] for answer in allowed if i < len(answer)])

    def _with(self, kind: np.dtype[Any]) -> Case:
        """The same call, with operands of another dtype."""
        changed = {
            name: replace(given, base=given.base.astype(kind))
            if isinstance(given, Operand)
            else given
            for name, given in self.sample.arguments.items()
        }
        return Case(self.row, Sample(self.sample.label, changed), kind.name)

    @property
    def exact(self) -> bool:
        """Whether one rounding is all that may happen."""
        return self.row.name in EXACT

    def formula(self, kind: Any) -> list[Array]:
        """The row's formula with floats of a kind; float16 computes in float32."""
        if numpy_dtype(self.dtype).kind == "f":
            kind = np.float32 if kind == np.float16 else kind
        return evaluated(self.row, self.sample, kind)

    def _compare(self, tensor: flow.Tensor, allowed: list[Array]) -> None:
        short = tensor.dtype == flow.bfloat16
        got = wide_array(tensor)
        right = np.zeros(got.shape, bool)
        wanted = [rounded(np.asarray(want), got.dtype, short) for want in allowed]
        for want in wanted:
            assert want.shape == got.shape, f"{self.row.name}: shape {got.shape}, not {want.shape}"
            dtype = "bfloat16" if short else got.dtype.name
            right |= agrees(got, want, dtype, self.exact, self._slack(got.dtype))
        if not right.all():
            raise AssertionError(self._report(got, wanted, np.argwhere(~right)))

    def _slack(self, kind: np.dtype[Any]) -> Any:
        """What a result may be off by, however small it is."""
        if kind.kind != "f":
            return 0.0
        step = np.finfo(np.float32 if kind == np.float16 else kind).eps
        if self.row.name in BESIDE_ONE:
            return step
        sizes = [np.abs(v.array().astype(np.float64)) for v in self.sample.operands.values()]
        finite = [np.where(np.isfinite(size), size, 0.0) for size in sizes]
        return finite[0] * step if self.row.name in GATED else 0.0

    def _report(self, got: Array, wanted: list[Array], places: Array) -> str:
        what = f"{self.row.name} on {self.dtype} {self.sample.label}"
        lines = [f"{what}: {len(places)} of {got.size}"]
        for place in places[:6]:
            at = tuple(int(i) for i in place)
            given = []
            for name, operand in self.sample.operands.items():
                array = operand.array()
                if array.ndim == len(at):
                    whole = self.row.name in ALONG or self.row.strategy.startswith("reduce")
                    array = array[at[0]] if whole else np.broadcast_to(array, got.shape)[at]
                given.append(f"{name}={np.array2string(np.asarray(array), threshold=4)}")
            words = " or ".join(str(want[at]) for want in wanted)
            lines.append(f"  {', '.join(given)}: got {got[at]}, want {words}")
        return "\n".join(lines)


def rounded(want: Array, kind: np.dtype[Any], short: bool) -> Array:
    """A reference as a result's dtype holds it."""
    with np.errstate(all="ignore"):
        narrow = want.astype(kind) if kind.kind == "f" else want
    if not short:
        return narrow
    bits = narrow.view(np.uint32)
    nearest = (bits + (0x7FFF + ((bits >> 16) & 1)).astype(np.uint32)) & np.uint32(0xFFFF0000)
    return np.where(np.isfinite(narrow), nearest.view(np.float32), narrow)


def agrees(got: Array, want: Array, dtype: str, exact: bool, slack: Any = 0.0) -> Array:
    """Where a result is what it should be, but for `slack` and the error of a rounding or some."""
    if got.dtype.kind != "f":
        return np.asarray(got == want)
    alike = (got == want) | (np.isnan(got) & np.isnan(want))
    if exact:
        return alike & ((want != 0) | (np.signbit(got) == np.signbit(want)))
    relative = TOLERANCE[dtype][0]
    least = 6e-8 if dtype == "float16" else np.finfo(got.dtype).tiny
    with np.errstate(all="ignore"):
        error = np.abs(got.astype(np.longdouble) - want)
        near = error <= least + slack + relative * np.abs(want)
    return np.asarray(alike | (near & np.isfinite(got) & np.isfinite(want)))


def cases(row: Row, dtype: str) -> Iterator[Case]:
    """The calls that a row is tried with."""
    for label, given in _arguments(row, dtype):
        made = {
            name: Operand.of(v, dtype) if isinstance(v, np.ndarray) else v
            for name, v in given.items()
        }
        yield Case(row, Sample(label, made), dtype)


def _arguments(row: Row, dtype: str) -> Iterator[tuple[str, dict[str, Any]]]:
    tensors = [p.name for p in row.signature.tensors if p.type == "Tensor" and p.required]
    own = [dict(s) for s in row.samples if not set(tensors) & set(s)] or [{}]
    if row.name in PAIRED:
        own = [{"reduction": "none"}] if row.name.endswith("_loss") else [{}]
        tensors = list(PAIRED[row.name])
    elif row.name in SINGLE:
        own = [{}]
    elif row.name in ALONG or row.strategy.startswith("reduce"):
        along = ALONG.get(row.name) or [{**s, "dim": 1} for s in own]
        for label, matrix in rows(dtype, 1 if "prod" in row.name else 0):
            for extra in along:
                yield f"{label} {extra}", {tensors[0]: matrix, **extra}
        return
    for extra in own:
        if isinstance(extra.get("dtype"), str):
            extra = {**extra, "dtype": numpy_dtype(extra["dtype"])}
        for label, arrays in pairs(dtype, len(tensors)):
            if row.name.endswith("_loss") and label == "spread":
                continue  # a loss takes equal shapes
            if row.name.startswith("binary_cross_entropy"):
                used = np.isfinite(arrays[0]) & np.isin(arrays[1], [0, 0.25, 1])
                arrays = [array[used] for array in arrays]
            yield f"{label} {extra or ''}", {**dict(zip(tensors, arrays)), **extra}


def family(row: Row) -> str:
    """The file of the op table that a row stands in."""
    return Path(row.source.file).stem
