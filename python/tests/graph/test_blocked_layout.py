"""Convolutions in blocks of 16 channels: close to eager; parameters and results stay plain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.graph.graphs import FunctionGraph, ResidualBlock, assert_close, assert_equal
from tests.models.networks import resnet18
from tests.support import must_fail

import oneflow as flow
from oneflow import nn

TOLERANCE = 2e-4


def has_blocks() -> bool:
    """Whether this machine's kernels take blocks: AVX-512, not turned off."""
    chain = nn.Sequential(*[nn.Conv2d(16, 16, 3, padding=1, bias=False) for _ in range(8)])
    graph = FunctionGraph(lambda x: chain(x) * 2)
    graph(flow.randn(1, 16, 64, 64))
    return graph.passes()["blocked_layout"] > 0


def network(*more: Any) -> Any:
    flow.manual_seed(1)
    entry = [nn.Conv2d(3, 32, 7, 2, 3, bias=False), nn.BatchNorm2d(32), nn.ReLU(inplace=True)]
    entry += [nn.MaxPool2d(3, 2, 1), ResidualBlock(32, 32, 1), ResidualBlock(32, 48, 2), *more]
    return nn.Sequential(*entry, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(48, 10))


# Forward and by weight: six convolutions; by their inputs: all but the first.
CONVOLUTIONS = 6 + 6 + 5


class Train(nn.Graph):
    """A step with SGD."""

    def __init__(self, model: Any, *off: str) -> None:
        super().__init__()
        self.model, self.loss = model, nn.CrossEntropyLoss()
        self.add_optimizer(sgd(model))
        self.config.disable_passes(*off)

    def build(self, x: Any, classes: Any) -> Any:
        """Loss, and the gradients of all parameters."""
        loss = self.loss(self.model(x), classes)
        loss.backward()
        return loss, [p.grad for p in self.model.parameters()]


def sgd(model: Any) -> Any:
    return flow.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)


def batches(count: int, size: int = 129) -> list[Any]:
    rng = np.random.default_rng(3)
    return [
        (
            flow.tensor(rng.standard_normal((4, 3, size, size)).astype(np.float32)),
            flow.tensor(rng.integers(0, 10, 4)),
        )
        for _ in range(count)
    ]


def train_beside_eager(model: Any, other: Any, *off: str) -> dict[str, int]:
    """Three steps of both from one state; how often passes fired."""
    other.load_state_dict(model.state_dict())
    graph, optimizer = Train(model, *off), sgd(other)
    for number, (x, classes) in enumerate(batches(3)):
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(other(x), classes)
        loss.backward()
        want = loss.detach(), [p.grad for p in other.parameters()]
        assert_close(graph(x, classes), want, f"step {number}", TOLERANCE)
        optimizer.step()
        # Read after each step: what users see is plain and new.
        state, expected = model.state_dict(), other.state_dict()
        assert_close(list(state.values()), list(expected.values()), "state", TOLERANCE)
    return graph.passes()


def test_residual_blocks() -> None:
    fired = train_beside_eager(network(), network())
    assert fired["blocked_layout"] == (CONVOLUTIONS if has_blocks() else 0)


def test_off() -> None:
    fired = train_beside_eager(network(), network(), "blocked_layout")
    assert fired["blocked_layout"] == 0


def test_without_the_fused_norms() -> None:
    fired = train_beside_eager(network(), network(), "batch_norm_fusion")
    assert fired["batch_norm_fusion"] == 0
    assert fired["blocked_layout"] == (CONVOLUTIONS if has_blocks() else 0)


def test_layers_that_know_no_blocks() -> None:
    more = [nn.Conv2d(48, 48, 3, 1, 1), nn.GELU(), nn.Conv2d(48, 40, 1, bias=False)]
    more += [nn.GroupNorm(4, 40), nn.AvgPool2d(2), nn.Conv2d(40, 48, 1, groups=4)]
    fired = train_beside_eager(network(*more), network(*more))
    if has_blocks():  # and both gradients of the convolution that has a bias
        assert fired["blocked_layout"] == CONVOLUTIONS + 2


# Of 20 convolutions, those whose weights are few beside what they read and write, for 4 pictures
# of 96 x 96; forward and back.
RESNET18 = 32


def distance(got: Any, exact: Any) -> float:
    """Of all gradients together, relative to the exact ones."""
    squares = [
        (((a.double() - b) ** 2).sum().item(), (b**2).sum().item()) for a, b in zip(got, exact)
    ]
    return float((sum(d for d, _ in squares) / sum(b for _, b in squares)) ** 0.5)


def test_resnet18() -> None:
    """Norms over 36 numbers amplify rounding: gradients may be off like those of eager."""
    flow.manual_seed(0)
    model = resnet18(flow)
    x, classes = batches(1, 96)[0]
    graph = Train(model)
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    got = graph(x, classes)[1]
    found = []
    for dtype in (flow.float64, flow.float32):
        other = resnet18(flow)
        other.load_state_dict(state)
        other.to(dtype)
        nn.functional.cross_entropy(other(x.to(dtype)), classes).backward()
        found.append([p.grad for p in other.parameters()])
    exact, eager = found
    assert distance(got, exact) <= 5 * distance(eager, exact) + 1e-6
    if has_blocks():
        assert graph.passes()["blocked_layout"] == RESNET18


class ShortTrain(Train):
    """A step under autocast to bfloat16."""

    def build(self, x: Any, classes: Any) -> Any:
        """Loss, and the gradients of all parameters."""
        with flow.autocast("cpu", dtype=flow.bfloat16):
            loss = self.loss(self.model(x), classes)
        loss.backward()
        return loss, [p.grad for p in self.model.parameters()]


def test_bfloat16() -> None:
    """Close to float64: no farther than eager, which rounds as often."""
    model, eager, exact = network(), network(), network()
    x, classes = batches(1)[0]
    graph = ShortTrain(model)
    got = graph(x, classes)[1]
    with flow.autocast("cpu", dtype=flow.bfloat16):
        loss = nn.functional.cross_entropy(eager(x), classes)
    loss.backward()
    exact.to(flow.float64)
    nn.functional.cross_entropy(exact(x.to(flow.float64)), classes).backward()
    want = [p.grad for p in exact.parameters()]
    assert all(g.dtype == flow.float32 for g in got)
    assert distance(got, want) <= 1.2 * distance([p.grad for p in eager.parameters()], want)
    if has_blocks():
        assert graph.passes()["blocked_layout"] == CONVOLUTIONS


def test_bfloat16_follows_its_parameters() -> None:
    """What a step reads is what the step before left, though no copy in bfloat16 is kept."""
    model, other = network(), network()
    other.load_state_dict(model.state_dict())
    graph, plain = ShortTrain(model), ShortTrain(other, "blocked_layout")
    for x, classes in batches(3):
        got, want = graph(x, classes)[0], plain(x, classes)[0]
        assert abs(got.item() - want.item()) <= 2e-2 * abs(want.item())
        for each in (model, other):
            with flow.no_grad():
                each[4].conv1.weight.mul_(0.5)
    for one, two in zip(model.parameters(), other.parameters()):
        if one.dim() == 4:  # biases are all gradient, and so all rounding
            assert_close(one, two, "weight", 2e-2)


class QuietTrain(ShortTrain):
    """The same, which shows its loss alone: weights may lie in any order."""

    def build(self, x: Any, classes: Any) -> Any:
        """Loss."""
        return super().build(x, classes)[0]


def test_bfloat16_weights_in_the_order_of_kernels() -> None:
    """The same numbers are rounded and added up, wherever they lie."""
    model, other = network(), network()
    other.load_state_dict(model.state_dict())
    graph, plain = QuietTrain(model), QuietTrain(other, "arranged_weights")
    for x, classes in batches(3):
        assert_equal(graph(x, classes), plain(x, classes))
    if has_blocks():  # all but the first one's, which reads three channels
        assert graph.passes()["arranged_weights"] == 5
        # The weights, which lie in float32, and their momentum.
        assert graph._newest("stats").handle.stats()["arranged"] == 10
    # Last: NumPy sees the weights from here on, which makes them stay plain.
    assert_equal(list(model.state_dict().values()), list(other.state_dict().values()))


def test_a_parameter_that_is_changed_between_runs() -> None:
    model, other = network(), network()
    other.load_state_dict(model.state_dict())
    graph, plain = Train(model), Train(other, "blocked_layout")
    for x, classes in batches(3):
        assert_close(graph(x, classes), plain(x, classes), "step", TOLERANCE)
        for each in (model, other):
            each[0].weight.data.numpy()[...] *= 1.5  # through memory that is shared
            with flow.no_grad():
                each[4].conv1.weight.mul_(0.5)


def test_inference_with_given_statistics() -> None:
    model = network()
    model.eval()
    graph = FunctionGraph(lambda x: model(x))
    x = flow.randn(4, 3, 129, 129)
    assert_close(graph(x), model(x), "eval", TOLERANCE)


def test_other_dtypes_and_shapes_stay_plain() -> None:
    convs = [nn.Conv2d(16, 16, 3, padding=1, bias=False) for _ in range(6)]
    double = nn.Sequential(*convs).to(flow.float64)
    lines = nn.Sequential(*[nn.Conv1d(16, 16, 3, padding=1, bias=False) for _ in range(6)])
    odd = nn.Sequential(*[nn.Conv2d(24, 24, 3, padding=1, bias=False) for _ in range(6)])
    for model, shape in ((double, (1, 16, 64, 64)), (lines, (1, 16, 9999)), (odd, (1, 24, 64, 64))):
        graph = FunctionGraph(lambda x, model=model: model(x) * 2)
        x = flow.randn(*shape, dtype=next(model.parameters()).dtype)
        assert_equal(graph(x), model(x) * 2)
        assert graph.passes()["blocked_layout"] == 0


def test_checkpointed_layers() -> None:
    """Layers that are computed again give the gradients of those that are not."""

    class Net(nn.Graph):
        def __init__(self, checkpoints: bool) -> None:
            super().__init__()
            self.model = network()
            for block in (self.model[4], self.model[5]):
                block.to(nn.graph.GraphModule).activation_checkpointing = checkpoints

        def build(self, x: Any) -> Any:
            (self.model(x) ** 2).mean().backward()
            return [p.grad for p in self.model.parameters()]

    x = flow.randn(4, 3, 129, 129)
    assert_close(Net(True)(x), Net(False)(x), "checkpoints", TOLERANCE)


def test_takes_little_more_memory() -> None:
    x, classes = batches(1)[0]
    on, off = Train(network()), Train(network(), "blocked_layout")
    on(x, classes), off(x, classes)
    assert on.memory()["peak"] <= 1.1 * off.memory()["peak"]


def test_an_error_names_the_line(capsys: pytest.CaptureFixture[str]) -> None:
    chain = nn.Sequential(*[nn.Conv2d(16, 16, 3, padding=1, bias=False) for _ in range(8)])

    def build(x: Any) -> Any:
        return chain(x) * 2

    graph = FunctionGraph(build)
    graph.debug(3)
    graph(flow.randn(1, 16, 64, 64))
    text = capsys.readouterr().out
    if has_blocks():
        line = build.__code__.co_firstlineno + 1
        for op in ("block_channels(", "blocked_convolution(", "unblock_channels("):
            assert f"test_blocked_layout.py:{line} in build" in text.split(op)[1].splitlines()[0]


def test_control() -> None:
    """A network with other weights in its last layer is seen."""

    def check() -> None:
        other = network()
        other[-1].weight.data.mul_(1.01)
        x, classes = batches(1)[0]
        assert_close(Train(network())(x, classes), Train(other)(x, classes), "", TOLERANCE)

    must_fail(check)
