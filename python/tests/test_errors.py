"""Bad input at every entry of the package's root: a clear error, and nothing lost.

Entries with suites of their own (modules, optimizers, data, files, autograd) are tried there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from tests.support import raises, same

import oneflow as flow

init = flow.nn.init


def tensor_on(device: Any) -> Any:
    return flow.ones(1, device=device)


loose: Any = flow  # wrong types on purpose
BAD: list[tuple[Any, Any, str]] = [
    # Sizes.
    (lambda: loose.zeros(2.5), TypeError, r"\[zeros\] expects a size of integers, got 2.5"),
    (lambda: loose.ones("a"), TypeError, r"\[ones\] expects a size of integers"),
    (lambda: loose.empty(True), TypeError, r"\[empty\] expects a size of integers"),
    (lambda: loose.full(2.5, 1), TypeError, r"\[full\] expects a size of integers"),
    (lambda: loose.ones(2, None), TypeError, r"\[ones\] expects a size of integers"),
    (lambda: loose.zeros(-1), (ValueError, RuntimeError), r"-1"),
    (lambda: loose.empty(2, -3), (ValueError, RuntimeError), r"-3"),
    (lambda: loose.ones(1 << 62, 1 << 62), (ValueError, RuntimeError), r"\["),
    (lambda: loose.ones(1 << 70), (OverflowError, TypeError, ValueError), ""),
    (lambda: loose.full((2,), "a"), TypeError, "full"),
    (lambda: loose.full((2,), None), TypeError, "full"),
    # dtypes and devices.
    (lambda: loose.ones(1, dtype=int), TypeError, "dtype"),
    (lambda: loose.ones(1, dtype="float32"), TypeError, "dtype"),
    (lambda: loose.ones(1, dtype=np.float32), TypeError, "dtype"),
    (lambda: loose.ones(2, dtype=loose.int64, requires_grad=True), RuntimeError, "float"),
    (lambda: tensor_on("cuda"), RuntimeError, "cuda"),
    (lambda: tensor_on("cuda:1"), RuntimeError, "cuda"),
    (lambda: tensor_on("tpu"), (ValueError, RuntimeError), "tpu"),
    (lambda: tensor_on(3), TypeError, "device"),
    (lambda: tensor_on("cpu:-1"), (ValueError, RuntimeError), "cpu:-1"),
    (lambda: loose.device("cpu:x"), (ValueError, RuntimeError), "cpu:x"),
    (lambda: loose.device(3), TypeError, "device"),
    (lambda: loose.device("cpu", -1), ValueError, "index"),
    (lambda: loose.ones(1).cuda(), RuntimeError, "cuda"),
    (lambda: loose.ones(1).to("cuda:0"), RuntimeError, "cuda"),
    (lambda: loose.ones(1).to(1.5), TypeError, "expects a device, a dtype or a Tensor"),
    (lambda: loose.ones(1).to(dtype="float32"), TypeError, "expects an oneflow.dtype"),
    (lambda: loose.ones(1).to(speed=2), TypeError, "unexpected keyword 'speed'"),
    (lambda: loose.ones(1).type("x"), (TypeError, ValueError, RuntimeError), ""),
    (lambda: loose.tensor([1], device="cuda"), RuntimeError, "cuda"),
    (lambda: loose.convert_numpy_dtype_to_oneflow_dtype("U1"), TypeError, "expects one of"),
    (
        lambda: loose.convert_oneflow_dtype_to_numpy_dtype(int),
        TypeError,
        "expects an oneflow.dtype",
    ),
    (lambda: loose.finfo(loose.int64), TypeError, "floating-point"),
    (lambda: loose.iinfo(loose.float32), TypeError, "integer"),
    # Data.
    (lambda: loose.tensor("abc"), TypeError, "tensor"),
    (lambda: loose.tensor(None), TypeError, "tensor"),
    (lambda: loose.tensor({1: 2}), TypeError, "tensor"),
    (lambda: loose.tensor([[1], [1, 2]]), (TypeError, ValueError), ""),
    (lambda: loose.tensor([1j]), TypeError, "tensor"),
    (lambda: loose.tensor([object()]), TypeError, "tensor"),
    (lambda: loose.tensor(np.zeros(2, ">f4").view("U1")), TypeError, "tensor"),
    (lambda: loose.from_numpy([1]), TypeError, "numpy array, got list"),
    (lambda: loose.from_numpy(np.array(["a"])), TypeError, "from_numpy"),
    (lambda: loose.from_numpy(np.zeros(4)[::-1]), ValueError, "from_numpy"),
    (lambda: loose.from_numpy(np.zeros(2, ">f8")), TypeError, "byte order"),
    (lambda: loose.as_tensor("a"), TypeError, "tensor"),
    # Ranges and random numbers.
    (lambda: loose.arange(0, 5, 0), ValueError, "step"),
    (lambda: loose.arange(5, 0), ValueError, "arange"),
    (lambda: loose.arange(float("nan")), ValueError, "arange"),
    (lambda: loose.arange(float("inf")), ValueError, "arange"),
    (lambda: loose.arange("a"), TypeError, "arange"),
    (lambda: loose.linspace(0, 1, -1), ValueError, "steps of at least 0, got -1"),
    (lambda: loose.linspace(0, 1, 2.5), TypeError, "size of integers"),
    (lambda: loose.eye(-1), ValueError, "at least 0"),
    (lambda: loose.eye(2.5), TypeError, "size of integers"),
    (lambda: loose.rand(2, dtype=loose.int64), (TypeError, RuntimeError), "float"),
    (lambda: loose.randn(2, dtype=loose.int64), (TypeError, RuntimeError), "float"),
    (lambda: loose.rand(2, generator=3), TypeError, "generator"),
    (lambda: loose.randint(3, 3, (1,)), RuntimeError, "low < high"),
    (lambda: loose.randint(0, 2**63, (1,)), TypeError, "randint"),
    (lambda: loose.randint(0, 3, "a"), TypeError, "randint"),
    (lambda: loose.randint(3), TypeError, "expects argument 'size', got none"),
    (lambda: loose.randint(0, 3, (-1,)), (ValueError, RuntimeError), "-1"),
    (lambda: loose.randperm(-1), ValueError, "at least 0 and below 2.31, got -1"),
    (lambda: loose.randperm(2.5), TypeError, "size of integers"),
    (lambda: loose.manual_seed("a"), TypeError, "expects an int as seed, got str"),
    (lambda: loose.manual_seed(1.5), TypeError, "expects an int as seed, got float"),
    (lambda: loose.manual_seed(2**64), ValueError, "seed from"),
    (lambda: loose.cuda.manual_seed("a"), TypeError, "expects an int as seed"),
    (lambda: loose.set_rng_state(3), TypeError, "set_state"),
    (lambda: loose.Generator("cuda-x"), (ValueError, RuntimeError), "cuda-x"),
    (lambda: loose.Generator().manual_seed("a"), TypeError, ""),
    (lambda: loose.ones(2).uniform_(2, 1), (ValueError, RuntimeError), "uniform_"),
    (lambda: loose.ones(2).normal_(0, -1), (ValueError, RuntimeError), "normal_"),
    (lambda: loose.arange(2).uniform_(), (TypeError, RuntimeError), "uniform_"),
    # Reading and writing.
    (lambda: loose.ones(2).item(), RuntimeError, "one element"),
    (lambda: bool(loose.ones(2)), RuntimeError, "one element"),
    (lambda: float(loose.ones(0)), RuntimeError, "one element"),
    (lambda: [1][loose.ones(1)], TypeError, "integer"),
    (lambda: len(loose.tensor(1)), TypeError, ""),
    (lambda: list(loose.tensor(1)), TypeError, ""),
    (lambda: loose.is_nonzero(loose.ones(2)), ValueError, "one element"),
    (lambda: loose.ones(2)[2], IndexError, "2"),
    (lambda: loose.ones(2)[0, 0], IndexError, ""),
    (lambda: loose.ones(2)["a"], (IndexError, TypeError), ""),
    (lambda: loose.ones(2)[loose.tensor([2])].numpy(), IndexError, r"getitem.*\[-2, 2\)"),
    (lambda: loose.ones(2)[[0.5]], IndexError, "integers or bools"),
    (lambda: loose.ones(2)[[True]], IndexError, "mask"),
    (lambda: loose.ones(2, 2)[[0, 1], [0, 1, 1]], IndexError, "broadcast"),
    (lambda: loose.ones(2).__setitem__([0, 1], loose.ones(3)), RuntimeError, "setitem.*broadcast"),
    (lambda: loose.ones(2)[..., ...], IndexError, r"one \.\.\."),
    (lambda: loose.ones(2).__setitem__(5, 1.0), IndexError, "5"),
    (lambda: loose.ones(2).__setitem__(0, "a"), TypeError, ""),
    (lambda: loose.ones(2).__setitem__(slice(None), loose.ones(3)), RuntimeError, "expects"),
    (lambda: loose.ones(2).copy_(loose.ones(3)), RuntimeError, "expects"),
    (lambda: loose.ones(2).fill_("a"), TypeError, "fill_"),
    (lambda: loose.ones(2).size(5), IndexError, "size"),
    (lambda: loose.ones(2).view(3), RuntimeError, "view"),
    (lambda: loose.ones(2).view_as(loose.ones(3)), RuntimeError, "view"),
    (lambda: loose.ones(2) + "a", TypeError, ""),
    (lambda: loose.ones(2) + loose.ones(3), RuntimeError, "add"),
    (lambda: loose.ones(2) == loose.ones(3), RuntimeError, "eq"),
    (lambda: loose.ones(2) != loose.ones(3), RuntimeError, "ne"),
    (lambda: loose.ones(2) != np.ones(3), RuntimeError, "ne"),
    (lambda: loose.ones(2) @ 3, TypeError, ""),
    (lambda: loose.numel(3), AttributeError, ""),
    # Initial values.
    (lambda: init.uniform_([1.0]), TypeError, "expects a Tensor, got list"),
    (lambda: init.normal_(3), TypeError, "expects a Tensor, got int"),
    (lambda: init.constant_(3, 1), TypeError, "expects a Tensor, got int"),
    (lambda: init.eye_(loose.ones(2)), ValueError, "two axes"),
    (lambda: init.xavier_uniform_(loose.ones(2)), ValueError, "at least two axes"),
    (lambda: init.xavier_normal_(3), TypeError, "expects a Tensor"),
    (lambda: init.kaiming_uniform_(loose.ones(2, 2), mode="fan"), ValueError, "fan_in or fan_out"),
    (
        lambda: init.kaiming_normal_(loose.ones(2, 2), nonlinearity="x"),
        ValueError,
        "name of an act",
    ),
    (lambda: loose.nn.init.kaiming_normal_(loose.ones(2, 2), a="x"), ValueError, "number as slope"),
    # Threads, GPUs.
    (lambda: loose.set_num_threads(0), ValueError, "1 or more, got 0"),
    (lambda: loose.set_num_threads("a"), TypeError, ""),
    (lambda: loose.cuda.current_device(), RuntimeError, "expects a GPU"),
    (lambda: loose.cuda.synchronize(), RuntimeError, "expects a GPU"),
]


@pytest.mark.parametrize(("wrong", "kind", "message"), BAD)
def test_bad_input_is_a_clear_error(wrong: Any, kind: Any, message: str) -> None:
    with raises(kind, message):
        wrong()
    same(flow.ones(2) + 1, [2, 2])


def test_no_gpu_is_no_surprise() -> None:
    assert flow.cuda.is_available() is False
    assert flow.cuda.device_count() == 0
    flow.cuda.empty_cache()
    flow.cuda.manual_seed_all(1)


@pytest.mark.parametrize("size", [(1 << 44,), (1 << 22, 1 << 22)])
def test_out_of_memory_can_be_caught(size: Any) -> None:
    held = flow.ones(4)
    for maker in (flow.ones, flow.empty, flow.rand):
        with raises(flow.OutOfMemoryError, r"\["):
            maker(*size)
    assert issubclass(flow.OutOfMemoryError, RuntimeError)
    same(held * 2, [2, 2, 2, 2])


def test_a_failing_kernel_is_an_exception() -> None:
    x = flow.ones(2)
    with raises(RuntimeError, "throw_error"):
        flow._C.throw_error(x).numpy()
    same(x, [1, 1])


FAILS_LATE = """
import oneflow as flow
def outer():
    return flow._C.throw_error(flow.ones(1))
y = outer()
try:
    y.numpy()
except RuntimeError as error:
    print(error)
print("still here")
"""


@pytest.mark.parametrize("mode", ["inline", "queued", "auto"])
def test_an_error_names_the_line_of_the_op(mode: str, tmp_path: Any) -> None:
    script = tmp_path / "late.py"
    text = FAILS_LATE.replace(
        "def outer", f"flow._oneflow_internal.set_vm_mode({mode!r})\ndef outer"
    )
    if mode != "queued":
        text = text.replace("y = outer()\ntry:\n    y", "try:\n    y = outer()\n    y")
    script.write_text(text)
    result = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=100,
    )
    assert result.returncode == 0, result.stderr
    assert "throw_error" in result.stdout
    assert "still here" in result.stdout
    if mode == "queued":
        assert "late.py" in result.stdout
        assert "in outer" in result.stdout


def test_initial_values() -> None:
    """The spreads are those of the formulas (100,000 numbers: within 3 %)."""
    shape = (400, 250)  # out, in
    for made, std in (
        (init.uniform_(flow.empty(*shape), -1, 1), np.sqrt(1 / 3)),
        (init.normal_(flow.empty(*shape), 0, 0.02), 0.02),
        (init.xavier_uniform_(flow.empty(*shape)), np.sqrt(2 / 650)),
        (init.xavier_normal_(flow.empty(*shape), gain=2), 2 * np.sqrt(2 / 650)),
        (init.kaiming_uniform_(flow.empty(*shape), nonlinearity="relu"), np.sqrt(2 / 250)),
        (init.kaiming_normal_(flow.empty(*shape), mode="fan_out"), np.sqrt(2 / 400)),
        (init.kaiming_normal_(flow.empty(20, 50, 10, 10), a=1), np.sqrt(1 / 5000)),
    ):
        values = made.numpy()
        assert abs(values.std() / std - 1) < 0.03
        assert abs(values.mean()) < 6 * std / np.sqrt(values.size)
    same(init.constant_(flow.empty(2), 3), [3, 3])
    same(init.ones_(flow.empty(2)), [1, 1])
    same(init.zeros_(flow.empty(2)), [0, 0])
    same(init.eye_(flow.empty(2, 3)), np.eye(2, 3))
    weight = flow.nn.Parameter(flow.empty(2, 2))
    assert init.ones_(weight) is weight
    assert weight.requires_grad and weight.is_leaf


def test_control() -> None:
    """An entry that accepts what it should refuse is noticed."""
    with pytest.raises(pytest.fail.Exception):
        test_bad_input_is_a_clear_error(lambda: flow.zeros(2), TypeError, "size")
    with pytest.raises(AssertionError):
        test_bad_input_is_a_clear_error(lambda: flow.zeros(2.5), TypeError, "another message")
