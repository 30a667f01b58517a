"""Every optimizer against the same mathematics in NumPy; clipping; failures leave no half step."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.support import must_fail, raises, same, values

import oneflow as flow
from oneflow import nn, one_embedding, optim

Array = np.ndarray[Any, Any]
STEPS = 20
SHAPES = [(3, 4), (), (0, 2), (9000,), (2, 3, 5)]


def adam(p: Array, s: dict[str, Array], g: Array, t: int, o: Any, decoupled: bool = False) -> Array:
    decay = o.get("weight_decay", 0.0)
    b1, b2 = o.get("betas", (0.9, 0.999))
    corrects = o.get("do_bias_correction", True)
    c1, c2 = (1 - b1**t, 1 - b2**t) if corrects else (1.0, 1.0)
    g = g if decoupled else g + decay * p
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    s["v"] = b2 * s.get("v", 0) + (1 - b2) * g * g
    s["x"] = np.maximum(s.get("x", 0), s["v"])
    v = s["x"] if o.get("amsgrad") else s["v"]
    d = s["m"] / c1 / (np.sqrt(v / c2) + o.get("eps", 1e-8))
    return p - o["lr"] * (d + decay * p if decoupled else d)


def adamw(p: Array, s: dict[str, Array], g: Array, t: int, o: Any) -> Array:
    return adam(p, s, g, t, o, decoupled=True)


def lamb(p: Array, s: dict[str, Array], g: Array, t: int, o: Any) -> Array:
    decoupled = o.get("adam_w_mode", True)
    options = {**o, "lr": 1.0, "weight_decay": 0.0}
    decay = o.get("weight_decay", 0.0)
    d = p - adam(p, s, g if decoupled else g + decay * p, t, options)
    norms = np.linalg.norm(p.ravel()), np.linalg.norm(d.ravel())
    ratio = norms[0] / norms[1] if norms[0] > 0 and norms[1] > 0 else 1.0
    return p - o["lr"] * ratio * (d + (decay * p if decoupled else 0.0))


def adagrad(p: Array, s: dict[str, Array], g: Array, t: int, o: Any) -> Array:
    g = g + o.get("weight_decay", 0.0) * p
    s["s"] = s.get("s", o.get("initial_accumulator_value", 0.0)) + g * g
    lr = o["lr"] / (1 + (t - 1) * o.get("lr_decay", 0.0))
    return p - lr * g / (np.sqrt(s["s"]) + o.get("eps", 1e-10))


def adadelta(p: Array, s: dict[str, Array], g: Array, t: int, o: Any) -> Array:
    rho, eps = o.get("rho", 0.9), o.get("eps", 1e-6)
    g = (-g if o.get("maximize") else g) + o.get("weight_decay", 0.0) * p
    s["s"] = rho * s.get("s", 0) + (1 - rho) * g * g
    d = np.sqrt(s.get("a", 0) + eps) / np.sqrt(s["s"] + eps) * g
    s["a"] = rho * s.get("a", 0) + (1 - rho) * d * d
    return p - o["lr"] * d


def rmsprop(p: Array, s: dict[str, Array], g: Array, t: int, o: Any) -> Array:
    alpha = o.get("alpha", 0.99)
    g = g + o.get("weight_decay", 0.0) * p
    s["s"] = alpha * s.get("s", 0) + (1 - alpha) * g * g
    s["a"] = alpha * s.get("a", 0) + (1 - alpha) * g
    spread = s["s"] - s["a"] ** 2 if o.get("centered") else s["s"]
    d = o["lr"] * g / np.sqrt(spread + o.get("eps", 1e-8))
    s["d"] = o.get("momentum", 0.0) * s.get("d", 0) + d
    return p - s["d"]


def ftrl(p: Array, s: dict[str, Array], g: Array, t: int, o: Any) -> Array:
    power, lr, edge = o["lr_power"], o["lr"], o.get("lambda1", 0.0)
    g = g + o.get("weight_decay", 0.0) * p
    before = s.get("n", np.full(p.shape, o.get("initial_accumulator_value", 0.1)))
    s["n"] = before + g * g
    s["z"] = s.get("z", 0) + g - (s["n"] ** power - before**power) / lr * p
    scale = (o.get("beta", 0.0) + s["n"] ** power) / lr + o.get("lambda2", 0.0)
    return np.where(np.abs(s["z"]) < edge, 0.0, (np.sign(s["z"]) * edge - s["z"]) / scale)


def sgd(p: Array, s: dict[str, Array], g: Array, t: int, o: Any) -> Array:
    g = g + o.get("weight_decay", 0.0) * p
    momentum = o.get("momentum", 0.0)
    s["b"] = momentum * s.get("b", 0) + (1 - o.get("dampening", 0.0)) * g
    if momentum:
        g = g + momentum * s["b"] if o.get("nesterov") else s["b"]
    return p + o["lr"] * g if o.get("maximize") else p - o["lr"] * g


CASES: list[tuple[Any, Any, dict[str, Any]]] = [
    (optim.SGD, sgd, {"lr": 0.1, "weight_decay": 0.1}),
    (optim.SGD, sgd, {"lr": 0.1, "momentum": 0.9, "dampening": 0.5}),
    (optim.SGD, sgd, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    (
        optim.SGD,
        sgd,
        {"lr": 0.1, "momentum": 0.5, "nesterov": True, "maximize": True, "weight_decay": 0.1},
    ),
    (optim.Adam, adam, {"lr": 0.1}),
    (optim.Adam, adam, {"lr": 0.1, "betas": (0.5, 0.75), "eps": 0.01, "weight_decay": 0.1}),
    (optim.Adam, adam, {"lr": 0.1, "amsgrad": True, "betas": (0.5, 0.5)}),
    (optim.Adam, adam, {"lr": 0.1, "do_bias_correction": False}),
    (
        optim.Adam,
        adam,
        {"lr": 0.1, "weight_decay": 0.1, "amsgrad": True, "do_bias_correction": False},
    ),
    (optim.AdamW, adamw, {"lr": 0.1, "weight_decay": 0.5}),
    (optim.AdamW, adamw, {"lr": 0.1, "weight_decay": 0.5, "do_bias_correction": False}),
    (optim.AdamW, adamw, {"lr": 0.1, "weight_decay": 0.5, "amsgrad": True}),
    (optim.LAMB, lamb, {"lr": 0.01, "weight_decay": 0.1}),
    (optim.LAMB, lamb, {"lr": 0.01, "weight_decay": 0.1, "adam_w_mode": False}),
    (optim.LAMB, lamb, {"lr": 0.01, "do_bias_correction": False}),
    (optim.Adagrad, adagrad, {"lr": 0.1}),
    (
        optim.Adagrad,
        adagrad,
        {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 2.0},
    ),
    (one_embedding.Ftrl, ftrl, {"lr": 0.1, "lr_power": 0.5, "beta": 1.0}),
    (
        one_embedding.Ftrl,
        ftrl,
        {
            "lr": 0.5,
            "lr_power": -0.5,
            "weight_decay": 0.1,
            "initial_accumulator_value": 0.5,
            "lambda1": 0.5,
            "lambda2": 0.1,
            "beta": 1.0,
        },
    ),  # fmt: skip
    (optim.Adadelta, adadelta, {"lr": 1.0}),
    (optim.Adadelta, adadelta, {"lr": 0.5, "rho": 0.5, "weight_decay": 0.1, "maximize": True}),
    (optim.RMSprop, rmsprop, {"lr": 0.01}),
    (optim.RMSprop, rmsprop, {"lr": 0.01, "centered": True, "weight_decay": 0.1}),
    (optim.RMSprop, rmsprop, {"lr": 0.01, "momentum": 0.9, "alpha": 0.5}),
    (optim.RMSprop, rmsprop, {"lr": 0.01, "momentum": 0.9, "centered": True}),
    (
        optim.RMSprop,
        rmsprop,
        {"lr": 0.01, "momentum": 0.5, "centered": True, "eps": 0.01, "weight_decay": 0.1},
    ),
]


def gradients(seed: int) -> Iterator[list[Array]]:
    rng = np.random.default_rng(seed)
    for _ in range(STEPS):
        yield [np.asarray(rng.standard_normal(shape)) for shape in SHAPES]


def check(make: Any, reference: Any, options: Any, dtype: Any, tolerance: float) -> None:
    """Twenty steps along given gradients end where the reference ends."""
    rng = np.random.default_rng(1)
    starts = [np.asarray(rng.standard_normal(shape)) for shape in SHAPES]
    parameters = [nn.Parameter(flow.tensor(start).to(dtype)) for start in starts]
    optimizer = make(parameters, **options)
    expected = [values(p.to(flow.float64)) for p in parameters]
    states: list[dict[str, Array]] = [{} for _ in SHAPES]
    for t, step in enumerate(gradients(2), 1):
        for i, g in enumerate(step):
            parameters[i].grad = flow.tensor(g).to(dtype)
            exact = values(parameters[i].grad.to(flow.float64))
            expected[i] = reference(expected[i], states[i], exact, t, options)
        optimizer.step()
    for parameter, want in zip(parameters, expected):
        same(parameter.to(flow.float64), want, tolerance)


TOLERANCES = {flow.float64: 1e-11, flow.float32: 2e-4}


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize(("make", "reference", "options"), CASES)
def test_against_numpy(make: Any, reference: Any, options: Any, dtype: Any) -> None:
    check(make, reference, options, dtype, TOLERANCES[dtype])


def test_groups_have_their_own_options() -> None:
    """And a parameter without a gradient stays, with no state."""
    rng = np.random.default_rng(3)
    starts = rng.standard_normal((3, 4))
    a, b, still = (nn.Parameter(flow.tensor(start)) for start in starts)
    own = {"lr": 0.5, "weight_decay": 0.1, "betas": (0.5, 0.75), "eps": 0.01, "amsgrad": True}
    optimizer = optim.Adam([{"params": [a, still]}, {"params": [b], **own}], lr=0.1)
    states: tuple[dict[str, Array], ...] = ({}, {})
    want = [starts[0], starts[1]]
    for t in range(1, 6):
        for i, (p, options) in enumerate(((a, {"lr": 0.1}), (b, own))):
            g = rng.standard_normal(4)
            p.grad = flow.tensor(g)
            want[i] = adam(want[i], states[i], g, t, options)
        optimizer.step()
    same(a, want[0], 1e-12)
    same(b, want[1], 1e-12)
    same(still, starts[2], 0.0)
    assert still not in optimizer.state


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_centered_rmsprop_of_equal_gradients(momentum: float) -> None:
    """Their spread is zero, which rounding must not make negative: its root is NaN."""
    p = nn.Parameter(flow.zeros(32))
    p.grad = flow.tensor(np.linspace(7.0, 900.0, 32), dtype=flow.float32)
    optimizer = optim.RMSprop([p], lr=1e-6, centered=True, momentum=momentum)
    for _ in range(3000):
        optimizer.step()
    assert np.isfinite(values(p)).all()


def late(p: Array, s: dict[str, Array], g: Array, t: int, o: Any) -> Array:
    """Adam that counts its steps from 2."""
    return adam(p, s, g, t + 1, o)


def test_planted_fault_is_caught() -> None:
    must_fail(check, optim.Adam, late, {"lr": 0.1}, flow.float32, TOLERANCES[flow.float32])


@pytest.mark.parametrize("dtype", [flow.bfloat16, flow.float16])
def test_short_floats(dtype: Any) -> None:
    """One step is computed in float32, and rounded once."""
    start = flow.tensor(np.linspace(-2, 2, 700)).to(dtype)
    p = nn.Parameter(start.clone())
    p.grad = flow.tensor(np.linspace(3, -1, 700)).to(dtype)
    optim.SGD([p], lr=0.25).step()
    exact = values(start.float()) - np.float32(0.25) * values(p.grad.float())
    assert p.dtype == dtype
    same(p.float(), values(flow.tensor(exact).to(dtype).float()), 0.0)


def strided(array: Array, kind: str) -> Any:
    """A tensor of these elements that does not lie densely in row-major order."""
    if kind == "transposed":
        return flow.tensor(np.ascontiguousarray(array.T)).t()
    wide = np.zeros((array.shape[0], 2 * array.shape[1]))
    wide[:, ::2] = array
    return flow.tensor(wide)[:, ::2]


@pytest.mark.parametrize("kinds", [("transposed", "row"), ("gaps", "transposed"), ("transposed",)])
def test_any_strides(kinds: tuple[str, ...]) -> None:
    rng = np.random.default_rng(0)
    start, g = rng.standard_normal((31, 40)), rng.standard_normal((31, 40))
    p = nn.Parameter(strided(start, kinds[0]))
    assert not p.is_contiguous()
    p.grad = flow.tensor(g) if kinds[-1] == "row" else strided(g, kinds[-1])
    optimizer = optim.Adam([p], lr=0.1)
    optimizer.step()
    same(p, adam(start, {}, g, 1, {"lr": 0.1}), 1e-12)


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_change_nothing(threads: int) -> None:
    before = flow.get_num_threads()
    results = []
    for count in (1, threads):
        flow.set_num_threads(count)
        p = nn.Parameter(flow.tensor(np.linspace(-1, 1, 200_003), dtype=flow.float32))
        p.grad = flow.tensor(np.linspace(2, -3, 200_003), dtype=flow.float32)
        optim.LAMB([p], lr=0.1).step()
        results.append(values(p))
    flow.set_num_threads(before)
    np.testing.assert_array_equal(results[0], results[1])


@pytest.mark.parametrize(("make", "reference", "options"), CASES)
def test_state_moves_to_another(make: Any, reference: Any, options: Any) -> None:
    rng = np.random.default_rng(5)
    steps = rng.standard_normal((6, 2, 3))
    whole, first = (nn.Parameter(flow.ones(2, 3, dtype=flow.float64)) for _ in range(2))
    one, other = make([whole], **options), make([first], **options)
    for i, g in enumerate(steps):
        if i == 3:
            state = other.state_dict()
            other = make([first], lr=9.0)
            other.load_state_dict(state)
        whole.grad = first.grad = flow.tensor(g)
        one.step()
        other.step()
    np.testing.assert_array_equal(values(whole), values(first))


def test_states_of_other_frameworks_are_understood() -> None:
    """OneFlow 0.9 keeps options apart; PyTorch counts steps for each parameter."""
    p = nn.Parameter(flow.ones(2))
    adam_ = optim.Adam([p])
    group = {"_options": {"lr": 0.5}, "_enable_clip_grad": False, "params": [0]}
    averages = {"exp_avg": flow.ones(2), "exp_avg_sq": flow.ones(2)}
    adam_.load_state_dict({"state": {"step": 7, 0: averages}, "param_groups": [group]})
    assert adam_.state["step"] == 7
    assert adam_.param_groups[0].options["lr"] == 0.5
    plain = {"lr": 0.25, "params": [0]}
    own = {**averages, "step": flow.tensor(3.0)}
    adam_.load_state_dict({"state": {0: own}, "param_groups": [plain]})
    assert adam_.state["step"] == 3
    assert "step" not in adam_.state[p]
    sgd_ = optim.SGD([p], momentum=0.9)
    sgd_.load_state_dict({"state": {0: {"momentum_buffer": flow.ones(2)}}, "param_groups": [plain]})
    same(sgd_.state[p]["momentum_buf"], [1.0, 1.0])


def failing_gradient() -> Any:
    """A tensor whose computation fails on the stream."""
    return flow._C.throw_error(flow.ones(2))


@pytest.mark.parametrize("make", [optim.SGD, optim.Adam, optim.LAMB])
def test_a_failed_gradient_leaves_no_half_step(make: Any) -> None:
    a, b = nn.Parameter(flow.ones(2)), nn.Parameter(flow.ones(2))
    optimizer = make([a, b], lr=0.5)
    a.grad = b.grad = flow.ones(2)
    optimizer.step()
    tensors = [a, b, *optimizer.state[a].values(), *optimizer.state[b].values()]
    before = [values(t) for t in tensors]
    a.grad = flow.ones(2)
    try:
        b.grad = failing_gradient()
        optimizer.step()
        flow._oneflow_internal.eager.Sync()
    except RuntimeError:
        pass
    for tensor, want in zip(tensors, before):
        np.testing.assert_array_equal(values(tensor), want)
    b.grad = flow.ones(2)
    optimizer.step()
    assert (values(a) != before[0]).all()


def test_a_parameter_twice_in_a_group_is_updated_twice() -> None:
    p = nn.Parameter(flow.ones(2))
    with pytest.warns(UserWarning, match="twice"):
        optimizer = optim.SGD([p, p], lr=0.25)
    p.grad = flow.ones(2)
    optimizer.step()
    same(p, [0.5, 0.5])


BAD: list[tuple[Any, Any, str]] = [
    (lambda p: optim.Adam(p, betas=(0.9, 1.0)), ValueError, r"betas\[1\] from 0 to below 1"),
    (lambda p: optim.Adam(p, betas=(0.9,)), ValueError, "two numbers as betas"),  # type: ignore[arg-type]
    (lambda p: optim.AdamW(p, eps=-1), ValueError, "eps of at least 0"),
    (lambda p: optim.LAMB(p, amsgrad=True), RuntimeError, "expects amsgrad=False"),
    (lambda p: optim.LAMB(p, weight_decay=-1), ValueError, "weight_decay of at least 0"),
    (lambda p: optim.Adagrad(p, lr_decay=-1), ValueError, "lr_decay of at least 0"),
    (lambda p: one_embedding.Ftrl(p, lambda1=-1), ValueError, "lambda1 of at least 0"),
    (lambda p: optim.Adadelta(p, rho=1.5), ValueError, "rho from 0 to 1, got 1.5"),
    (lambda p: optim.RMSprop(p, momentum=-1), ValueError, "momentum of at least 0"),
]


@pytest.mark.parametrize(("make", "kind", "message"), BAD)
def test_bad_options(make: Any, kind: Any, message: str) -> None:
    with raises(kind, message):
        make([nn.Parameter(flow.ones(1))])


def test_ops_refuse_leaves_that_require_grad() -> None:
    p = nn.Parameter(flow.ones(2))
    with raises(RuntimeError, "multi_tensor_sgd_update", "requires grad"):
        flow._C.multi_tensor_sgd_update_([p], [flow.ones(2)], 0.1)


# What a graph tells each run in a tensor: learning rate and corrections.

NUMBERED: list[tuple[Any, dict[str, Any]]] = [
    (optim.SGD, {}),
    (optim.SGD, {"momentum": 0.9}),
    (optim.Adam, {"amsgrad": True}),
    (optim.AdamW, {"weight_decay": 0.1}),
    (optim.LAMB, {}),
    (optim.Adagrad, {"lr_decay": 0.5}),
    (optim.RMSprop, {"momentum": 0.5, "centered": True}),
    (optim.Adadelta, {}),
]


def step_by_numbers(optimizer: Any) -> None:
    """A step whose learning rate and corrections are read from a tensor."""
    step = optimizer.state["step"] + 1
    with flow.no_grad():
        for group in optimizer.param_groups:
            optimizer._make_states(group.options, group.parameters, [])
            numbers = flow.tensor(optimizer._run_time(group.options, step), dtype=flow.float64)
            # What it would compute itself is wrong, and must not be looked at.
            options = {**group.options, "lr": 99.0, "numbers": [numbers]}
            optimizer._update_group(options, 1000, *optimizer._with_gradients(group))
    optimizer.state["step"] = step


@pytest.mark.parametrize(("make", "options"), NUMBERED)
def test_numbers_in_a_tensor(make: Any, options: dict[str, Any]) -> None:
    own = [nn.Parameter(flow.randn(*shape)) for shape in SHAPES]
    other = [nn.Parameter(p.detach().clone()) for p in own]
    plain, numbered = make(own, lr=0.1, **options), make(other, lr=0.1, **options)
    for _ in range(3):
        for p, q in zip(own, other):
            p.grad = flow.randn(*p.shape)
            q.grad = p.grad.clone()
        plain.step()
        step_by_numbers(numbered)
    for p, q in zip(own, other):
        assert np.array_equal(values(p), values(q))


@pytest.mark.parametrize(
    "numbers", [lambda: flow.ones(3), lambda: flow.ones(2, dtype=flow.float64)]
)
def test_wrong_numbers(numbers: Any) -> None:
    with raises(RuntimeError, "multi_tensor_sgd_update", r"float64 and shape \(3,\)"):
        flow._C.multi_tensor_sgd_update_([flow.ones(2)], [flow.ones(2)], 0.1, numbers=[numbers()])


# Clipping.


def with_gradients(*arrays: Any) -> list[Any]:
    out = []
    for array in arrays:
        p = nn.Parameter(flow.zeros(*np.shape(array), dtype=flow.float64))
        p.grad = flow.tensor(np.asarray(array, dtype=np.float64))
        out.append(p)
    return out


def norm_of(arrays: list[Array], p: float) -> float:
    """The norm of the norms."""
    if math.isinf(p):
        both = np.abs(np.concatenate([a.ravel() for a in arrays]))
        return float(both.max() if p > 0 else both.min())
    if p == 0:
        return float(sum(bool(a.any()) for a in arrays))
    return float(sum((np.abs(a) ** p).sum() for a in arrays) ** (1 / p))


@pytest.mark.parametrize("p", [2.0, 1.0, 3.5, 0.0, "inf", "-inf", math.inf])
@pytest.mark.parametrize("bound", [0.0, 0.5, 1e9])
def test_clip_grad_norm(p: Any, bound: float) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((3, 4)), rng.standard_normal(20_000), np.zeros(3)]
    parameters = with_gradients(*arrays)
    norm = nn.utils.clip_grad_norm_(iter(parameters), bound, p)
    want = norm_of(arrays, float(p))
    same(norm, want, 1e-12)
    factor = min(1.0, bound / (want + 1e-6))
    for parameter, array in zip(parameters, arrays):
        same(parameter.grad, array * factor, 1e-12)


def test_clip_grad_norm_of_what_is_not_finite() -> None:
    parameters = with_gradients([1.0, math.nan], [2.0])
    with raises(RuntimeError, "clip_grad_norm_", "finite norm", "nan"):
        nn.utils.clip_grad_norm_(parameters, 1.0, error_if_nonfinite=True)
    same(parameters[1].grad, [2.0])
    nn.utils.clip_grad_norm_(parameters, 1.0)
    assert np.isnan(values(parameters[1].grad)).all()
    for p in (math.inf, -math.inf, 1.0):
        assert math.isnan(flow._C.multi_tensor_norm([parameters[0].grad], p).item())


def test_clip_grad_of_one_and_of_none() -> None:
    (p,) = with_gradients([3.0, 4.0])
    nn.utils.clip_grad_norm_(p, 1.0)
    same(p.grad, [0.6, 0.8], 1e-6)
    assert nn.utils.clip_grad_norm_([nn.Parameter(flow.ones(1))], 1.0).item() == 0.0
    with raises(TypeError, "clip_grad_norm_", "got int"):
        nn.utils.clip_grad_norm_([3], 1.0)
    with raises(TypeError, "clip_grad_value_", "got int"):
        nn.utils.clip_grad_value_(3, 1.0)


def test_clip_grad_value() -> None:
    parameters = with_gradients([[-3.0, 0.5], [2.0, math.nan]], [9.0])
    nn.utils.clip_grad_value_(parameters, 1.0)
    same(parameters[0].grad, [[-1.0, 0.5], [1.0, math.nan]])
    same(parameters[1].grad, [1.0])


def test_optimizers_clip_by_the_options_of_their_groups() -> None:
    a, b = with_gradients([3.0, 4.0], [8.0])
    clip = {"clip_grad_max_norm": 1.0, "clip_grad_norm_type": 2.0}
    optimizer = optim.SGD([{"params": [a], **clip}, {"params": [b]}], lr=0.1)
    with pytest.warns(UserWarning, match="lacks clip_grad_max_norm"):
        optimizer.clip_grad()
    same(a.grad, [0.6, 0.8], 1e-6)
    same(b.grad, [8.0])
