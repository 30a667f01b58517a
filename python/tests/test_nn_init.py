"""Initial values: their distributions, and what cannot be initialised."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.support import must_fail, raises, same, values

import oneflow as flow
from oneflow.nn import init

SHAPE = (80, 50, 3)  # fan_in 150, fan_out 240
COUNT = 80 * 50 * 3


def normal_cdf(x: Any) -> Any:
    return np.array([0.5 * (1 + math.erf(v / math.sqrt(2))) for v in np.ravel(x)])


def uniform_cdf(low: float, high: float) -> Any:
    return lambda x: np.clip((np.ravel(x) - low) / (high - low), 0, 1)


def spread(std: float, mean: float = 0.0) -> Any:
    return lambda x: normal_cdf((x - mean) / std)


def truncated(mean: float, std: float, a: float, b: float) -> Any:
    low, high = normal_cdf([(a - mean) / std, (b - mean) / std])
    return lambda x: (normal_cdf((x - mean) / std) - low) / (high - low)


def bound(std: float) -> Any:
    return uniform_cdf(-math.sqrt(3) * std, math.sqrt(3) * std)


GAIN = math.sqrt(2 / (1 + 0.2**2))
DISTRIBUTIONS: list[tuple[Any, Any]] = [
    (lambda t: init.uniform_(t, -1, 3), uniform_cdf(-1, 3)),
    (lambda t: init.normal_(t, 1.0, 0.5), spread(0.5, 1.0)),
    (lambda t: init.trunc_normal_(t, 0.5, 2.0, -1.0, 3.0), truncated(0.5, 2.0, -1.0, 3.0)),
    (lambda t: init.xavier_uniform_(t, 2.0), bound(2 * math.sqrt(2 / 390))),
    (lambda t: init.xavier_normal_(t), spread(math.sqrt(2 / 390))),
    (lambda t: init.kaiming_uniform_(t, a=0.2), bound(GAIN / math.sqrt(150))),
    (lambda t: init.kaiming_normal_(t, mode="fan_out", nonlinearity="relu"),
     spread(math.sqrt(2 / 240))),
    (lambda t: init.kaiming_normal_(t, nonlinearity="linear", data_format="NHWC"),
     spread(1 / math.sqrt(150))),
]  # fmt: skip


def check_distribution(fill: Any, cdf: Any) -> None:
    """The largest distance to the distribution function is what chance leaves (Kolmogorov)."""
    flow.manual_seed(3)
    tensor = flow.empty(*SHAPE)
    assert fill(tensor) is tensor
    x = np.sort(values(tensor).ravel().astype(np.float64))
    distance = np.abs(cdf(x) - (np.arange(COUNT) + 0.5) / COUNT).max()
    assert distance < 1.95 / math.sqrt(COUNT)  # exceeded by chance once in a thousand


@pytest.mark.parametrize(("fill", "cdf"), DISTRIBUTIONS)
def test_distribution(fill: Any, cdf: Any) -> None:
    check_distribution(fill, cdf)
    must_fail(check_distribution, fill, lambda x: cdf(x * 1.1))


def test_truncated_numbers_stay_inside() -> None:
    x = values(init.trunc_normal_(flow.empty(2000), 0.0, 5.0, -1.0, 0.5))
    assert x.min() >= -1.0
    assert x.max() <= 0.5


@pytest.mark.parametrize("shape", [(5, 5), (3, 7), (7, 3), (4, 2, 3)])
def test_orthogonal(shape: tuple[int, ...]) -> None:
    flow.manual_seed(0)
    matrix = values(init.orthogonal_(flow.empty(*shape), 2.0)).reshape(shape[0], -1)
    small = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
    np.testing.assert_allclose(small, 4 * np.eye(len(small)), atol=1e-5)


def test_constants_and_identities() -> None:
    same(init.constant_(flow.empty(2), 0.5), [0.5, 0.5])
    same(init.ones_(flow.empty(2)), [1, 1])
    same(init.zeros_(flow.empty(2)), [0, 0])
    same(init.eye_(flow.empty(2, 3)), np.eye(2, 3))
    weight = init.dirac_(flow.empty(4, 2, 3, 3), groups=2)
    x = flow.randn(1, 2, 5, 5)
    out = flow.nn.functional.conv2d(x, weight, padding=1)
    same(out, np.concatenate([values(x), values(x)], 1))


def test_sparse() -> None:
    flow.manual_seed(0)
    x = values(init.sparse_(flow.empty(100, 30), 0.4, std=0.5))
    assert ((x == 0).sum(0) == 40).all()
    assert abs(x[x != 0].std() - 0.5) < 0.03
    assert (x[:, 0] == 0).tolist() != (x[:, 1] == 0).tolist()


def test_generators_and_history() -> None:
    """The same generator gives the same numbers; a parameter stays a leaf."""
    results = []
    for _ in range(2):
        generator = flow.Generator()
        generator.manual_seed(5)
        p = flow.nn.Parameter(flow.empty(3, 3))
        init.kaiming_uniform_(p, generator=generator)
        init.orthogonal_(flow.empty(3, 3), generator=generator)
        assert p.is_leaf
        results.append(values(init.trunc_normal_(p, generator=generator)))
    np.testing.assert_array_equal(results[0], results[1])


def test_fans() -> None:
    shape = (8, 3, 2, 5)
    assert init.calc_fan(shape, "fan_in") == 30
    assert init.calc_fan(shape, "fan_out") == 80
    assert init.calc_fan(shape, "fan_sum") == 110
    assert init.calc_fan(shape, "fan_avg") == 55
    assert init.calc_fan((8, 2, 5, 3), "fan_in", "channels_last") == 30
    assert init.get_data_format("NCHW") == "channels_first"
    assert init.get_data_format("NDHWC") == "channels_last"


loose: Any = init
BAD: list[tuple[Any, Any, str]] = [
    (lambda: loose.normal_([1.0]), TypeError, "expects a Tensor, got list"),
    (lambda: loose.orthogonal_(3), TypeError, "expects a Tensor, got int"),
    (lambda: loose.orthogonal_(flow.empty(3)), ValueError, "at least two axes"),
    (lambda: loose.kaiming_normal_(flow.empty(3)), ValueError, "at least two axes"),
    (lambda: loose.kaiming_normal_(flow.empty(3, 3), mode="fan"), ValueError, "got 'fan'"),
    (lambda: loose.xavier_normal_(flow.empty(3, 3), data_format="CHW"), ValueError, "got 'CHW'"),
    (lambda: loose.calc_fan((3, 3), "fan"), ValueError, "expects mode"),
    (lambda: loose.trunc_normal_(flow.empty(3), a=1.0, b=0.0), ValueError, "expects a <= b"),
    (lambda: loose.eye_(flow.empty(3)), ValueError, "expects two axes"),
    (lambda: loose.dirac_(flow.empty(3, 3)), ValueError, "expects 3 to 5 axes"),
    (lambda: loose.dirac_(flow.empty(3, 3, 3), 2), ValueError, "groups that divide 3"),
    (lambda: loose.sparse_(flow.empty(3, 3), 1.5), ValueError, "sparsity from 0 to 1"),
    (lambda: loose.calculate_gain("swish"), ValueError, "got 'swish'"),
]


@pytest.mark.parametrize(("wrong", "kind", "message"), BAD)
def test_bad_input_is_a_clear_error(wrong: Any, kind: Any, message: str) -> None:
    with raises(kind, message):
        wrong()
