"""What a graph computes is what eager computes: arguments, structures, captured tensors, modes."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from typing import Any

import numpy as np
import pytest
from tests.graph.graphs import FunctionGraph, assert_close, assert_equal, bits, check
from tests.support import must_fail, raises, values

import oneflow as flow
from oneflow import nn

Pair = namedtuple("Pair", ["first", "second"])


def test_a_linear_layer() -> None:
    layer = nn.Linear(3, 8)
    check(layer, flow.randn(5, 3))


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 4), (2, 3, 4)])
def test_shapes(shape: tuple[int, ...]) -> None:
    check(lambda x: (x * 2 + 1, x.sum()), flow.randn(*shape))


def test_inputs_of_any_layout() -> None:
    check(lambda x, y: x + y, flow.randn(4, 3).transpose(0, 1), flow.randn(3, 1).expand(3, 4))


def test_nested_structures_keep_their_form() -> None:
    def build(a: Any, *rest: Any, **named: Any) -> Any:
        x, (y, [z]) = a["x"], rest
        return {"sum": x + y, "rest": [z * 2, (None, x), 3, "word"], "named": named["k"][0] - 1}

    graph = FunctionGraph(build)
    x, y, z, k = (flow.randn(2, 2) for _ in range(4))
    got = graph({"x": x}, y, [z], k=(k, None))
    assert_equal(got, build({"x": x}, y, [z], k=(k, None)))
    assert got["rest"][2:] == [3, "word"] and got["rest"][1][0] is None


def test_named_tuples_and_ordered_dicts_come_back_as_such() -> None:
    graph = FunctionGraph(lambda pair, d: (Pair(pair.second, pair.first), OrderedDict(d)))
    x, y = flow.randn(2), flow.randn(3)
    pair, made = graph(Pair(x, y), OrderedDict(a=x))
    assert isinstance(pair, Pair) and isinstance(made, OrderedDict)
    assert_equal(pair, [y, x])


def test_numbers_belong_to_the_form_of_the_arguments() -> None:
    graph = FunctionGraph(lambda x, n, word="a": x * n if word == "a" else x + n)
    x = flow.randn(3)
    for n in (2, 3, 2):
        assert_equal(graph(x, n), x * n)
    assert_equal(graph(x, 2, word="b"), x + 2)
    assert_equal(graph(x, 2.0), x * 2.0)


@pytest.mark.parametrize("bad", [np.ones(2), object(), {1, 2}, lambda: None])
def test_other_arguments_are_refused(bad: Any) -> None:
    with raises(TypeError, "nn.Graph", "tensors, numbers", "argument", type(bad).__name__):
        FunctionGraph(lambda x: flow.ones(1))(bad)
    with raises(TypeError, "nn.Graph", "what build returns", type(bad).__name__):
        FunctionGraph(lambda: bad)()


def test_each_form_is_traced_once() -> None:
    traced = []

    def build(x: Any) -> Any:
        traced.append((tuple(x.shape), x.dtype))
        return x + 1

    graph = FunctionGraph(build)
    inputs = [flow.ones(2), flow.ones(3), flow.ones(2), flow.ones(2, dtype=flow.int64)]
    for x in [*inputs, *inputs]:
        assert_equal(graph(x), x + 1)
    assert len(traced) == 3


def test_requires_grad_is_part_of_the_form() -> None:
    graph = FunctionGraph(lambda x: flow.ones(1) if x.requires_grad else flow.zeros(1))
    x = flow.ones(2)
    assert values(graph(x)) == [0] and values(graph(x.clone().requires_grad_())) == [1]


def test_requires_grad_of_a_free_tensor_is_noticed() -> None:
    free = flow.ones(2)
    graph = FunctionGraph(lambda x: x * free if free.requires_grad else x + free)
    x = flow.full((2,), 3.0)
    assert values(graph(x)).tolist() == [4, 4]
    free.requires_grad_()
    assert values(graph(x)).tolist() == [3, 3]


def test_python_control_flow_is_resolved_when_traced() -> None:
    def build(x: Any) -> Any:
        for _ in range(3):
            x = x * 2 if x.shape[0] == 2 else x + 1
        return x

    check(build, flow.randn(2))
    check(build, flow.randn(3))


def test_outputs_are_new_tensors_each_time() -> None:
    graph = FunctionGraph(lambda x: x * 2)
    first = graph(flow.ones(3))
    second = graph(flow.zeros(3))
    assert values(first).tolist() == [2, 2, 2] and values(second).tolist() == [0, 0, 0]
    assert first.grad_fn is None and not first.requires_grad


def test_a_tensor_twice_among_inputs_and_outputs() -> None:
    def build(x: Any, y: Any) -> Any:
        z = x + y
        return z, z, x, z * 2

    check(build, *([flow.randn(3)] * 2))


def test_no_inputs_and_no_outputs() -> None:
    graph = FunctionGraph(lambda: flow.ones(2) * 3)
    assert_equal(graph(), flow.ones(2) * 3)
    assert FunctionGraph(lambda x: None)(flow.ones(1)) is None
    assert FunctionGraph(lambda x: [])(flow.ones(1)) == []


# Tensors that build finds elsewhere.


def test_a_free_tensor_is_read_at_each_run() -> None:
    free = flow.ones(2)
    graph = FunctionGraph(lambda x: x + free)
    assert values(graph(flow.ones(2))).tolist() == [2, 2]
    free.fill_(5)
    assert values(graph(flow.ones(2))).tolist() == [6, 6]


def test_a_free_tensor_returned() -> None:
    free = flow.randn(3)
    graph = FunctionGraph(lambda: free)
    assert_equal(graph(), free)
    free.mul_(2)
    assert_equal(graph(), free)


def test_a_free_tensor_written_in_place_is_written_at_each_run() -> None:
    count = flow.zeros(1)

    def build(x: Any) -> Any:
        count.add_(1)
        return x * count

    graph = FunctionGraph(build)
    assert [values(graph(flow.ones(1))).item() for _ in range(3)] == [1, 2, 3]
    assert values(count).item() == 3


def test_an_input_written_in_place_stays_as_it_is() -> None:
    def build(x: Any) -> Any:
        x += 1
        x[0] = 7
        return x

    x = flow.zeros(3)
    graph = FunctionGraph(build)
    assert values(graph(x)).tolist() == values(graph(x)).tolist() == [7, 1, 1]
    assert values(x).tolist() == [0, 0, 0]


def test_views_and_writes_through_them() -> None:
    def build(x: Any) -> Any:
        y = x * 1
        y[:, 1] = 5
        row = y[0]
        row += 10
        y.transpose(0, 1)[2].mul_(3)
        return y, row, y.reshape(-1)[1::2]

    check(build, flow.randn(3, 4))


def test_constants_made_in_build() -> None:
    check(lambda x: x + flow.tensor([1.0, 2.0]) * flow.arange(2) + flow.ones(2), flow.randn(2))


def test_constants_are_told_apart_by_every_bit() -> None:
    graph = FunctionGraph(lambda x, c: flow.full_like(x, c.real if isinstance(c, complex) else c))
    x = flow.zeros(2)
    for constant in (0.0, -0.0, complex(-0.0, 1.0), complex(0.0, 1.0)):
        assert np.signbit(graph(x, constant).numpy()[0]) == np.signbit(np.real(constant))
    for _ in range(2):
        assert np.isnan(graph(x, float("nan")).numpy()).all()
    assert len(graph._graphs) == 5  # NaN is one form, too


def test_a_parameter_given_other_memory() -> None:
    layer = nn.Linear(2, 2)
    graph = FunctionGraph(layer)
    x = flow.randn(1, 2)
    assert_equal(graph(x), layer(x))
    layer.weight.data = flow.randn(2, 2)
    assert_equal(graph(x), layer(x))
    layer.load_state_dict({"weight": flow.zeros(2, 2), "bias": flow.ones(2)})
    assert_equal(graph(x), layer(x))


class Owned(nn.Graph):
    """A graph of a module."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        self.module = module

    def build(self, x: Any) -> Any:
        """Calls it."""
        return self.module(x)


def test_a_module_replaced_and_a_parameter_replaced() -> None:
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    graph, x = Owned(net), flow.randn(4, 2)
    assert_close(graph(x), net(x))
    net[0] = nn.Linear(2, 5)
    assert_close(graph(x), net(x))
    net[0].weight = nn.Parameter(flow.zeros(5, 2))
    assert_close(graph(x), net(x))
    graph.module = nn.Identity()
    assert_equal(graph(x), x)


def test_train_and_eval_are_traced_apart() -> None:
    net = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(0.5))
    graph, x = Owned(net), flow.randn(8, 3)
    net.eval()
    assert_close(graph(x), net(x))
    net.train()
    assert (values(graph(x)) == 0).any()
    net.eval()
    assert_close(graph(x), net(x))


def test_buffers_move_as_in_eager() -> None:
    one, other = nn.BatchNorm1d(3), nn.BatchNorm1d(3)
    graph = Owned(other)
    graph.config.disable_passes("common_subexpressions", "constant_folding", "fusion", "in_place")
    for _ in range(3):
        x = flow.randn(8, 3)
        assert_equal(graph(x), one(x).detach())
    for a, b in zip(one.buffers(), other.buffers()):
        assert bits(a) == bits(b)


def test_a_buffer_that_forward_replaces() -> None:
    class Mean(nn.Module):
        """Keeps a running mean, by assignment."""

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mean", flow.zeros(1))

        def forward(self, x: Any) -> Any:
            mean = self._buffers["mean"]
            self.mean = mean * 0.5 + x.mean() * 0.5
            return x - self.mean

    one, other = Mean(), Mean()
    graph = Owned(other)
    for _ in range(3):
        x = flow.randn(4)
        assert_close(graph(x), one(x))
        assert_close(other.mean, one.mean)
    assert not other.mean.is_lazy


def test_modules_are_shared_between_eager_and_graphs() -> None:
    layer = nn.Linear(2, 2)
    first, second, x = Owned(layer), Owned(layer), flow.randn(1, 2)
    for _ in range(2):
        assert_close(first(x), layer(x))
        assert_close(second(x), first(x))
        with flow.no_grad():
            layer.weight.add_(1)


def test_module_hooks_and_methods() -> None:
    layer = nn.Linear(2, 2)
    layer.register_forward_hook(lambda module, args, out: out * 3)
    x = flow.randn(1, 2)
    assert_close(Owned(layer)(x), layer(x))


def test_eager_ops_around_a_run_keep_their_order() -> None:
    free = flow.zeros(200, 200)
    graph = FunctionGraph(lambda x: (x + free).sum())
    want, got = [], []
    for i in range(20):
        free.fill_(i)
        got.append(graph(flow.ones(200, 200)))
        free.fill_(-1)
        want.append((i + 1) * 40000)
    assert [values(t).item() for t in got] == want


def test_random_ops_draw_anew_at_each_run_and_as_eager_does() -> None:
    def build() -> Any:
        return flow.randn(3), flow.rand(2), flow.nn.functional.dropout(flow.ones(8), 0.5)

    graph = FunctionGraph(build)
    graph()
    flow.manual_seed(7)
    want = [build() for _ in range(3)]
    flow.manual_seed(7)
    got = [graph() for _ in range(3)]
    assert_equal(got, want)
    must_fail(assert_equal, got[0], got[1])


def test_no_grad_and_autocast_around_the_call() -> None:
    layer, x = nn.Linear(4, 4), flow.randn(2, 4)
    graph = FunctionGraph(layer)
    with flow.autocast("cpu"):
        assert graph(x).dtype == flow.bfloat16
    assert graph(x).dtype == flow.float32
    with flow.no_grad():
        assert_close(graph(x), layer(x))


def test_trace_makes_a_function_a_graph() -> None:
    @nn.Graph.trace
    def double(x: Any) -> Any:
        return x * 2

    assert isinstance(double, nn.Graph)
    assert_equal(double(flow.ones(2)), flow.ones(2) * 2)


def test_global_tensors_stay_global() -> None:
    place, split = flow.placement.all("cpu"), flow.sbp.split(0)
    x = flow.ones(4, 2).to_global(placement=place, sbp=split)
    graph = FunctionGraph(lambda x: (x, x * 2, flow.ones(3)))
    same, double, own = graph(x)
    assert same.is_global and double.is_global and not own.is_global
    assert double.placement == place and double.sbp == (split,)
    assert values(double.to_local()).tolist() == [[2, 2]] * 4


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (flow.sbp.broadcast, flow.sbp.broadcast),
        (flow.sbp.split(0), flow.sbp.split(0)),
        (flow.sbp.split(1), flow.sbp.partial_sum),
        (flow.sbp.partial_sum, flow.sbp.partial_sum),
    ],
)
def test_slices_of_global_tensors(given: Any, expected: Any) -> None:
    x = flow.arange(32).reshape(4, 8).float()
    seen = []

    def use(x: Any) -> Any:
        part = x.to_global(placement=flow.placement.all("cpu"), sbp=given)[:, 2:6]
        seen.append(part.sbp)
        return part

    for result in (use(x), FunctionGraph(use)(x)):
        assert result.is_global and result.sbp == (expected,)
        assert (values(result) == values(x)[:, 2:6]).all()
    assert seen == [(expected,)] * 2


def test_a_slice_of_a_global_tensor_is_updated() -> None:
    x, y = flow.ones(4, 8), flow.zeros(4, 3)
    split = {"placement": flow.placement.all("cpu"), "sbp": flow.sbp.split(1)}

    def use(x: Any, y: Any) -> Any:
        whole = (x * 2).to_global(**split)
        whole[:, :3] = y.to_global(**split)
        return whole

    for result in (use(x, y), FunctionGraph(use)(x, y)):
        assert result.sbp == (flow.sbp.split(1),)
        assert values(result).tolist() == [[0, 0, 0, 2, 2, 2, 2, 2]] * 4


def test_control() -> None:
    must_fail(assert_equal, flow.ones(2), flow.ones(2) + 1e-6)
    must_fail(assert_close, flow.ones(2), flow.ones(2) + 1e-3)
    must_fail(lambda: check(lambda x: flow.ones(1) * float(np.random.rand()), flow.ones(1)))
