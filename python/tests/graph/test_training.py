"""Gradients, optimizers, schedulers, clipping, accumulation, checkpointing and state in graphs."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.graph.graphs import PASSES, FunctionGraph, assert_close, assert_equal
from tests.support import must_fail, raises, values

import oneflow as flow
from oneflow import nn, optim
from oneflow.nn.graph import GraphModule
from oneflow.one_embedding import Ftrl

STEPS = 5
Make = Callable[[Any], Any]


def network() -> Any:
    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))


class Train(nn.Graph):
    """A training step: mean of squares."""

    def __init__(self, model: Any, optimizer: Any, scheduler: Any = None, passes: bool = True):
        super().__init__()
        self.model = model
        self.add_optimizer(optimizer, lr_sch=scheduler)
        if not passes:
            self.config.disable_passes(*PASSES)

    def build(self, x: Any) -> Any:
        """One step."""
        loss = (self.model(x) ** 2).mean()
        loss.backward()
        return loss


def eager_step(model: Any, optimizer: Any, scheduler: Any, x: Any) -> Any:
    """The same without a graph."""
    optimizer.zero_grad(set_to_none=True)
    loss = (model(x) ** 2).mean()
    loss.backward()
    if optimizer.param_groups[0].clips:
        optimizer.clip_grad()
    optimizer.step()
    if scheduler is not None:
        scheduler.step()
    return loss.detach()


def compare(make: Make, schedule: Callable[[Any], Any] | None = None, passes: bool = False) -> None:
    """STEPS steps of both, losses, parameters and states compared."""
    same = assert_close if passes else assert_equal
    own = network()
    other = copy.deepcopy(own)
    one, two = make(list(own.parameters())), make(list(other.parameters()))
    first, second = (None if schedule is None else schedule(o) for o in (one, two))
    graph = Train(other, two, second, passes)
    for _ in range(STEPS):
        x = flow.randn(4, 3)
        same(graph(x), eager_step(own, one, first, x), "loss")
        same(list(other.parameters()), list(own.parameters()), "parameters")
    assert one.state["step"] == two.state["step"] == STEPS
    for p, q in zip(own.parameters(), other.parameters()):
        same(list(two.state[q].values()), list(one.state[p].values()), "state")


CLIP = {"clip_grad_max_norm": 0.1, "clip_grad_norm_type": 2.0}
OPTIMIZERS: dict[str, Make] = {
    "sgd": lambda p: optim.SGD(p, lr=0.1),
    "sgd decayed": lambda p: optim.SGD(p, lr=0.1, weight_decay=0.1),
    "momentum": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "adam": lambda p: optim.Adam(p, lr=0.01),
    "amsgrad": lambda p: optim.Adam(p, lr=0.01, amsgrad=True, weight_decay=0.1),
    "adamw": lambda p: optim.AdamW(p, lr=0.01, weight_decay=0.1),
    "lamb": lambda p: optim.LAMB(p, lr=0.01),
    "adagrad": lambda p: optim.Adagrad(p, lr=0.1, lr_decay=0.5),
    "adadelta": lambda p: optim.Adadelta(p, lr=1.0),
    "rmsprop": lambda p: optim.RMSprop(p, lr=0.01, centered=True, momentum=0.5),
    "clipped": lambda p: optim.SGD([{"params": p, **CLIP}], lr=0.1, momentum=0.9),
    "ftrl": lambda p: Ftrl(p, lr=0.1, lr_power=0.5, lambda1=0.01),
    "two groups": lambda p: optim.AdamW([{"params": p[:2], "lr": 0.1}, {"params": p[2:]}]),
}


@pytest.mark.parametrize("passes", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name: str, passes: bool) -> None:
    compare(OPTIMIZERS[name], passes=passes)


SCHEDULES: dict[str, Callable[[Any], Any]] = {
    "step": lambda o: optim.lr_scheduler.StepLR(o, 2, gamma=0.5),
    "cosine": lambda o: optim.lr_scheduler.CosineDecayLR(o, decay_steps=4, alpha=0.1),
    "warm up": lambda o: optim.lr_scheduler.WarmUpLR(
        optim.lr_scheduler.ExponentialLR(o, 0.5), warmup_iters=2, warmup_method="linear"
    ),
    "lambda": lambda o: optim.lr_scheduler.LambdaLR(o, [lambda step: 1 / (1 + step)]),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedulers(name: str) -> None:
    compare(OPTIMIZERS["adam"], SCHEDULES[name])


def test_a_learning_rate_set_by_hand_is_traced_once() -> None:
    model = nn.Linear(1, 1, bias=False)
    nn.init.ones_(model.weight)
    sgd = optim.SGD(model.parameters(), lr=0.5)
    traces = []

    class Step(nn.Graph):
        """Its gradient is 1."""

        def __init__(self) -> None:
            super().__init__()
            self.model = model
            self.add_optimizer(sgd)

        def build(self, x: Any) -> Any:
            traces.append(1)
            self.model(x).sum().backward()

    graph = Step()
    for lr, want in ((0.5, 0.5), (0.25, 0.25), (0.0, 0.25)):
        sgd.param_groups[0]["lr"] = lr
        assert graph(flow.ones(1, 1)) is None
        assert values(model.weight).item() == want
    assert len(traces) == 1
    sgd.param_groups[0]["weight_decay"] = 1.0  # this is a constant of the trace
    sgd.param_groups[0]["lr"] = 1.0
    graph(flow.ones(1, 1))
    assert values(model.weight).item() == 0.25 - 1.25 and len(traces) == 2


def test_lr_scale_is_a_factor_of_its_group() -> None:
    a, b = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
    nn.init.ones_(a.weight), nn.init.ones_(b.weight)
    groups = [{"params": a.parameters()}, {"params": b.parameters(), "lr_scale": 0.5}]
    graph = Train(nn.ModuleList([a, b]), optim.SGD(groups, lr=1.0))
    graph.build = lambda x: (a(x) + b(x)).sum().backward()  # type: ignore[method-assign]
    graph(flow.ones(1, 1))
    assert values(a.weight).item() == 0.0 and values(b.weight).item() == 0.5


def test_gradients_start_from_nothing_and_stay_in_the_graph() -> None:
    layer = nn.Linear(2, 1)
    layer.weight.grad = flow.full((1, 2), 7.0)

    def build(x: Any) -> Any:
        layer(x).sum().backward()
        return layer.weight.grad

    graph, x = FunctionGraph(build), flow.randn(3, 2)
    want = x.sum(0, keepdim=True)
    for _ in range(2):
        assert_close(graph(x), want)
        assert values(layer.weight.grad).tolist() == [[7.0, 7.0]]
    assert layer.bias.grad is None


def test_gradients_of_inputs_and_of_second_order() -> None:
    def build(x: Any) -> Any:
        y = (x**3).sum()
        (g,) = flow.autograd.grad(y, x, create_graph=True)
        g.sum().backward()
        return g, x.grad

    x = flow.tensor([1.0, 2.0], requires_grad=True)
    g, second = FunctionGraph(build)(x)
    assert values(g).tolist() == [3.0, 12.0] and values(second).tolist() == [6.0, 12.0]
    assert x.grad is None


def test_a_parameter_without_gradient_is_left_alone() -> None:
    used, unused = nn.Linear(1, 1), nn.Linear(1, 1)
    before = values(unused.weight)
    adam = optim.Adam([*used.parameters(), *unused.parameters()], weight_decay=1.0)
    graph = Train(nn.ModuleList([used, unused]), adam)
    graph.build = lambda x: used(x).sum().backward()  # type: ignore[method-assign]
    graph(flow.ones(1, 1))
    assert (values(unused.weight) == before).all()
    assert unused.weight not in adam.state or not adam.state[unused.weight]


def test_parameters_frozen_and_thawed_between_calls() -> None:
    own = network()
    other = copy.deepcopy(own)
    one, two = (optim.SGD(m.parameters(), lr=0.1, momentum=0.9) for m in (own, other))
    traced = []

    class Counted(Train):
        """Counts its traces."""

        def build(self, x: Any) -> Any:
            """A step."""
            traced.append(self.model[0].weight.requires_grad)
            return super().build(x)

    graph = Counted(other, two, passes=False)
    for frozen in (False, False, True, True, False, True):
        for model in (own, other):
            model[0].weight.requires_grad_(not frozen)  # no module hears of it
        before = values(other[0].weight).copy()
        x = flow.randn(4, 3)
        assert_equal(graph(x), eager_step(own, one, None, x), "loss")
        assert_equal(list(other.parameters()), list(own.parameters()), "parameters")
        assert (values(other[0].weight) == before).all() == frozen
    assert traced == [True, False]  # each once: what was compiled is kept


def test_two_optimizers_two_losses() -> None:
    a, b = nn.Linear(2, 1), nn.Linear(2, 1)
    both = nn.ModuleList([a, b])
    eager = copy.deepcopy(both)

    class Two(nn.Graph):
        """Two backward passes."""

        def __init__(self) -> None:
            super().__init__()
            self.both = both
            self.add_optimizer(optim.SGD(a.parameters(), lr=0.1))
            self.add_optimizer(optim.Adam(b.parameters(), lr=0.1))

        def build(self, x: Any) -> Any:
            first, second = self.both[0](x).sum(), self.both[1](x).mean()
            first.backward()
            second.backward()
            return first, second

    graph, x = Two(), flow.randn(3, 2)
    optimizers = [optim.SGD(eager[0].parameters(), lr=0.1), optim.Adam(eager[1].parameters(), 0.1)]
    for _ in range(3):
        want = (eager[0](x).sum(), eager[1](x).mean())
        for o, loss in zip(optimizers, want):
            o.zero_grad(set_to_none=True)
            loss.backward()
            o.step()
        assert_close(graph(x), [w.detach() for w in want])


@pytest.mark.parametrize("parts", [2, 4])
def test_gradient_accumulation(parts: int) -> None:
    own = network()
    other = copy.deepcopy(own)
    one, two = (optim.SGD(m.parameters(), lr=0.1, momentum=0.9) for m in (own, other))
    graph = Train(other, two)
    graph.config.set_gradient_accumulation_steps(parts)
    for _ in range(3):
        x = flow.randn(8, 3)
        one.zero_grad(set_to_none=True)
        losses = []
        for part in x.chunk(parts):
            loss = (own(part) ** 2).mean()
            (loss / parts).backward()
            losses.append(loss.detach())
        one.step()
        assert_close(graph(x), flow.stack(losses))
        assert_close(list(other.parameters()), list(own.parameters()))
    with raises(ValueError, f"multiple of {parts}", r"\(7, 3\)"):
        graph(flow.randn(7, 3))


def test_accumulated_outputs_are_joined() -> None:
    graph = FunctionGraph(lambda x, s: (x * s, x.sum(), s))
    graph.config.set_gradient_accumulation_steps(2)
    x, s = flow.randn(4, 3), flow.tensor(2.0)
    assert_close(graph(x, s), (x * s, x.reshape(2, -1).sum(1), flow.tensor([2.0, 2.0])))


@pytest.mark.parametrize("nested", [False, True])
def test_activation_checkpointing(nested: bool) -> None:
    own = nn.Sequential(network(), nn.Tanh(), nn.Linear(2, 2))
    other = copy.deepcopy(own)
    one, two = (optim.SGD(m.parameters(), lr=0.1) for m in (own, other))
    graph = Train(other, two)
    (graph.model[0] if nested else graph.model).to(GraphModule).activation_checkpointing = True
    for _ in range(3):
        x = flow.randn(4, 3)
        assert_close(graph(x), eager_step(own, one, None, x))
        assert_close(list(other.parameters()), list(own.parameters()))
    assert "forward" not in other.__dict__ and "forward" not in other[0].__dict__


def test_checkpointed_dropout_draws_once() -> None:
    """The mask of the second computation is that of the first."""

    class Masked(nn.Module):
        """y = dropout(x), z = y * y."""

        def forward(self, x: Any) -> Any:
            return nn.functional.dropout(x, 0.5) ** 2

    class Slope(nn.Graph):
        """The output and its gradient."""

        def __init__(self) -> None:
            super().__init__()
            self.masked = Masked()
            self.masked.to(GraphModule).activation_checkpointing = True

        def build(self, x: Any) -> Any:
            y = self.masked(x)
            y.sum().backward()
            return y, x.grad

    graph, x = Slope(), flow.ones(1000).requires_grad_()
    for _ in range(3):
        y, slope = graph(x)
        assert set(values(y).tolist()) == {0.0, 4.0}
        assert_equal(slope, y * 2)  # dy/dx = 2 * 4 * x where kept


def test_amp_computes_products_in_a_short_dtype_and_trains() -> None:
    model = nn.Linear(4, 4)
    graph = FunctionGraph(model)
    graph.config.enable_amp(True)
    assert graph(flow.randn(2, 4)).dtype == flow.bfloat16
    own = network()
    other = copy.deepcopy(own)
    one, two = (optim.SGD(m.parameters(), lr=0.1) for m in (own, other))
    train = Train(other, two, passes=False)
    train.config.enable_amp(True)
    x = flow.randn(4, 3)
    got = train(x)
    with flow.autocast("cpu"):
        loss = (own(x) ** 2).mean()
    loss.backward()
    one.step()
    assert_equal(got, loss.detach())
    assert_equal(list(other.parameters()), list(own.parameters()))
    assert all(p.dtype == flow.float32 for p in other.parameters())


def test_state_dict_continues_where_it_was(tmp_path: Path) -> None:
    def make(model: Any) -> Any:
        adam = optim.Adam(model.parameters(), lr=0.1)
        return Train(model, adam, optim.lr_scheduler.StepLR(adam, 2, gamma=0.5), passes=False)

    first = network()
    graph = make(first)
    assert list(graph.state_dict()) == ["model", "System-Train-TrainStep", "System-LRScheduler"]
    batches = [flow.randn(4, 3) for _ in range(6)]
    for x in batches[:3]:
        graph(x)
    flow.save(graph.state_dict(), str(tmp_path / "state"))
    want = [graph(x) for x in batches[3:]]
    second = network()
    other = make(second)
    other(batches[0])  # a graph that was traced already takes it over, too
    for _ in range(2):
        other.load_state_dict(flow.load(str(tmp_path / "state")))
        assert values(other.state_dict()["System-Train-TrainStep"]).tolist() == [3]
        assert_equal([other(x) for x in batches[3:]], want)
    assert_equal(list(second.parameters()), list(first.parameters()))
    assert "model.0.weight-exp_avg" in other.state_dict()


def test_an_optimizer_that_loads_a_state_is_traced_anew() -> None:
    model = network()
    adam = optim.Adam(model.parameters(), lr=0.1)
    graph, x = Train(model, adam, passes=False), flow.randn(4, 3)
    graph(x)
    state, weights = copy.deepcopy(adam.state_dict()), copy.deepcopy(model.state_dict())
    want = graph(x), graph(x)
    for _ in range(2):
        adam.load_state_dict(state)
        model.load_state_dict(weights)
        assert_equal((graph(x), graph(x)), want)


def test_a_module_trains_in_turn_eagerly_and_in_a_graph() -> None:
    own = network()
    other = copy.deepcopy(own)
    one, two = (optim.Adam(m.parameters(), lr=0.1) for m in (own, other))
    graph = Train(other, two, passes=False)
    for turn in range(4):
        x = flow.randn(4, 3)
        want = eager_step(own, one, None, x)
        got = graph(x) if turn % 2 else eager_step(other, two, None, x)
        assert_equal(got, want)
    assert_equal(list(other.parameters()), list(own.parameters()))


def test_an_unknown_module_state_is_refused() -> None:
    graph = Train(network(), optim.SGD([nn.Parameter(flow.ones(1))]))
    with raises(KeyError, "Graph.load_state_dict", "model"):
        graph.load_state_dict({})
    with raises(TypeError, "Graph.load_state_dict", "expects a dict", "list"):
        graph.load_state_dict([])  # type: ignore[arg-type]


def test_control() -> None:
    must_fail(lambda: compare(lambda p: optim.SGD(p, lr=float(flow.rand(1)))))
