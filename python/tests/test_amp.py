"""autocast and the gradient scalers."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from tests.support import must_fail, raises, same, values

import oneflow as flow
from oneflow import amp, nn


def test_products_are_short_and_the_rest_is_not() -> None:
    linear, conv = nn.Linear(3, 4), nn.Conv2d(2, 4, 3)
    norm = nn.LayerNorm(4)
    x = flow.ones(2, 3)
    with amp.autocast("cpu"):
        y = linear(x)
        assert y.dtype == flow.bfloat16
        assert flow.matmul(x, x.t()).dtype == flow.bfloat16
        assert conv(flow.ones(1, 2, 5, 5)).dtype == flow.bfloat16
        assert norm(y).dtype == flow.float32
        assert nn.BatchNorm1d(4)(y).dtype == flow.bfloat16
        assert nn.functional.log_softmax(y, 1).dtype == flow.float32
        assert (y + x[:, :1]).dtype == flow.float32
        assert nn.ReLU()(y).dtype == flow.bfloat16
    assert linear(x).dtype == flow.float32


def step_of_norm(x: Any, dy: Any, autocast: bool) -> list[Any]:
    """Results and gradients of a batch norm in training, and of one in evaluation."""
    norm = nn.BatchNorm2d(3)
    norm.weight.data, norm.bias.data = flow.tensor([0.5, -2.0, 1.5]), flow.tensor([1.0, 0.0, -0.5])
    with amp.autocast("cpu", enabled=autocast):
        x = x.clone().requires_grad_()
        y = norm(x)
        (y * dy).sum().backward()
        norm.eval()
        found = [y, x.grad, norm(x)]
    assert {t.dtype for t in found} == {x.dtype}
    wide = [norm.weight.grad, norm.bias.grad, norm.running_mean, norm.running_var]
    assert {t.dtype for t in wide} == {flow.float32}
    return [values(t.float()) for t in found + wide]


def check_norm(x: Any, dy: Any, autocast: bool) -> None:
    """Against float32: what is bfloat16 by one rounding, the rest nearly as it is."""
    want = step_of_norm(x.float(), dy.float(), False)
    for number, (a, b) in enumerate(zip(step_of_norm(x, dy, autocast), want)):
        tolerance = 2.0**-8 if number < 3 else 1e-5
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * np.abs(b).max())


@pytest.mark.parametrize("shape", [(4, 3, 5, 7), (2, 3, 40, 40)])
def test_batch_norm_computes_in_float32_and_gives_bfloat16(shape: tuple[int, ...]) -> None:
    flow.manual_seed(0)
    x, dy = ((flow.randn(*shape) * 2 + 3).bfloat16() for _ in range(2))
    check_norm(x, dy, True)
    check_norm(x, dy, False)  # of operands that are bfloat16 without autocast, too
    check_norm(x.transpose(2, 3), dy.transpose(2, 3), True)


def test_second_derivative_of_a_norm_in_bfloat16() -> None:
    flow.manual_seed(1)
    x, dy, v = (flow.randn(4, 2, 3, 5).bfloat16() for _ in range(3))

    def second(dtype: Any) -> list[Any]:
        norm = nn.BatchNorm2d(2)
        a, b = (t.to(dtype).requires_grad_() for t in (x, dy))
        (first,) = flow.autograd.grad(norm(a), a, b, create_graph=True)
        return list(flow.autograd.grad(first, [a, b], v.to(dtype)))

    for got, want in zip(second(flow.bfloat16), second(flow.float32)):
        assert got.dtype == flow.bfloat16
        scale = np.abs(values(want)).max()
        np.testing.assert_allclose(values(got.float()), values(want), atol=0.03 * scale)


def test_float64_and_integers_stay() -> None:
    x, n = flow.ones(2, 2, dtype=flow.float64), flow.ones(2, 2, dtype=flow.int64)
    with amp.autocast("cpu"):
        assert flow.matmul(x, x).dtype == flow.float64
        assert (n * n).dtype == flow.int64


def test_values_are_those_of_rounded_operands() -> None:
    rng = np.random.default_rng(0)
    a, b = (flow.tensor(rng.standard_normal((4, 4)).astype(np.float32)) for _ in range(2))
    with amp.autocast("cpu"):
        got = flow.matmul(a, b)
    want = flow.matmul(a.bfloat16(), b.bfloat16())
    np.testing.assert_array_equal(values(got.float()), values(want.float()))


def check_gradients(cast: Any) -> None:
    """Gradients come back in float32, near those without autocast."""
    flow.manual_seed(0)
    net = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3))
    x, y = flow.randn(6, 5), flow.tensor([0, 1, 2, 0, 1, 2])
    loss = nn.CrossEntropyLoss()
    loss(net(x), y).backward()
    plain = [values(p.grad) for p in net.parameters()]
    net.zero_grad(set_to_none=True)
    with cast:
        total = loss(net(x), y)
        assert total.dtype == flow.float32
    total.backward()
    for parameter, want in zip(net.parameters(), plain):
        assert parameter.grad.dtype == flow.float32
        same(parameter.grad, want, 0.03)
        assert (values(parameter.grad) != want).any()


def test_gradients() -> None:
    check_gradients(amp.autocast("cpu"))
    must_fail(check_gradients, amp.autocast("cpu", enabled=False))


def test_backward_inside_the_context() -> None:
    layer = nn.Linear(3, 2)
    x = flow.ones(4, 3, requires_grad=True)
    with amp.autocast("cpu"):
        layer(x).sum().backward()
    assert (x.grad.dtype, layer.weight.grad.dtype) == (flow.float32, flow.float32)
    same(layer.bias.grad, [4.0, 4.0])


def test_casts_of_parameters_are_kept_until_the_end() -> None:
    layer = nn.Linear(2, 2)
    x = flow.ones(1, 2)
    with amp.autocast("cpu"):
        first = layer(x)
        flow.cpu.synchronize()
        with flow.no_grad():
            layer.weight.zero_()
            layer.bias.fill_(3)
        same(layer(x).float(), [[3.0, 3.0]])  # not the cast of what was there before
        (first.sum() + layer(x).sum()).backward()
    assert layer.weight.grad is not None


def test_a_cast_made_without_recording_is_not_used_with_it() -> None:
    layer = nn.Linear(2, 2)
    x = flow.ones(1, 2)
    with amp.autocast("cpu"):
        with flow.no_grad():
            layer(x)
        layer(x).sum().backward()
    assert layer.weight.grad is not None


def test_two_backwards_share_a_cast() -> None:
    layer = nn.Linear(2, 2)
    with amp.autocast("cpu"):
        one, two = layer(flow.ones(1, 2)), layer(flow.ones(1, 2))
    one.sum().backward()
    two.sum().backward()
    same(layer.bias.grad, [2.0, 2.0])


def test_nesting_restores_what_was() -> None:
    x = flow.ones(2, 2)
    assert not flow.is_autocast_enabled()
    with flow.autocast("cpu", dtype=flow.float16):
        assert flow.is_autocast_enabled()
        assert flow.get_autocast_cpu_dtype() == flow.float16
        with flow.autocast("cpu", enabled=False):
            assert flow.matmul(x, x).dtype == flow.float32
        with flow.autocast("cpu", dtype=flow.bfloat16, cache_enabled=False):
            assert not flow.is_autocast_cache_enabled()
            assert flow.matmul(x, x).dtype == flow.bfloat16
        assert flow.is_autocast_cache_enabled()
        assert flow.matmul(x, x).dtype == flow.float16
    assert not flow.is_autocast_enabled()
    assert flow.get_autocast_cpu_dtype() == flow.bfloat16


def test_a_context_ends_with_an_exception() -> None:
    with pytest.raises(ZeroDivisionError), flow.autocast("cpu"):
        1 / 0
    assert not flow.is_autocast_enabled()


def test_decorator_of_a_function_that_calls_itself() -> None:
    @flow.autocast("cpu")
    def product(x: Any, depth: int) -> Any:
        return product(x, depth - 1) if depth else flow.matmul(x, x)

    assert product(flow.ones(2, 2), 3).dtype == flow.bfloat16
    assert not flow.is_autocast_enabled()


def test_other_threads_are_left_alone() -> None:
    x = flow.ones(2, 2)
    seen = []
    with flow.autocast("cpu"):
        thread = threading.Thread(target=lambda: seen.append(flow.matmul(x, x).dtype))
        thread.start()
        thread.join()
    assert seen == [flow.float32]


def test_bad_autocast() -> None:
    loose: Any = flow
    with raises(RuntimeError, "device type cpu or cuda, got 'tpu'"):
        loose.autocast("tpu")
    with raises(TypeError, "floating oneflow.dtype"):
        loose.autocast("cpu", dtype=flow.int64)
    with raises(TypeError, "floating oneflow.dtype"):
        loose.set_autocast_cpu_dtype("bfloat16")
    assert flow.get_autocast_cpu_dtype() == flow.bfloat16


# Scalers.


def one_step(scaler: Any, optimizer: Any, w: Any, factor: float) -> None:
    optimizer.zero_grad(set_to_none=True)
    scaler.scale((w * factor).sum()).backward()
    scaler.step(optimizer)
    scaler.update()


def test_scaler_grows_and_backs_off() -> None:
    w = nn.Parameter(flow.ones(2))
    sgd = flow.optim.SGD([w], lr=0.5)
    scaler = amp.GradScaler(init_scale=4.0, growth_factor=3.0, backoff_factor=0.25,
                            growth_interval=2)  # fmt: skip
    one_step(scaler, sgd, w, 1.0)
    same(w, [0.5, 0.5])
    assert scaler.get_scale() == 4.0
    one_step(scaler, sgd, w, 1.0)
    assert scaler.get_scale() == 12.0
    one_step(scaler, sgd, w, float("inf"))
    same(w, [0.0, 0.0])  # the step was left out
    assert scaler.get_scale() == 3.0
    one_step(scaler, sgd, w, float("nan"))
    assert scaler.get_scale() == 0.75
    scaler.update(new_scale=7.0)
    assert scaler.get_scale() == 7.0


def test_unscale_then_clip() -> None:
    w = nn.Parameter(flow.ones(2))
    sgd = flow.optim.SGD([w], lr=1.0)
    scaler = amp.GradScaler(init_scale=1024.0)
    scaler.scale((w * flow.tensor([3.0, 4.0])).sum()).backward()
    scaler.unscale_(sgd)
    same(w.grad, [3.0, 4.0])
    nn.utils.clip_grad_norm_([w], 1.0)
    scaler.step(sgd)
    same(w, [0.4, 0.2], 1e-5)
    with raises(RuntimeError, "update", "two steps"):
        scaler.step(sgd)
    with raises(RuntimeError, "unscale_", "got two"):
        scaler.unscale_(sgd)
    scaler.update()


def test_scaler_off() -> None:
    w = nn.Parameter(flow.ones(1))
    sgd = flow.optim.SGD([w], lr=1.0)
    scaler = amp.GradScaler(enabled=False)
    one_step(scaler, sgd, w, 1.0)
    same(w, [0.0])
    assert (scaler.get_scale(), scaler.is_enabled(), scaler.state_dict()) == (1.0, False, {})
    scaler.load_state_dict({})


def test_scaler_state_moves() -> None:
    one, other = amp.GradScaler(init_scale=8.0), amp.GradScaler()
    other.load_state_dict(one.state_dict())
    assert other.get_scale() == 8.0
    with raises(RuntimeError, "empty"):
        other.load_state_dict({})


def test_scaler_scales_structures() -> None:
    scaler = amp.StaticGradScaler(2.0)
    a, (b, c) = scaler.scale((flow.ones(1), [flow.ones(1), flow.ones(2)]))
    same(a, [2.0])
    same(b, [2.0])
    same(c, [2.0, 2.0])
    scaler.update()
    assert scaler.get_scale() == 2.0


def test_bad_scalers() -> None:
    loose: Any = amp
    with raises(ValueError, "growth_factor above 1"):
        loose.GradScaler(growth_factor=1.0)
    with raises(ValueError, "growth_interval of at least 1"):
        loose.GradScaler(growth_interval=0)
    with raises(ValueError, "scale_factor above 0"):
        loose.StaticGradScaler(0.0)
    with raises(TypeError, "expects tensors, got int"):
        loose.GradScaler().scale(3)
    with raises(TypeError, "expects an Optimizer, got int"):
        loose.GradScaler().step(3)
