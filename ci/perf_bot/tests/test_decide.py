"""The decision: verdicts on simulated hosts, error rates of the whole, planted faults."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from bench.harness.estimate import Floats
from bench.harness.launch import Failure
from bench.harness.sequential import Schedule
from bench.harness.tests.synthetic import Rng
from bench.harness.verdict import Policy
from ci.perf_bot import budget, decide, extract, record
from ci.perf_bot.schema import BASE, BASE_AGAIN, HEAD, PYTORCH, TIME
from ci.perf_bot.tests.simulated import QUICK, Simulated, case, evidence, normal, run

ALIKE = {BASE: 1.0, HEAD: 1.0, BASE_AGAIN: 1.0}
LOOSE = Policy(family_rate=0.05, control_rate=0.05, looks=2, resamples=100)


def gates(made: dict[str, object]) -> dict[str, str]:
    """The verdicts of a record's rows by case and figure."""
    rows = record.result_of(made)["rows"]
    return {f"{r['case']}:{n}": f["gate"]["verdict"] for r in rows for n, f in r["figures"].items()}


def test_four_verdicts_from_end_to_end() -> None:
    slower = run([case()], Simulated({**ALIKE, HEAD: 1.04}))
    faster = run([case()], Simulated({**ALIKE, HEAD: 0.96}))
    same = run([case()], Simulated(ALIKE))
    noisy = run([case()], Simulated(ALIKE, normal(0.2)))
    found = [gates(made)["a:time"] for made in (slower, faster, same, noisy)]
    assert found == ["slower", "faster", "same", "inconclusive"]


@pytest.mark.parametrize(("changed", "figure"), [("memory", "a:memory"), ("first", "a:first")])
def test_memory_and_first_step_are_judged_alone(changed: str, figure: str) -> None:
    made = run([case()], Simulated(ALIKE, **{changed: {HEAD: 1.2}}))  # type: ignore[arg-type]
    assert [name for name, verdict in gates(made).items() if verdict == "slower"] == [figure]
    assert record.result_of(made)["status"] == "regression"


def test_a_control_that_disagrees_makes_its_figure_invalid() -> None:
    made = run([case()], Simulated({BASE: 1.0, HEAD: 1.05, BASE_AGAIN: 1.05}))
    assert gates(made)["a:time"] == "host invalid"
    assert gates(made)["a:memory"] == "same"
    assert record.result_of(made)["status"] == "host invalid"


def test_others_on_the_machine_make_it_invalid_although_the_control_agrees() -> None:
    made = run([case()], Simulated({**ALIKE, HEAD: 1.2}, foreign=0.25))
    assert set(gates(made).values()) == {"host invalid"}
    result = record.result_of(made)
    assert result["host"]["during"]["foreign"] == pytest.approx(0.25)
    assert [e["kind"] for e in result["errors"]] == ["busy"]


def test_pytorch_decides_nothing() -> None:
    made = run([case()], Simulated({**ALIKE, PYTORCH: 0.5}))
    result = record.result_of(made)
    row = result["rows"][0]["figures"]["time"]
    assert (row["pytorch"]["verdict"], row["gate"]["verdict"]) == ("slower", "same")
    assert (result["status"], result["policy"]["comparisons"]) == ("ok", 3)


def test_a_failing_pytorch_is_no_fault_of_the_commit() -> None:
    fails = {PYTORCH: Failure("exit", "exit status 1")}
    result = record.result_of(run([case()], Simulated({**ALIKE, PYTORCH: 1.0}, fails=fails)))
    assert (result["status"], [e["side"] for e in result["errors"]]) == ("ok", [PYTORCH])


def test_a_figure_that_no_process_delivers_is_not_available_and_not_waited_for() -> None:
    machine = Simulated(ALIKE, memory=dict.fromkeys(ALIKE, 0.0))
    made = run([case()], machine)
    assert gates(made)["a:memory"] == "n/a"
    assert len(machine.calls) == 3 * made["schedule"]["pairs"][0]


def test_the_schedule_follows_from_the_family() -> None:
    """More comparisons, more pairs at least; computed from the test's smallest p-value."""
    for count in (1, 2, 6, 20):
        cases = [case(f"c{i}") for i in range(count)]
        result = record.result_of(
            run(cases, Simulated(ALIKE), replace(decide.POLICY, resamples=100))
        )
        rows, looks = 3 * count, decide.POLICY.looks
        fewest = next(n for n in range(1, 99) if 2.0 ** (1 - n) <= 0.002 / looks / rows)
        assert result["policy"]["minimum_pairs"] == fewest == result["policy"]["pairs"][0]
        assert result["policy"]["comparisons"] == rows


def test_p_values_are_scipys() -> None:
    rng = np.random.default_rng(1)
    values = {v: rng.normal(0.0, 0.01, (3, 12)) for v in (BASE, HEAD, BASE_AGAIN)}
    found = evidence(values, LOOSE, Schedule((12,), (1.0,)), (TIME,))
    judged = decide.judge_role(found, decide.GATE)
    expected = [
        stats.wilcoxon(values[HEAD][i] - values[BASE][i], method="exact").pvalue for i in range(3)
    ]
    assert [judged[f"c{i}:time"].p for i in range(3)] == pytest.approx(expected, rel=1e-9)
    # Holm, as he wrote it: the smallest times 3, the next times 2, the last, and never falling.
    order = np.argsort(expected)
    steps = np.maximum.accumulate([min(1.0, (3 - k) * expected[i]) for k, i in enumerate(order)])
    adjusted = [judged[f"c{i}:time"].adjusted for i in order]
    assert adjusted == pytest.approx(list(steps), rel=1e-9)


def alarms(
    experiments: int,
    rows: int = 4,
    *,
    correct: bool = True,
    steps: int = 1,
    luck: float = 0.01,
) -> float:
    """The share of comments, of commits that are alike, in which any row is called.

    Args:
        experiments: comments.
        rows: of each.
        correct: False plants the first fault: every row is judged as if it were alone.
        steps: more than 1 plants the second: steps of a process count as pairs of their own.
        luck: what all steps of a process share.
    """
    policy = replace(LOOSE, seed=3)
    schedule = budget.fit_schedule(policy, rows, None)
    assert schedule is not None
    rng, count = np.random.default_rng(4), 0
    for _ in range(experiments):
        values = {v: costs(rng, rows, schedule.pairs[-1], steps, luck) for v in (BASE, HEAD)}
        if correct:
            found = [evidence(values, policy, schedule, (TIME,))]
        else:
            found = [
                evidence({v: c[i : i + 1] for v, c in values.items()}, policy, schedule, (TIME,))
                for i in range(rows)
            ]
        called = [c.verdict for e in found for c in decide.judge_role(e, decide.GATE).values()]
        count += bool({"slower", "faster"} & set(called))
    return count / experiments


def costs(rng: Rng, rows: int, pairs: int, steps: int, luck: float) -> Floats:
    """Log costs of processes; heavy-tailed luck, and noise of each step."""
    processes = -(-pairs // steps)
    shared = luck * rng.standard_t(3, (rows, processes, 1))
    own = rng.normal(0.0, 0.2 * luck, (rows, processes, steps))
    return np.asarray((shared + own).reshape(rows, -1)[:, :pairs])


def bound(rate: float, experiments: int) -> float:
    """What a rate's observed share exceeds once in 30,000 suites."""
    return rate + 4.0 * math.sqrt(rate * (1.0 - rate) / experiments)


def test_any_false_alarm_in_a_comment_stays_within_the_rate() -> None:
    assert alarms(400) <= bound(LOOSE.family_rate, 400)


def test_a_decision_without_holm_is_caught() -> None:
    """A planted fault: rows judged each at the full rate."""
    assert alarms(400, rows=12, correct=False) > bound(LOOSE.family_rate, 400)


def test_steps_counted_as_pairs_are_caught() -> None:
    """A planted fault: steps resampled instead of processes."""
    assert alarms(150, steps=8) > bound(LOOSE.family_rate, 150)


def test_a_process_counts_once_however_many_steps_it_timed() -> None:
    rounds = [
        {
            "program": "p",
            "round": i,
            "runs": {"head": {"metrics": {"t": {"samples": [1.0 + i] * steps}}}},
        }
        for i, steps in enumerate((1, 50, 3))
    ]
    found = extract.costs(rounds, "p", "t", TIME, HEAD)
    assert found == {0: 1.0, 1: 2.0, 2: 3.0}


def called(shift: float, experiments: int, sigma: float, policy: Policy = LOOSE) -> float:
    """The share of single comparisons with a true difference that are called slower."""
    schedule = budget.fit_schedule(policy, 1, None)
    assert schedule is not None
    rng, count = np.random.default_rng(6), 0
    for _ in range(experiments):
        values = {v: rng.normal(0.0, sigma, (1, schedule.pairs[-1])) for v in (BASE, HEAD)}
        values[HEAD] += shift
        found = evidence(values, policy, schedule, (TIME,))
        count += decide.judge_role(found, decide.GATE)["c0:time"].verdict == "slower"
    return count / experiments


def test_power_is_what_the_arithmetic_promises() -> None:
    """A difference that is `resolvable` is found about as often as it says."""
    schedule = budget.fit_schedule(LOOSE, 1, None)
    assert schedule is not None
    sigma = 0.02
    shift = budget.resolvable(sigma * math.sqrt(2.0), schedule, LOOSE.family_rate, 1)
    assert shift > math.log1p(2 * 0.01)
    assert called(shift, 300, sigma) == pytest.approx(budget.POWER, abs=0.04)


@pytest.mark.parametrize(
    ("errors", "gate", "invalid", "status"),
    [
        ([("build", HEAD)], "slower", True, "build failed"),
        ([("run", HEAD)], "slower", True, "broken"),
        ([("run", BASE)], "slower", True, "regression"),
        ([("run", BASE)], "same", True, "infrastructure"),
        ([("run", BASE_AGAIN)], "same", False, "infrastructure"),
        ([("build", BASE)], "same", False, "infrastructure"),
        ([("setup", None)], "same", False, "infrastructure"),
        ([("run", PYTORCH)], "same", False, "ok"),
        ([], "same", True, "host invalid"),
        ([], "host invalid", False, "host invalid"),
        ([], "inconclusive", False, "inconclusive"),
        ([("budget", None)], "same", False, "ok"),
        ([], "faster", False, "ok"),
    ],
)
def test_the_status_is_what_must_be_acted_on_first(
    errors: Sequence[tuple[str, str | None]], gate: str, invalid: bool, status: str
) -> None:
    rows = [
        {"figures": {"time": {"gate": {"verdict": gate}, "variants": {"head": {}, "base": {1: 1}}}}}
    ]
    faults = [{"stage": stage, "side": side, "kind": "exit"} for stage, side in errors]
    assert decide.status_of(rows, faults, invalid) == status


def test_nothing_is_undecided_once_a_side_failed() -> None:
    machine = Simulated(ALIKE, fails={HEAD: Failure("exit", "exit status 1")})
    made = run([case()], machine)
    assert len(machine.calls) == 3
    assert record.result_of(made)["status"] == "broken"


def test_quick_policy_is_not_the_bots() -> None:
    """The rate of the comment is the issue's, whatever the tests use."""
    assert decide.POLICY.family_rate == 0.002 != QUICK.family_rate
