"""Learning-rate schedulers, against their closed forms."""

from __future__ import annotations

import math
from typing import Any

import pytest
from tests.support import must_fail

import oneflow as flow
from oneflow.optim import lr_scheduler as schedules

STEPS = 40


def sgd(*lrs: float) -> Any:
    return flow.optim.SGD([{"params": [flow.nn.Parameter(flow.ones(1))], "lr": lr} for lr in lrs])


def run(schedule: Any, steps: int = STEPS) -> list[list[float]]:
    """The learning rates of the groups before the first step, and after each."""
    out = [schedule.get_last_lr()]
    for _ in range(steps):
        schedule.step()
        assert [g["lr"] for g in schedule.optimizer.param_groups] == schedule.get_last_lr()
        out.append(schedule.get_last_lr())
    return out


def warm_restarts(lr: float, n: int) -> float:
    """T_0 = 3, T_mult = 2, eta_min = 0.1, decay 0.5: periods begin at 0, 3, 9, 21."""
    start = max(s for s in (0, 3, 9, 21) if s <= n)
    period = (0, 3, 9, 21).index(start)
    inside = (n - start) / (3 * 2**period)
    return 0.1 + (lr * 0.5**period - 0.1) * (1 + math.cos(math.pi * inside)) / 2


def polynomial(lr: float, n: int, cycle: bool) -> float:
    span = 8 * max(1, math.ceil(n / 8)) if cycle else 8
    step = max(n, 1) if cycle else min(n, 8)
    return (lr - 0.01) * (1 - step / span) ** 2 + 0.01


def cosine_decay(lr: float, n: int) -> float:
    return lr * (0.9 * (1 + math.cos(math.pi * min(n, 10) / 10)) / 2 + 0.1)


# (how it is made, the learning rate of a group that begins with lr after n steps)
FORMS: dict[str, tuple[Any, Any]] = {
    "step": (lambda o: schedules.StepLR(o, 5, 0.3), lambda lr, n: lr * 0.3 ** (n // 5)),
    "multi": (
        lambda o: schedules.MultiStepLR(o, [3, 7], 0.5),
        lambda lr, n: lr * 0.5 ** ((n >= 3) + (n >= 7)),
    ),
    "exponential": (lambda o: schedules.ExponentialLR(o, 0.9), lambda lr, n: lr * 0.9**n),
    "constant": (
        lambda o: schedules.ConstantLR(o, 0.2, 4),
        lambda lr, n: lr * (0.2 if n < 4 else 1.0),
    ),
    "linear": (
        lambda o: schedules.LinearLR(o, 0.25, 0.75, 8),
        lambda lr, n: lr * (0.25 + 0.5 * min(n, 8) / 8),
    ),
    "polynomial": (
        lambda o: schedules.PolynomialLR(o, 8, 0.01, 2.0),
        lambda lr, n: polynomial(lr, n, False),
    ),
    "cycle": (
        lambda o: schedules.PolynomialLR(o, 8, 0.01, 2.0, cycle=True),
        lambda lr, n: polynomial(lr, n, True),
    ),
    "cosine_decay": (lambda o: schedules.CosineDecayLR(o, 10, 0.1), cosine_decay),
    "cosine": (
        lambda o: schedules.CosineAnnealingLR(o, 10, 0.01),
        lambda lr, n: 0.01 + (lr - 0.01) * (1 + math.cos(math.pi * n / 10)) / 2,
    ),
    "restarts": (
        lambda o: schedules.CosineAnnealingWarmRestarts(o, 3, 2, 0.1, 0.5),
        warm_restarts,
    ),
    "restarts_of_one_length": (
        lambda o: schedules.CosineAnnealingWarmRestarts(o, 4, restart_limit=3),
        lambda lr, n: lr * (1 + math.cos(math.pi * (n % 4) / 4)) / 2 if n < 12 else 0.0,
    ),
    "lambda": (
        lambda o: schedules.LambdaLR(o, [lambda n: 0.9**n] * 2),
        lambda lr, n: lr * 0.9**n,
    ),
    "multiplicative": (
        lambda o: schedules.MultiplicativeLR(o, lambda n: 0.9),
        lambda lr, n: lr * 0.9**n,
    ),
    "chained": (
        lambda o: schedules.ChainedScheduler(
            [schedules.ConstantLR(o, 0.1, 3), schedules.ExponentialLR(o, 0.9)]
        ),
        lambda lr, n: lr * 0.9**n * (0.1 if n < 3 else 1.0),
    ),
    "sequential": (
        lambda o: schedules.SequentialLR(
            o,
            [
                schedules.ConstantLR(o, 0.1, 99),
                schedules.ExponentialLR(o, 0.9),
                schedules.ExponentialLR(o, 0.5),
            ],
            [4, 8],
            [False, True],
        ),
        lambda lr, n: lr * (0.1 if n < 4 else 0.9**n if n < 8 else 0.5 ** (n - 8)),
    ),
    "warm_up": (
        lambda o: schedules.WarmupLR(o, 0.5, 5),
        lambda lr, n: lr * (0.5 + 0.5 * min(n, 5) / 5),
    ),
    "constant_warm_up": (
        lambda o: schedules.WarmUpLR(schedules.StepLR(o, 10), 0.5, 5, "constant"),
        lambda lr, n: lr * (0.5 if n < 5 else 0.1 ** (n // 10)),
    ),
    "warm_up_before": (
        lambda o: schedules.WarmupLR(schedules.ExponentialLR(o, 0.9), 0.5, 5, warmup_prefix=True),
        lambda lr, n: lr * (0.5 + 0.1 * n if n < 5 else 0.9 ** (n - 5)),
    ),
}


def check_form(made: Any, form: Any) -> None:
    got = run(made(sgd(1.0, 0.2)))
    for n, lrs in enumerate(got):
        assert lrs == pytest.approx([form(1.0, n), form(0.2, n)], rel=1e-12, abs=1e-15), n


@pytest.mark.parametrize("name", FORMS)
def test_closed_form(name: str) -> None:
    check_form(*FORMS[name])


@pytest.mark.parametrize("name", ["step", "restarts", "sequential"])
def test_planted_fault_is_caught(name: str) -> None:
    """One that begins a step late."""
    made, form = FORMS[name]
    must_fail(lambda: check_form(made, lambda lr, n: form(lr, max(n - 1, 0))))


def test_warm_up_beside_a_schedule_meets_it() -> None:
    """Linear from half the rate to what the schedule says at the end of the warm-up."""
    made = schedules.WarmupLR(schedules.ExponentialLR(sgd(0.1), 0.9), 0.5, 5)
    rise = [0.05 + (0.1 * 0.9**5 - 0.05) * n / 5 for n in range(5)]
    expected = rise + [0.1 * 0.9**n for n in range(5, 10)]
    assert [lrs[0] for lrs in run(made, 9)] == pytest.approx(expected)


@pytest.mark.parametrize("name", [n for n in FORMS if n != "multiplicative"])
def test_state_moves_to_another(name: str) -> None:
    made, _ = FORMS[name]
    one, other = made(sgd(1.0, 0.2)), made(sgd(1.0, 0.2))
    run(one, 7)
    other.load_state_dict(one.state_dict())
    assert other.last_step == one.last_step == 7
    assert run(other, 9) == run(one, 9)
    assert "optimizer" not in one.state_dict()


def test_going_on_needs_the_first_learning_rates() -> None:
    optimizer = sgd(1.0)
    with pytest.raises(KeyError, match="expects initial_lr in group 0"):
        schedules.StepLR(optimizer, 2, last_step=3)
    run(schedules.StepLR(optimizer, 2, 0.5), 3)
    again = schedules.StepLR(optimizer, 2, 0.5, last_step=3)
    assert again.last_step == 4
    assert again.get_last_lr() == [0.25]


class Factor:
    """An object as a function, whose state travels."""

    def __init__(self, base: float) -> None:
        self.base = base

    def __call__(self, step: int) -> float:
        return self.base**step


def test_lambda_objects_travel() -> None:
    one = schedules.LambdaLR(sgd(1.0), Factor(0.5))
    other = schedules.LambdaLR(sgd(1.0), Factor(0.9))
    other.load_state_dict(one.state_dict())
    assert run(other, 3) == run(one, 3)


# The figure by step, the steps after which the rate is halved.
PLATEAUS: list[tuple[dict[str, Any], list[float], list[int]]] = [
    ({}, [5, 4, 3, 3, 3, 3, 3, 3], [6]),
    ({"mode": "max"}, [1, 2, 3, 3, 3, 3], [6]),
    ({"cooldown": 2}, [3, 3, 3, 3, 3, 3, 3, 3, 3], [4, 9]),
    ({"threshold": 0.5}, [8, 7, 6, 5], [4]),
    ({"threshold": 0.5, "threshold_mode": "abs"}, [3, 2.6, 2.55, 2.51], [4]),
    ({"min_lr": 0.4}, [3] * 12, [4, 7, 10]),
]


@pytest.mark.parametrize("options, figures, changes", PLATEAUS)
def test_plateau(options: dict[str, Any], figures: list[float], changes: list[int]) -> None:
    optimizer = sgd(1.0)
    floor = options.get("min_lr", 0.0)
    schedule = schedules.ReduceLROnPlateau(optimizer, factor=0.5, patience=2, **options)
    expected = 1.0
    for step, figure in enumerate(figures, 1):
        schedule.step(flow.tensor(figure) if step % 2 else figure)
        expected = max(expected * 0.5, floor) if step in changes else expected
        assert optimizer.param_groups[0]["lr"] == expected, step
    assert schedule.last_step == len(figures)


def test_plateau_state_moves() -> None:
    one = schedules.ReduceLROnPlateau(sgd(1.0), factor=0.5, patience=2)
    for figure in (3.0, 2.0, 2.0, 2.0):
        one.step(figure)
    other = schedules.ReduceLROnPlateau(sgd(1.0), mode="max")
    other.load_state_dict(one.state_dict())
    other.step(2.0)
    assert (other.best, other.mode, other.get_last_lr()) == (2.0, "min", [0.5])


def test_verbose_prints(capsys: pytest.CaptureFixture[str]) -> None:
    schedules.StepLR(sgd(1.0), 1, 0.5, verbose=True).step()
    plateau = schedules.ReduceLROnPlateau(sgd(1.0), factor=0.5, patience=0, verbose=True)
    plateau.step(1.0)
    plateau.step(1.0)
    out = capsys.readouterr().out
    assert "step 1, group 0: lr 0.5" in out
    assert "ReduceLROnPlateau: step 2, group 0: lr 5.0000e-01" in out


loose: Any = schedules
BAD: list[tuple[Any, type[Exception], str]] = [
    (lambda: loose.StepLR(3, 2), TypeError, "[StepLR] expects an Optimizer, got int"),
    (lambda: loose.StepLR(sgd(1.0), 0), ValueError, "step_size as an int of at least 1, got 0"),
    (lambda: loose.StepLR(sgd(1.0), 2, 0), ValueError, "gamma above 0, got 0"),
    (lambda: loose.MultiStepLR(sgd(1.0), [3, 3]), ValueError, "increasing milestones, got [3, 3]"),
    (lambda: loose.ExponentialLR(sgd(1.0), -1), ValueError, "gamma above 0, got -1"),
    (lambda: loose.ConstantLR(sgd(1.0), 1.5), ValueError, "factor from 0 to 1, got 1.5"),
    (lambda: loose.LinearLR(sgd(1.0), 0.5, "x"), ValueError, "end_factor from 0 to 1, got 'x'"),
    (lambda: loose.PolynomialLR(sgd(1.0), 0), ValueError, "decay_batch as an int"),
    (lambda: loose.CosineDecayLR(sgd(1.0), 0.5), ValueError, "decay_steps as an int"),
    (lambda: loose.CosineAnnealingLR(sgd(1.0), 0), ValueError, "T_max as an int"),
    (lambda: loose.CosineAnnealingWarmRestarts(sgd(1.0), 2, 0), ValueError, "T_mult as an int"),
    (lambda: loose.LambdaLR(sgd(1.0), []), ValueError, "expects 1 functions, one a group, got 0"),
    (lambda: loose.ChainedScheduler([]), ValueError, "a list of at least one scheduler"),
    (
        lambda: loose.ChainedScheduler([loose.StepLR(sgd(1.0), 1), loose.StepLR(sgd(1.0), 1)]),
        ValueError,
        "schedulers of one optimizer, got another at place 1",
    ),
    (lambda: loose.WarmupLR(3), TypeError, "expects a scheduler or an optimizer, got int"),
    (lambda: loose.WarmupLR(sgd(1.0), warmup_iters=0), ValueError, "warmup_iters above 0"),
    (lambda: loose.WarmupLR(sgd(1.0), warmup_method="x"), ValueError, "linear or constant"),
    (
        lambda: loose.WarmupLR(loose.ExponentialLR(sgd(1.0, 0.5), 0.9)),
        ValueError,
        "one learning rate for all groups",
    ),
    (lambda: loose.ReduceLROnPlateau(3), TypeError, "expects an Optimizer, got int"),
    (lambda: loose.ReduceLROnPlateau(sgd(1.0), factor=1), ValueError, "a factor below 1, got 1"),
    (lambda: loose.ReduceLROnPlateau(sgd(1.0), "x"), ValueError, "mode min or max, got 'x'"),
    (
        lambda: loose.ReduceLROnPlateau(sgd(1.0), threshold_mode="x"),
        ValueError,
        "threshold_mode rel or abs",
    ),
    (lambda: loose.ReduceLROnPlateau(sgd(1.0), min_lr=[1, 2]), ValueError, "for 1 groups, got 2"),
    (lambda: loose.LRScheduler(sgd(1.0)), NotImplementedError, "does not define get_lr()"),
]


@pytest.mark.parametrize("call, error, words", BAD)
def test_bad_input(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)


def sequence(milestones: list[int], rescaling: Any = False) -> Any:
    optimizer = sgd(1.0)
    parts = [schedules.StepLR(optimizer, 1), schedules.StepLR(optimizer, 1)]
    return schedules.SequentialLR(optimizer, parts, milestones, rescaling)


def test_bad_sequences() -> None:
    with pytest.raises(ValueError, match="expects 1 milestones for 2 schedulers, got 2"):
        sequence([1, 2])
    with pytest.raises(ValueError, match="for 1 milestones, got 2"):
        sequence([1], [True, False])
    with pytest.raises(TypeError, match="expects bools"):
        sequence([1], ["x"])
