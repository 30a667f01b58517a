"""Messages about arguments that a newcomer gets wrong: they name the caller, and what came."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.support import raises

import oneflow as flow

nn: Any = flow.nn
data: Any = flow.utils.data
loose: Any = flow  # wrong types on purpose


class WithoutLength(data.Dataset):
    def __getitem__(self, index: int) -> int:
        return index


def sgd() -> Any:
    return flow.optim.SGD(nn.Linear(1, 1).parameters(), lr=0.1)


def lstm(states: Any) -> Any:
    return nn.LSTM(3, 4)(flow.ones(2, 5, 3), states)


def packed_lstm(states: Any) -> Any:
    packed = nn.utils.rnn.pack_padded_sequence(flow.ones(2, 5, 3), flow.tensor([2, 2, 2, 1, 1]))
    return nn.LSTM(3, 4)(packed, states)


STATE = flow.ones(1, 5, 4)
BAD: dict[str, tuple[Any, Any, str]] = {
    "kernel_size": (
        lambda: nn.Conv2d(1, 1, 0),
        ValueError,
        r"\[Conv2d\] expects kernel_size of at least 1, got 0",
    ),
    "stride": (
        lambda: nn.Conv1d(1, 1, 1, stride=(0,)),
        ValueError,
        r"\[Conv1d\] expects stride of at least 1",
    ),
    "dilation": (
        lambda: nn.ConvTranspose2d(1, 1, 2, dilation=(1, -1)),
        ValueError,
        r"\[ConvTranspose2d\] expects dilation of at least 1, got \(1, -1\)",
    ),
    "channels of BatchNorm2d": (
        lambda: nn.BatchNorm2d(3)(flow.ones(2, 4, 5, 5)),
        RuntimeError,
        r"\[BatchNorm2d\] expects 3 channels on axis 1, got an input of shape \(2, 4, 5, 5\)",
    ),
    "channels of BatchNorm1d": (
        lambda: nn.BatchNorm1d(3)(flow.ones(2, 4)),
        RuntimeError,
        r"\[BatchNorm1d\] expects 3 channels",
    ),
    "dtype of BatchNorm2d": (
        lambda: nn.BatchNorm2d(4)(flow.ones(2, 4, 5, 5).long()),
        RuntimeError,
        r"\[normalization\]",
    ),
    "one state": (
        lambda: lstm((STATE,)),
        TypeError,
        r"\[LSTM\] expects a pair of states \(h, c\), got 1 of them",
    ),
    "a state alone": (lambda: lstm(STATE), TypeError, r"\[LSTM\] expects a pair .*, got Tensor"),
    "one state for packed": (lambda: packed_lstm([STATE]), TypeError, r"\[LSTM\] expects a pair"),
    "layers": (
        lambda: nn.GRU(3, 4, num_layers=0),
        ValueError,
        r"\[RNNBase\] expects num_layers as an int of at",
    ),
    "hidden_size": (
        lambda: nn.RNN(3, 4.0),
        ValueError,
        r"expects hidden_size as an int .*, got 4.0",
    ),
    "group without params": (
        lambda: flow.optim.SGD([{"lr": 1.0}], lr=0.1),
        TypeError,
        r"""\[SGD\] expects a dict with "params" as group, got dict of 'lr'""",
    ),
    "group": (
        lambda: sgd().add_param_group([1]),
        TypeError,
        r'dict with "params" as group, got list',
    ),
    "state of an optimizer": (
        lambda: sgd().load_state_dict({"state": {}, "x": 1}),
        TypeError,
        r"expects a mapping with state and param_groups, got dict of \['state', 'x'\]",
    ),
    "max_norm": (
        lambda: nn.utils.clip_grad_norm_([], "a"),
        TypeError,
        r"\[clip_grad_norm_\] expects a number as max_norm, got 'a'",
    ),
    "norm_type": (
        lambda: nn.utils.clip_grad_norm_([], 1.0, None),
        TypeError,
        "expects a number as norm_type",
    ),
    "clip_value": (
        lambda: nn.utils.clip_grad_value_([], None),
        TypeError,
        r"\[clip_grad_value_\] expects a number as clip_value, got None",
    ),
    "samples of two kinds": (
        lambda: data.default_collate([1, "a"]),
        TypeError,
        r"\[default_collate\] expects samples of one kind, got int and str",
    ),
    "no length": (
        lambda: data.DataLoader(WithoutLength(), shuffle=True),
        TypeError,
        r"\[RandomSampler\] expects a data set with __len__, got WithoutLength",
    ),
    "value of full": (
        lambda: flow.full((2,), flow.ones(2)),
        RuntimeError,
        r"\[full\] expects a value of one element, got shape \(2,\)",
    ),
    "outputs of grad": (
        lambda: loose.autograd.grad(3, flow.ones(1)),
        TypeError,
        r"\[grad\] expects tensors as outputs, got int",
    ),
    "tensors of backward": (
        lambda: loose.autograd.backward(None),
        TypeError,
        r"\[backward\] expects tensors as tensors, got NoneType",
    ),
    "no_grad": (
        lambda: loose.no_grad(3),
        TypeError,
        r"\[autograd\] expects a function to decorate, got int",
    ),
    "an item of cat": (
        lambda: loose.cat([flow.ones(1), 1]),
        TypeError,
        r"\[cat\] expects argument 'inputs' to be a list or tuple .* got a list with int as item 1",
    ),
    "a size": (
        lambda: loose._C.reshape(flow.ones(1), (1, "a")),
        TypeError,
        r"\[reshape\] expects argument 'shape' .* ints, got a tuple with str as item 1",
    ),
    "a dim": (
        lambda: loose.sum(flow.ones(1), [0, None]),
        TypeError,
        "got a list with None as item 1",
    ),
    "groups": (
        lambda: nn.GroupNorm(3, 4),
        ValueError,
        r"\[GroupNorm\] expects channels that 3 groups divide, got 4",
    ),
    "no packed sequence": (
        lambda: nn.utils.rnn.pad_packed_sequence(3),
        TypeError,
        r"\[pad_packed_sequence\] expects a PackedSequence, got int",
    ),
    "sequences that differ": (
        lambda: nn.utils.rnn.pad_sequence([flow.ones(2), flow.ones(3, 1)]),
        ValueError,
        r"\[pad_sequence\] expects sequences alike .*, got \[\(2,\), \(3, 1\)\]",
    ),
    "no sequence": (
        lambda: nn.utils.rnn.pad_sequence([]),
        ValueError,
        r"\[pad_sequence\] expects sequences .*, got none",
    ),
    "no parameters": (
        lambda: nn.utils.parameters_to_vector([]),
        ValueError,
        r"\[parameters_to_vector\] expects at least one tensor, got none",
    ),
    "type": (
        lambda: flow.ones(1).type("foo"),
        TypeError,
        r"\[type\] expects a dtype, .*, got 'foo'",
    ),
}


def check(name: str) -> None:
    call, error, match = BAD[name]
    with raises(error, match):
        call()


@pytest.mark.parametrize("name", BAD)
def test_messages(name: str) -> None:
    check(name)


def test_control(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that works, and one that tells something else, both fail the check."""
    for call in (lambda: flow.ones(1), lambda: nn.Linear(1, 1)(3)):
        monkeypatch.setitem(BAD, "planted", (call, TypeError, r"\[full\]"))
        with pytest.raises((AssertionError, pytest.fail.Exception)):
            check("planted")


def test_good_calls_of_the_same_kind_stay_good() -> None:
    assert flow.full((2,), flow.ones(1)).tolist() == [1.0, 1.0]
    assert data.default_collate([1, True, 2.5]).tolist() == [1.0, 1.0, 2.5]
    assert flow.ones(1).type("oneflow.LongTensor").dtype == flow.int64
    output, _ = lstm([STATE, STATE])
    assert output.shape == (2, 5, 4)


def test_what_tensor_refuses() -> None:
    bad: list[tuple[Any, Any, str]] = [
        ([[1, 2], [3]], ValueError, r"items of one length at each depth, got a list of 2 that"),
        (([1], [[2]]), ValueError, r"one length at each depth, got a tuple of 2 that differ"),
        (None, TypeError, "expects numbers or bools, got NoneType"),
        ([1, None], TypeError, "expects numbers or bools, got NoneType"),
        ("a", TypeError, "expects numbers or bools, got str"),
        ({"a": 1}, TypeError, "expects numbers or bools, got dict"),
        ([1j], TypeError, "expects numbers or bools, got complex"),
        (2**63, TypeError, "expects ints that fit int64, got a larger one"),
        ([2**64], TypeError, "expects ints that fit int64, got a larger one"),
        (np.array(["a"]), TypeError, "expects numbers or bools, got an array of dtype <U1"),
    ]
    for data, error, match in bad:
        with raises(error, r"\[tensor\] .*" + match):
            flow.tensor(data)


def test_format() -> None:
    assert f"{flow.tensor(1.25):.1f} {flow.tensor(3):03d}" == "1.2 003"
    assert f"{flow.tensor([1])}" == str(flow.tensor([1]))
    with raises(TypeError, r"\[format\] expects a tensor of no dimensions", "got shape .*float32"):
        f"{flow.ones(2):.1f}"
