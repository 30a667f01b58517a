"""Modules: what they own, how their state travels, what they compute."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
from tests.support import must_fail, raises, same, values

import oneflow as flow
from oneflow import nn


class Net(nn.Module):
    """Two layers, a buffer that is saved and one that is not."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 4)
        self.head = nn.Sequential(nn.ReLU(), nn.Linear(4, 2, bias=False))
        self.register_buffer("mean", flow.zeros(3))
        self.register_buffer("scratch", flow.ones(1), persistent=False)

    def forward(self, x: Any) -> Any:
        return self.head(self.fc(x - self.mean))


NAMES = ["fc.weight", "fc.bias", "head.1.weight"]


# What a module owns.


def test_parameters_buffers_and_modules_are_found_in_order() -> None:
    net = Net()
    assert [name for name, _ in net.named_parameters()] == NAMES
    assert [name for name, _ in net.named_buffers()] == ["mean", "scratch"]
    assert [n for n, _ in net.named_modules()] == ["", "fc", "head", "head.0", "head.1"]
    assert [n for n, _ in net.named_children()] == ["fc", "head"]
    assert list(net.parameters(recurse=False)) == []
    assert net.get_submodule("head.1") is net.head[1]
    assert net.get_parameter("fc.bias") is net.fc.bias
    assert net.get_buffer("mean") is net.mean
    assert {"fc", "head", "mean"} <= set(dir(net))


def test_a_shared_part_counts_once() -> None:
    net = nn.Module()
    net.a = nn.Linear(2, 2)
    net.b = net.a
    assert len(list(net.parameters())) == 2
    assert len(list(net.modules())) == 2
    assert sorted(net.state_dict()) == ["a.bias", "a.weight", "b.bias", "b.weight"]


def test_assignment_replaces_what_had_the_name() -> None:
    net = Net()
    fresh = nn.Parameter(flow.ones(4, 3))
    net.fc.weight = fresh
    assert list(net.fc._parameters) == ["weight", "bias"]
    assert net.fc.weight is fresh
    net.fc.bias = None
    assert net.fc(flow.ones(1, 3)).shape == (1, 4)
    net.mean = flow.ones(3)
    assert net._buffers["mean"] is net.mean
    net.plain = 3
    assert net.plain == 3
    del net.head
    assert not hasattr(net, "head")
    assert [n for n, _ in net.named_children()] == ["fc"]


def test_a_plain_attribute_gives_way_to_a_parameter() -> None:
    net = nn.Module()
    net.w = 1
    net.w = nn.Parameter(flow.ones(1))
    assert [name for name, _ in net.named_parameters()] == ["w"]
    with raises(TypeError, "expects nn.Parameter or None", "'w'", "int"):
        net.w = 1


def assign_early() -> None:
    class Early(nn.Module):
        def __init__(self) -> None:
            self.fc = nn.Linear(1, 1)

    Early()


def a_result() -> Any:
    return flow.ones(1, requires_grad=True) * 2


loose: Any = nn  # wrong types on purpose
loose_net: Any = Net
BAD: list[tuple[Any, Any, str]] = [
    (assign_early, AttributeError, r"super\(\).__init__\(\)"),
    (lambda: loose_net().nothing, AttributeError, "'nothing'"),
    (lambda: setattr(Net(), "fc", 3), TypeError, "expects nn.Module or None for 'fc', got int"),
    (lambda: setattr(Net(), "mean", 3), TypeError, "expects Tensor or None for 'mean', got int"),
    (lambda: delattr(Net(), "nothing"), AttributeError, "nothing"),
    (lambda: loose_net().register_parameter("a.b", None), KeyError, "has no dot"),
    (lambda: loose_net().register_parameter("", None), KeyError, "not empty"),
    (lambda: loose_net().register_parameter(3, None), TypeError, "expects a str"),
    (lambda: loose_net().register_parameter("fc", None), KeyError, "expects a free name"),
    (lambda: loose_net().register_parameter("w", flow.ones(1)), TypeError, "expects nn.Parameter"),
    (lambda: loose_net().register_buffer("fc", None), KeyError, "expects a free name"),
    (lambda: loose_net().register_buffer("b", 1), TypeError, "expects a Tensor or None"),
    (lambda: loose_net().add_module("m", 1), TypeError, "expects nn.Module or None"),
    (lambda: loose_net().add_module("mean", nn.ReLU()), KeyError, "expects a free name"),
    (lambda: loose_net().get_submodule("head.7"), AttributeError, "has no module 'head.7'"),
    (lambda: loose_net().get_parameter("fc.w"), AttributeError, "has no parameter 'fc.w'"),
    (lambda: loose_net().get_buffer("fc.w"), AttributeError, "has no buffer 'fc.w'"),
    (lambda: loose_net().register_forward_hook(3), TypeError, "expects something callable"),
    (lambda: loose_net().train("yes"), ValueError, "expects a bool"),
    (lambda: loose_net().to(flow.int64), TypeError, "expects a floating-point dtype"),
    (lambda: loose_net().to(3.5), TypeError, "expects a device, a dtype or a Tensor"),
    (lambda: loose_net().to(speed=1), TypeError, "unexpected keyword 'speed'"),
    (lambda: loose.Module()(1), NotImplementedError, "does not define forward"),
    (lambda: loose.Parameter(3), TypeError, "expects a Tensor, got int"),
    (lambda: loose.Parameter(flow.arange(3)), RuntimeError, "requires_grad|floating"),
    (lambda: loose.Linear(-1, 2), ValueError, "at least 0"),
    (lambda: loose.Linear(2.5, 2), TypeError, "expects a size of integers"),
    (lambda: loose.CrossEntropyLoss(reduction="max"), ValueError, "none, mean or sum, got 'max'"),
    (lambda: loose.NLLLoss(weight=[1.0]), TypeError, "expects a Tensor or None"),
    (lambda: loose.ModuleList([3]), TypeError, "expects nn.Module"),
    (lambda: loose.ModuleList(3), TypeError, "expects an iterable"),
    (lambda: loose.ModuleList([nn.ReLU()])[1], IndexError, "expects an index below 1, got 1"),
    (lambda: loose.ModuleList([nn.ReLU()])["a"], TypeError, "expects an int or a slice"),
    (lambda: loose.Sequential(3), TypeError, "expects nn.Module"),
    (lambda: loose.ModuleDict({"a.b": nn.ReLU()}), KeyError, "has no dot"),
    (lambda: loose.ModuleDict(3), TypeError, "expects a mapping"),
    (lambda: loose.ModuleDict({})["a"], KeyError, "a"),
    (lambda: loose.ParameterList(flow.ones(2)), TypeError, "expects an iterable"),
    (lambda: loose.ParameterList([3]), TypeError, "expects nn.Parameter"),
    (lambda: loose.ParameterDict({"a": 3}), TypeError, "expects nn.Parameter"),
    (lambda: loose.Flatten(3)(flow.ones(2, 2)), IndexError, "expects"),
    (lambda: loose.Flatten(1, 0)(flow.ones(2, 2)), RuntimeError, "expects"),
    (lambda: loose.LogSoftmax(5)(flow.ones(2, 2)), IndexError, "expects"),
]


@pytest.mark.parametrize(("wrong", "kind", "message"), BAD)
def test_bad_input_is_a_clear_error(wrong: Any, kind: Any, message: str) -> None:
    with raises(kind, message):
        wrong()


def test_a_parameter_with_history_is_refused() -> None:
    made = nn.Parameter(flow.ones(1))
    net = nn.Module()
    net.register_parameter("w", made)
    assert net.w is made
    with raises(TypeError, "expects nn.Parameter"):
        net.register_parameter("v", a_result())


# Calls and hooks.


def test_hooks_see_and_replace_arguments_and_results() -> None:
    layer = nn.Identity()
    seen: list[Any] = []
    before = layer.register_forward_pre_hook(lambda module, args: args[0] + 1)
    after = layer.register_forward_hook(lambda module, args, out: seen.append((args, out)))
    last = layer.register_forward_hook(lambda module, args, out: out * 10)
    same(layer(flow.ones(1)), [20.0])
    same(seen[0][1], [2.0])
    before.remove()
    after.remove()
    same(layer(flow.ones(1)), [10.0])
    with last:
        pass
    last.remove()
    same(layer(flow.ones(1)), [1.0])
    assert len(seen) == 1


def test_train_eval_apply_and_requires_grad() -> None:
    net = Net()
    assert net.eval() is net
    assert not any(module.training for module in net.modules())
    net.train()
    assert all(module.training for module in net.modules())
    order: list[Any] = []
    net.apply(order.append)
    assert order[-1] is net
    assert len(order) == 5
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())


def test_to_converts_in_place_and_keeps_identity() -> None:
    net = Net()
    net.register_buffer("count", flow.arange(2))
    first = net.fc.weight
    (net(flow.ones(1, 3)).sum()).backward()
    assert net.double() is net
    assert net.fc.weight is first
    assert net.fc.weight.dtype == flow.float64
    assert net.fc.weight.grad.dtype == flow.float64
    assert net.mean.dtype == flow.float64
    assert net.count.dtype == flow.int64
    assert net(flow.ones(1, 3, dtype=flow.float64)).dtype == flow.float64
    assert net.cpu().float().fc.bias.dtype == flow.float32
    with raises(RuntimeError, "cuda"):
        net.cuda()


def test_zero_grad() -> None:
    net = Net()
    net(flow.ones(1, 3)).sum().backward()
    net.zero_grad()
    same(net.fc.bias.grad, np.zeros(4))
    net.zero_grad(set_to_none=True)
    assert net.fc.bias.grad is None


# State.


def check_state_travels(net: Any, other: Any) -> None:
    """After loading, both compute the same; nothing is shared."""
    result = other.load_state_dict(net.state_dict())
    assert not result.missing_keys
    assert not result.unexpected_keys
    x = flow.randn(5, 3)
    same(other(x), values(net(x)))
    before = values(net.fc.weight)
    with flow.no_grad():
        other.fc.weight.zero_()
    same(net.fc.weight, before)


def test_state_travels() -> None:
    net = Net()
    net.mean = flow.ones(3)
    check_state_travels(net, Net())


def test_state_dict_has_paths_prefix_and_metadata() -> None:
    net = Net()
    state = net.state_dict()
    assert list(state) == ["mean", *NAMES]
    assert isinstance(state, OrderedDict)
    assert state._metadata["fc"] == {"version": 1}  # type: ignore[attr-defined]
    assert not state["fc.weight"].requires_grad
    assert net.state_dict(keep_vars=True)["fc.weight"] is net.fc.weight
    assert list(net.state_dict(prefix="net."))[0] == "net.mean"
    # The values share memory with the module.
    with flow.no_grad():
        net.fc.bias.fill_(7.0)
    same(state["fc.bias"], [7.0] * 4)


def check_failed_load_changes_nothing(load: Any) -> None:
    """`load(net, state)` raises for a state with one wrong shape, and leaves `net` as it was."""
    net = Net()
    before = {name: values(value) for name, value in net.state_dict().items()}
    state = Net().state_dict()
    state["head.1.weight"] = flow.ones(9, 9)
    with raises(RuntimeError, r"head.1.weight", r"expects shape \(2, 4\), got \(9, 9\)"):
        load(net, state)
    for name, value in net.state_dict().items():
        np.testing.assert_array_equal(values(value), before[name])


def test_a_failed_load_changes_nothing() -> None:
    check_failed_load_changes_nothing(lambda net, state: net.load_state_dict(state))


def test_a_mismatch_lists_everything() -> None:
    state = Net().state_dict()
    del state["fc.bias"]
    state["extra.weight"] = flow.ones(1)
    state["mean"] = flow.ones(5)
    with raises(RuntimeError, "Net", "lacks fc.bias", "has no extra.weight", "mean: expects shape"):
        Net().load_state_dict(state)
    state["mean"] = flow.ones(3)
    result = Net().load_state_dict(state, strict=False)
    assert result.missing_keys == ["fc.bias"]
    assert result.unexpected_keys == ["extra.weight"]
    assert "fc.bias" in str(result)


@pytest.mark.parametrize("state", [None, 3, [("a", 1)]])
def test_a_state_that_is_no_mapping(state: Any) -> None:
    with raises(TypeError, "expects a mapping"):
        Net().load_state_dict(state)


def test_a_value_that_is_no_tensor() -> None:
    state = Net().state_dict()
    state["mean"] = 3
    with raises(RuntimeError, "mean: expects a Tensor, got int"):
        Net().load_state_dict(state)
    state["mean"] = np.full(3, 2.0)
    net = Net()
    net.load_state_dict(state)
    same(net.mean, [2.0] * 3)


def test_a_subclass_may_convert_old_state() -> None:
    class New(nn.Linear):
        _version = 2

        def _load_from_state_dict(
            self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any
        ) -> None:
            if local_metadata.get("version", 1) < 2:
                state_dict[prefix + "weight"] = state_dict.pop(prefix + "old_weight")
            super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    new = nn.Sequential(New(1, 1))
    old = OrderedDict([("0.old_weight", flow.ones(1, 1)), ("0.bias", flow.zeros(1))])
    new.load_state_dict(old)
    same(new[0].weight, [[1.0]])
    assert "0.old_weight" in old


def test_state_dict_hooks() -> None:
    net = nn.Linear(1, 1)

    def rename(module: Any, state: Any, prefix: str, metadata: Any) -> None:
        state[prefix + "w"] = state.pop(prefix + "weight")

    def restore(state: Any, prefix: str, *rest: Any) -> None:
        state[prefix + "weight"] = state.pop(prefix + "w")

    net._register_state_dict_hook(rename)
    net._register_load_state_dict_pre_hook(restore)
    state = net.state_dict()
    assert sorted(state) == ["bias", "w"]
    net.load_state_dict(state)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_copies_are_whole_and_apart(copied: Any) -> None:
    net = Net()
    net.tied = net.fc
    net(flow.ones(1, 3)).sum().backward()
    other = copied(net)
    assert [name for name, _ in other.named_parameters()] == NAMES
    assert other.tied is other.fc
    assert isinstance(other.fc.weight, nn.Parameter)
    check_state_travels(net, other)


# Text.


def test_repr_shows_the_tree() -> None:
    assert repr(Net()) == (
        "Net(\n"
        "  (fc): Linear(in_features=3, out_features=4, bias=True)\n"
        "  (head): Sequential(\n"
        "    (0): ReLU()\n"
        "    (1): Linear(in_features=4, out_features=2, bias=False)\n"
        "  )\n"
        ")"
    )
    assert repr(nn.LogSoftmax(1)) == "LogSoftmax(dim=1)"
    assert repr(nn.Flatten()) == "Flatten(start_dim=1, end_dim=-1)"
    assert repr(nn.ReLU(inplace=True)) == "ReLU(inplace=True)"
    assert "reduction='sum'" in repr(nn.NLLLoss(reduction="sum"))


# Containers.


def test_sequential() -> None:
    named = nn.Sequential(OrderedDict([("a", nn.Linear(2, 3)), ("b", nn.ReLU())]))
    assert named.a is named[0]
    assert named[-1] is named.b
    assert list(named[1:]._modules) == ["b"]
    numbered = nn.Sequential(nn.ReLU(), nn.Identity(), nn.Flatten())
    del numbered[0]
    assert list(numbered._modules) == ["0", "1"]
    numbered[0] = nn.ReLU()
    assert isinstance(numbered[0], nn.ReLU)
    assert len(numbered.append(nn.ReLU())) == 3


def test_module_list_and_dict() -> None:
    layers = nn.ModuleList([nn.Linear(1, 1)])
    layers += [nn.ReLU()]
    layers.insert(0, nn.Identity())
    assert [type(m).__name__ for m in layers] == ["Identity", "Linear", "ReLU"]
    assert len(layers + [nn.ReLU()]) == 4
    assert isinstance(layers[:2], nn.ModuleList)
    assert len(list(layers.parameters())) == 2
    named = nn.ModuleDict([("a", nn.ReLU())])
    named["b"] = nn.Linear(1, 1)
    assert list(named.keys()) == ["a", "b"]
    assert "b" in named
    named.pop("a")
    assert [name for name, _ in named.items()] == ["b"]
    named.clear()
    assert len(named) == 0


def test_parameter_list_and_dict() -> None:
    weights = nn.ParameterList([nn.Parameter(flow.ones(1)), flow.zeros(2)])
    assert [tuple(w.shape) for w in weights] == [(1,), (2,)]
    weights[0] = nn.Parameter(flow.ones(3))
    assert weights[0].shape == (3,)
    assert len(weights[:1]) == 1
    named = nn.ParameterDict({"w": nn.Parameter(flow.ones(1))})
    named.update([("v", nn.Parameter(flow.ones(2)))])
    assert sorted(named) == ["v", "w"]
    assert [n for n, _ in named.named_parameters()] == ["w", "v"]


# Positive controls: planted faults that the checks above must catch.


def load_at_once(net: Any, state: Any) -> None:
    """Copies as it goes, and notices the wrong shape too late."""
    with flow.no_grad():
        net.mean.copy_(state["mean"] + 1)
    net.load_state_dict(state)


class SharesState(Net):
    def load_state_dict(self, state_dict: Any, strict: bool = True) -> Any:
        result = super().load_state_dict(state_dict, strict)
        self.fc.weight.data = state_dict["fc.weight"]
        return result


def test_controls() -> None:
    must_fail(check_failed_load_changes_nothing, load_at_once)
    must_fail(check_state_travels, Net(), SharesState())


# Backward hooks.


def test_full_backward_hooks_see_and_replace_gradients() -> None:
    layer = nn.Linear(2, 3)
    seen: list[Any] = []

    def before(module: Any, grad_outputs: Any) -> Any:
        seen.append(("before", module, grad_outputs))
        return (grad_outputs[0] * 2,)

    def after(module: Any, grad_inputs: Any, grad_outputs: Any) -> Any:
        seen.append(("after", module, grad_inputs, grad_outputs))
        return (grad_inputs[0] + 1,)

    handles = [
        layer.register_full_backward_pre_hook(before),
        layer.register_full_backward_hook(after),
    ]
    x = flow.ones(4, 2, requires_grad=True)
    layer(x).sum().backward()
    weight = values(layer.weight)
    assert [entry[0] for entry in seen] == ["before", "after"]
    same(seen[0][2][0], np.ones((4, 3)))
    same(seen[1][2][0], 2 * np.tile(weight.sum(0), (4, 1)))
    same(seen[1][3][0], np.full((4, 3), 2.0))
    same(x.grad, 2 * np.tile(weight.sum(0), (4, 1)) + 1)
    for handle in handles:
        handle.remove()
    layer(x).sum().backward()
    assert len(seen) == 2


def test_backward_hooks_without_inputs_that_need_gradients() -> None:
    layer = nn.Linear(2, 3)
    seen: list[Any] = []
    layer.register_full_backward_hook(lambda m, dx, dy: seen.append((dx, dy)))
    layer(flow.ones(1, 2)).sum().backward()
    assert seen[0][0] == (None,)
    same(seen[0][1][0], np.ones((1, 3)))
    same(layer.bias.grad, np.ones(3))


def test_backward_hooks_with_several_tensors() -> None:
    class Both(nn.Module):
        def forward(self, x: Any, factor: float, y: Any) -> Any:
            return x * factor, y

    net = Both()
    seen: list[Any] = []
    net.register_full_backward_hook(lambda m, dx, dy: seen.append((dx, dy)))
    x, y = (flow.ones(2, requires_grad=True) for _ in range(2))
    first, second = net(x, 3.0, y)
    (first + second * 2).sum().backward()
    (dx, dy) = seen[0]
    assert [values(g).tolist() for g in dx] == [[3.0, 3.0], [2.0, 2.0]]
    assert [values(g).tolist() for g in dy] == [[1.0, 1.0], [2.0, 2.0]]


def test_a_backward_hook_that_returns_too_many_is_an_error() -> None:
    layer = nn.Identity()
    layer.register_full_backward_hook(lambda m, dx, dy: (dx[0], dx[0]))
    x = flow.ones(1, requires_grad=True)
    with raises(RuntimeError, "backward hook", "expects 1 gradients", "got 2"):
        layer(x).sum().backward()


def test_load_state_dict_post_hook_may_forgive_names() -> None:
    net = nn.Linear(2, 2)
    state = net.state_dict()
    del state["bias"]
    net.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
    assert net.load_state_dict(state).missing_keys == []


def test_bfloat16_and_type() -> None:
    net = nn.Linear(2, 2)
    assert net.bfloat16().weight.dtype == flow.bfloat16
    assert net.type(flow.float64).weight.dtype == flow.float64


def test_a_pickle_of_an_older_version_gets_the_new_hooks() -> None:
    net = nn.Linear(2, 2)
    state = net.__dict__.copy()
    del state["_backward_hooks"]
    old = nn.Linear.__new__(nn.Linear)
    old.__setstate__(state)
    assert old(flow.ones(1, 2)).shape == (1, 2)


def test_global_parameters_and_back() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    kept = model[0].weight
    where = flow.placement("cpu", [0])
    with raises(ValueError, "placement and sbp"):
        model.to_global()
    assert model.to_global(where, flow.sbp.broadcast) is model
    assert model[0].weight is kept
    assert kept.is_global and kept.is_leaf and kept.requires_grad
    assert kept.placement == where and model[1].running_mean.sbp == (flow.sbp.broadcast,)
    with raises(RuntimeError, "dim to split"):
        model.to_global(sbp=flow.sbp.split(0))  # the norm's counter has no dim
    assert kept.sbp == (flow.sbp.broadcast,)
    assert model[0].to_global(sbp=flow.sbp.split(0)).bias.sbp == (flow.sbp.split(0),)
    model.to_local()
    assert kept.is_local and model[1].running_mean.is_local
    with raises(RuntimeError, "to_local", "global"):
        model.to_local()
    with raises(RuntimeError, "new name, to_global"):
        model.to_consistent()


def test_what_flowvision_takes_from_inside() -> None:
    assert flow.jit._script_if_tracing(len) is len
    flow._assert(True, "not said")
    with raises(AssertionError, "what is wrong"):
        flow._assert(False, "what is wrong")


def test_files_by_their_other_names() -> None:
    for package in (nn.modules, nn.optimizer):
        for name in package._PLACES:
            assert type(getattr(package, name)) is type(nn)
        with raises(AttributeError, "no attribute 'other'"):
            package.other  # noqa: B018
    assert nn.optimizer.lambda_lr.LambdaLR is flow.optim.lr_scheduler.LambdaLR
    assert nn.modules.min_max_observer.MinMaxObserver is nn.MinMaxObserver
