"""Checks of one op on one sample; each raises AssertionError that names op and sample."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from tests.ops.operands import Operand
from tests.ops.reference import NAMES
from tests.ops.samples import Sample

import oneflow as flow
from tools.gen.table import Row

TOLERANCE = {"float32": (2e-5, 2e-6), "float64": (1e-10, 1e-12)}
STEP = 1e-6

Call = Callable[..., Any]


def function_of(row: Row, inplace: bool = False) -> Call:
    """The Python function that a row is called by."""
    return getattr(flow._C, row.inplace_name if inplace else row.python_name)


def arguments(
    row: Row, sample: Sample, tensors: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword arguments, as a user would write them."""
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    by_name = False
    for param in row.signature.params:
        if param.name not in sample.arguments:
            by_name = True
            continue
        given = tensors.get(param.name, sample.arguments[param.name])
        if isinstance(given, np.dtype):
            given = getattr(flow, given.name)
        if by_name or param.keyword_only:
            keywords[param.name] = given
        else:
            positional.append(given)
    return positional, keywords


def run(row: Row, sample: Sample, call: Call, tensors: dict[str, Any] | None = None) -> list[Any]:
    """Calls the op; its results as a list."""
    made = tensors or {
        name: v.tensor(v.leaf()) for name, v in sample.arguments.items() if isinstance(v, Operand)
    }
    positional, keywords = arguments(row, sample, made)
    result = call(*positional, **keywords)
    return list(result) if isinstance(result, (tuple, list)) else [result]


def expected(row: Row, sample: Sample) -> list[np.ndarray]:
    """What numpy says, computed in float64."""
    names = dict(NAMES)
    for param in row.signature.params:
        given = sample.arguments.get(param.name, param.default)
        if isinstance(given, Operand):
            array = given.array()
            given = array.astype(np.float64) if array.dtype.kind == "f" else array
        names[param.name] = given
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # numpy's word on a mean of nothing
        result = eval(row.numpy, names)
    return [np.asarray(r) for r in (result if isinstance(result, tuple) else (result,))]


def check_forward(row: Row, sample: Sample, call: Call) -> None:
    """The op's results against numpy's."""
    results = run(row, sample, call)
    wanted = expected(row, sample)
    for got, want in zip(results, wanted):
        compare(row, sample, got.numpy(), want)


def compare(row: Row, sample: Sample, got: np.ndarray, want: np.ndarray) -> None:
    """Shape, kind of dtype, and values."""
    what = f"{row.name} on {sample.label}"
    assert got.shape == want.shape, f"{what}: shape {got.shape}, expected {want.shape}"
    assert got.dtype.kind == want.dtype.kind, f"{what}: dtype {got.dtype}, expected {want.dtype}"
    rtol, atol = TOLERANCE.get(got.dtype.name, (0.0, 0.0))
    longest = max((v.base.size for v in sample.arguments.values() if isinstance(v, Operand)),
                  default=1)  # fmt: skip
    slack = max(1.0, longest / 1000.0)
    np.testing.assert_allclose(got, want, rtol=rtol * slack, atol=atol * slack, err_msg=what)


def differentiable(row: Row, sample: Sample) -> list[str]:
    """The operands whose gradient is checked."""
    if row.not_differentiable or row.python_name.endswith("_"):
        return []
    floats = [
        name
        for name, v in sample.arguments.items()
        if isinstance(v, Operand) and v.base.dtype.kind == "f" and name not in row.constants
    ]
    return [name for name in floats if row.composite or name in row.backward]


def check_gradient(row: Row, sample: Sample, call: Call) -> bool:
    """Backward against central differences, in float64; False where the result is of another."""
    names = differentiable(row, sample)
    operands = {n: v for n, v in sample.arguments.items() if isinstance(v, Operand)}
    leaves = {n: v.leaf(requires_grad=n in names) for n, v in operands.items()}
    outputs = run(row, sample, call, {n: v.tensor(leaves[n]) for n, v in operands.items()})
    output = outputs[0]
    if output.dtype != flow.float64:
        return False
    rng = np.random.default_rng(7)
    weights = rng.uniform(-1.0, 1.0, tuple(output.shape))
    assert output.requires_grad, f"{row.name} on {sample.label}: the result has no history"
    output.backward(flow.tensor(weights))
    for name in names:
        grad = leaves[name].grad
        got = np.zeros(operands[name].base.shape) if grad is None else grad.numpy()
        want = _differences(row, sample, call, name, weights)
        what = f"gradient of {row.name} for {name} on {sample.label}"
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6, err_msg=what)
    return True


def _differences(
    row: Row, sample: Sample, call: Call, name: str, weights: np.ndarray
) -> np.ndarray:
    operand = sample.arguments[name]
    out = np.zeros(operand.base.shape)
    for index in np.ndindex(operand.base.shape):
        values = []
        for step in (STEP, -STEP):
            moved = operand.base.copy()
            moved[index] += step
            changed = {**sample.arguments, name: Operand(moved, operand.order, operand.shape)}
            result = run(row, Sample(sample.label, changed), call)[0].detach().numpy()
            values.append(float(np.sum(result * weights)))
        out[index] = (values[0] - values[1]) / (2 * STEP)
    return out


def check_inplace(row: Row, sample: Sample) -> bool:
    """The in-place form against the other (or numpy); False where it does not apply."""
    target_name = row.signature.params[0].name
    operands = {n: v for n, v in sample.arguments.items() if isinstance(v, Operand)}
    target = operands[target_name]
    if np.broadcast_shapes(*(v.shape for v in operands.values())) != target.shape:
        return False
    if any(d != target.base.shape[target.order[i]] for i, d in enumerate(target.shape)):
        return False  # elements overlap
    wanted = (
        expected(row, sample)
        if row.inplace_only
        else [r.numpy() for r in run(row, sample, function_of(row))]
    )
    if any(w.dtype.kind != target.base.dtype.kind for w in wanted):
        return False
    tensors = {n: v.tensor(v.leaf()) for n, v in operands.items()}
    results = run(row, sample, function_of(row, inplace=True), tensors)
    targets = [tensors[p.name] for p in row.signature.params[: row.signature.outputs]]
    for result, changed, want in zip(results, targets, wanted):
        assert result is changed, f"{row.inplace_name} on {sample.label}: returns another tensor"
        compare(row, sample, changed.numpy(), want)
    return True
