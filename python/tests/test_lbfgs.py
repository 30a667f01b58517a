"""L-BFGS: against scipy's on a quadratic and on Rosenbrock's valley; its state; bad options."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize
from tests.support import raises, same, values

import oneflow as flow
from oneflow import nn, optim

Array = np.ndarray[Any, Any]


def valley(w: Any) -> Any:
    """Rosenbrock's function, least at (1, 1)."""
    bend = w[1] - w[0] * w[0]
    return (1 - w[0]) * (1 - w[0]) + bend * bend * 100


def check_lbfgs(steps: int, **options: Any) -> int:
    w = nn.Parameter(flow.tensor([-1.2, 1.0], dtype=flow.float64))
    optimizer = optim.LBFGS([w], **options)
    calls = 0

    def closure() -> Any:
        nonlocal calls
        calls += 1
        optimizer.zero_grad()
        loss = valley(w)
        loss.backward()
        return loss

    first = optimizer.step(closure)
    assert first.item() == pytest.approx(24.2)
    for _ in range(steps - 1):
        optimizer.step(closure)
    same(w, [1.0, 1.0], 1e-4)
    return calls


def test_lbfgs_finds_the_end_of_a_valley() -> None:
    calls = check_lbfgs(2, lr=1.0, line_search_fn="strong_wolfe")
    assert calls < 50


def test_lbfgs_without_line_search() -> None:
    check_lbfgs(20, lr=0.5)
    with pytest.raises(AssertionError):
        check_lbfgs(2, lr=1e-4)


def test_lbfgs_state_moves_to_another() -> None:
    results = []
    for moves in (False, True):
        w = [nn.Parameter(flow.tensor(v, dtype=flow.float64)) for v in (-1.2, 1.0)]
        optimizer = optim.LBFGS(w, lr=0.5, max_iter=4)

        def closure() -> Any:
            optimizer.zero_grad()  # noqa: B023
            loss = valley(w)  # noqa: B023
            loss.backward()
            return loss

        optimizer.step(closure)
        if moves:
            state = optimizer.state_dict()
            optimizer = optim.LBFGS(w, lr=9.0)
            optimizer.load_state_dict(state)
        optimizer.step(closure)
        results.append([v.item() for v in w])
    np.testing.assert_array_equal(results[0], results[1])


def test_bad_lbfgs() -> None:
    p, q = nn.Parameter(flow.ones(1)), nn.Parameter(flow.ones(1))
    with raises(ValueError, "LBFGS", "expects one group, got 2"):
        optim.LBFGS([{"params": [p]}, {"params": [q]}])
    with raises(ValueError, "None or strong_wolfe, got 'armijo'"):
        optim.LBFGS([p], line_search_fn="armijo")
    with raises(TypeError, "expects a closure"):
        optim.LBFGS([p]).step()


# Against scipy's L-BFGS-B, of Fortran by the authors of the method.


class Quadratic:
    """x A x / 2 - b x, whose least is where A x = b; A has a condition number of 1000."""

    def __init__(self, size: int) -> None:
        rng = np.random.default_rng(1)
        turned, _ = np.linalg.qr(rng.standard_normal((size, size)))
        self.a = turned * np.geomspace(1, 1000, size) @ turned.T
        self.b = rng.standard_normal(size)
        self.start = rng.standard_normal(size)
        self.least = np.linalg.solve(self.a, self.b)

    def at(self, x: Array) -> tuple[float, Array]:
        """The value and the gradient, in NumPy."""
        return float(x @ self.a @ x / 2 - self.b @ x), self.a @ x - self.b

    def of(self, x: Any) -> Any:
        """The same with OneFlow's ops."""
        return (flow.mv(flow.tensor(self.a), x) / 2 - flow.tensor(self.b)).dot(x)


class Valley:
    """Rosenbrock's function of several numbers, least where all are 1."""

    def __init__(self, size: int) -> None:
        self.start = np.tile([-1.2, 1.0], size // 2)
        self.least = np.ones(size)

    def at(self, x: Array) -> tuple[float, Array]:
        """The value and the gradient, by scipy."""
        return float(optimize.rosen(x)), np.asarray(optimize.rosen_der(x))

    def of(self, x: Any) -> Any:
        """The same with OneFlow's ops."""
        bend = x[1:] - x[:-1] * x[:-1]
        return (bend * bend * 100 + (1 - x[:-1]) * (1 - x[:-1])).sum()


def minimized(problem: Any, history: int, **options: Any) -> tuple[Array, int]:
    """Where the optimizer ends, and how often it asked for the loss."""
    w = nn.Parameter(flow.tensor(problem.start))
    optimizer = optim.LBFGS(
        [w],
        lr=1.0,
        max_iter=400,
        max_eval=1000,
        history_size=history,
        tolerance_grad=1e-9,
        tolerance_change=1e-15,
        line_search_fn="strong_wolfe",
        **options,
    )
    calls = 0

    def closure() -> Any:
        nonlocal calls
        calls += 1
        optimizer.zero_grad()
        loss = problem.of(w)
        loss.backward()
        return loss

    optimizer.step(closure)
    return values(w), calls


@pytest.mark.parametrize("problem", [Quadratic(10), Quadratic(40), Valley(2), Valley(10)])
@pytest.mark.parametrize("history", [10, 100])
def test_scipy_agrees(problem: Any, history: int) -> None:
    """The same end, for at most half as many evaluations more."""
    theirs = optimize.minimize(
        problem.at,
        problem.start,
        jac=True,
        method="L-BFGS-B",
        options={"maxcor": history, "gtol": 1e-9, "ftol": 1e-18, "maxiter": 1000, "maxfun": 2000},
    )
    x = flow.tensor(problem.start, requires_grad=True)
    problem.of(x).backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), problem.at(problem.start)[1], rtol=1e-9)
    found, calls = minimized(problem, history)
    np.testing.assert_allclose(theirs.x, problem.least, atol=1e-5)
    np.testing.assert_allclose(found, problem.least, atol=1e-5)
    assert calls <= 1.5 * theirs.nfev + 10


def test_a_forgetful_optimizer_is_noticed() -> None:
    """One that remembers a single step needs more evaluations than one that remembers all."""
    problem = Quadratic(40)
    assert minimized(problem, 1)[1] > 1.5 * minimized(problem, 100)[1]
