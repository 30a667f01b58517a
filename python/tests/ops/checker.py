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

# Relative and absolute. A short dtype computes in float32 and rounds once.
TOLERANCE = {
    "float32": (2e-5, 2e-6),
    "float64": (1e-10, 1e-12),
    "float16": (1e-3, 1e-6),
    "bfloat16": (8e-3, 1e-6),
}
STEP = 1e-6

Call = Callable[..., Any]


def function_of(row: Row, inplace: bool = False) -> Call:
    """The Python function that a row is called by."""
    return getattr(flow._C, row.inplace_name if inplace else row.python_name)


def arguments(
    row: Row, sample: Sample, tensors: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword arguments, as a user would write them."""
    made = sample.with_operands(tensors)
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    by_name = False
    for param in row.signature.params:
        if param.name not in sample.arguments:
            by_name = True
            continue
        given = made[param.name]
        if isinstance(given, np.dtype):
            given = getattr(flow, given.name)
        if by_name or param.keyword_only:
            keywords[param.name] = given
        else:
            positional.append(given)
    return positional, keywords


def run(row: Row, sample: Sample, call: Call, tensors: dict[str, Any] | None = None) -> list[Any]:
    """Calls the op; its results as a list."""
    made = tensors or {name: v.tensor(v.leaf()) for name, v in sample.operands.items()}
    positional, keywords = arguments(row, sample, made)
    result = call(*positional, **keywords)
    return list(result) if isinstance(result, (tuple, list)) else [result]


def expected(row: Row, sample: Sample) -> list[np.ndarray]:
    """What numpy says, computed in float64."""
    return evaluated(row, sample, np.float64)


def evaluated(row: Row, sample: Sample, kind: Any) -> list[np.ndarray]:
    """What numpy says, with the floating operands as `kind`."""
    arrays = {name: v.array() for name, v in sample.operands.items()}
    wide = {n: a.astype(kind) if a.dtype.kind == "f" else a for n, a in arrays.items()}
    given = sample.with_operands(wide)
    names = {**NAMES, **{p.name: given.get(p.name, p.default) for p in row.signature.params}}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # numpy's word on a mean of nothing
        result = eval(row.numpy, names)
    return [np.asarray(r) for r in (result if isinstance(result, tuple) else (result,))]


def check_forward(row: Row, sample: Sample, call: Call) -> None:
    """The op's results against numpy's."""
    results = run(row, sample, call)
    wanted = expected(row, sample)
    for got, want in zip(results, wanted):
        compare(row, sample, got, want)


def compare(row: Row, sample: Sample, tensor: flow.Tensor, want: np.ndarray) -> None:
    """Shape, kind of dtype, and values."""
    what = f"{row.name} on {sample.label}"
    short = tensor.dtype == flow.bfloat16
    got = wide_array(tensor)
    assert got.shape == want.shape, f"{what}: shape {got.shape}, expected {want.shape}"
    assert got.dtype.kind == want.dtype.kind, f"{what}: dtype {got.dtype}, expected {want.dtype}"
    rtol, atol = TOLERANCE.get("bfloat16" if short else got.dtype.name, (0.0, 0.0))
    longest = max((v.base.size for v in sample.operands.values()), default=1)
    slack = max(1.0, longest / 1000.0)
    np.testing.assert_allclose(got, want, rtol=rtol * slack, atol=atol * slack, err_msg=what)


def wide_array(tensor: flow.Tensor) -> np.ndarray:
    """A result as an array; bfloat16 as float32."""
    wide = flow._C.cast(tensor, flow.float32) if tensor.dtype == flow.bfloat16 else tensor
    return wide.detach().numpy()


def differentiable(row: Row, sample: Sample) -> list[str]:
    """The operands whose gradient is checked."""
    if row.not_differentiable or row.python_name.endswith("_"):
        return []
    floats = {
        name: name.partition("[")[0]
        for name, v in sample.operands.items()
        if v.base.dtype.kind == "f"
    }
    return [
        name
        for name, param in floats.items()
        if param not in row.constants and (row.composite or param in row.backward)
    ]


def check_gradient(row: Row, sample: Sample, call: Call) -> bool:
    """Backward against central differences, in float64; False where the result is of another."""
    names = differentiable(row, sample)
    operands = sample.operands
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


def gradient_of(row: Row, sample: Sample, name: str) -> Call:
    """The op's first derivative as a function of the same arguments: the gradient, for the operand
    called `name`, of the sum of the squared result."""
    parameter, _, index = name.partition("[")
    place = [p.name for p in row.signature.params].index(parameter)

    def gradient(*positional: Any, **keywords: Any) -> Any:
        given = keywords[parameter] if parameter in keywords else positional[place]
        element = int(index[:-1]) if index else None
        operand = given if element is None else given[element]
        with flow.enable_grad():
            tracked = operand if operand.requires_grad else operand.detach().requires_grad_()
            changed: Any = tracked
            if element is not None:
                changed = [tracked if i == element else t for i, t in enumerate(given)]
            if parameter in keywords:
                keywords = {**keywords, parameter: changed}
            else:
                positional = (*positional[:place], changed, *positional[place + 1 :])
            result = function_of(row)(*positional, **keywords)
            out = result[0] if isinstance(result, (tuple, list)) else result
            squared = flow._C.sum(flow._C.mul(out, out))
            return flow.autograd.grad(squared, tracked, create_graph=True)[0]

    return gradient


def _differences(
    row: Row, sample: Sample, call: Call, name: str, weights: np.ndarray
) -> np.ndarray:
    operand = sample.operands[name]
    out = np.zeros(operand.base.shape)
    for index in np.ndindex(operand.base.shape):
        values = []
        for step in (STEP, -STEP):
            moved = operand.base.copy()
            moved[index] += step
            changed = Operand(moved, operand.order, operand.shape)
            tensors = {n: v.tensor(v.leaf()) for n, v in {**sample.operands, name: changed}.items()}
            result = run(row, sample, call, tensors)[0].detach().numpy()
            values.append(float(np.sum(result * weights)))
        out[index] = (values[0] - values[1]) / (2 * STEP)
    return out


def check_inplace(row: Row, sample: Sample) -> bool:
    """The in-place form against the other (or numpy); False where it does not apply."""
    target_name = row.signature.params[0].name
    operands = sample.operands
    target = operands[target_name]
    if np.broadcast_shapes(*(v.shape for v in operands.values())) != target.shape:
        return False
    if any(d != target.base.shape[target.order[i]] for i, d in enumerate(target.shape)):
        return False  # elements overlap
    wanted = (
        expected(row, sample)
        if row.inplace_only
        else [wide_array(r) for r in run(row, sample, function_of(row))]
    )
    if any(w.dtype.kind != target.base.dtype.kind for w in wanted):
        return False
    tensors = {n: v.tensor(v.leaf()) for n, v in operands.items()}
    results = run(row, sample, function_of(row, inplace=True), tensors)
    targets = [tensors[p.name] for p in row.signature.params[: row.signature.outputs]]
    for result, changed, want in zip(results, targets, wanted):
        assert result is changed, f"{row.inplace_name} on {sample.label}: returns another tensor"
        compare(row, sample, changed, want)
    return True
