"""The whole of `measure` on a fake repository: builds, rounds, decision, artifacts, statuses."""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path
from typing import Any

import pytest

from bench.harness import launch
from ci.perf_bot import files, guard, main, measure, record
from ci.perf_bot.cases import Case, Catalogue, Measured
from ci.perf_bot.render import render
from ci.perf_bot.schema import STATUSES, read_result
from ci.perf_bot.tests.fake_repository import FakeRepository

Json = dict[str, Any]

SCRIPT = "ci/perf_bot/tests/fake_case.py"
FAKE = Case("fake", "a fake step", "fake", "fake", "step_time", items=16, item="images")
CATALOGUE = Catalogue({"fake": FAKE}, {"fake": Measured(SCRIPT, timeout_s=20.0)})


@pytest.fixture(name="repository")
def fixture_repository(tmp_path: Path) -> FakeRepository:
    """A repository with a first commit."""
    made = FakeRepository(tmp_path / "repository")
    made.commit("the base")
    return made


def arguments(repository: FakeRepository, *words: str) -> argparse.Namespace:
    """The command line of a run, with all folders in the test's own."""
    parser = argparse.ArgumentParser()
    measure.add_arguments(parser)
    here = repository.folder.parent
    usual = ["--checkout", str(repository.folder), "--out", str(here / "out")]
    usual += ["--work", str(here / "work"), "--torch-python", "none", "--base", "HEAD~1"]
    return parser.parse_args([*usual, "--case", "fake", *words])


def run(repository: FakeRepository, *words: str, launcher: guard.Launch = launch.launch) -> Json:
    """A run, its artifacts written; the result, read back as a stranger's would be."""
    args = arguments(repository, *words)
    made = measure.run(args, CATALOGUE, lambda line: None, launcher)
    files.write_all(args.out, made, record.result_of(made))
    return read_result((args.out / files.RESULT).read_bytes())


def verdicts(result: Json) -> dict[str, str]:
    """The verdicts of the one row, by figure."""
    return {name: f["gate"]["verdict"] for name, f in result["rows"][0]["figures"].items()}


def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests run beside others: here the guard is told nothing, so that it says nothing."""
    monkeypatch.setattr("ci.perf_bot.guard.parse_stat", lambda *_: None)


@pytest.fixture(autouse=True)
def fixture_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """All tests here."""
    quiet(monkeypatch)


def test_equal_commits_are_the_same(repository: FakeRepository) -> None:
    repository.commit("docs only")
    result = run(repository)
    assert verdicts(result) == dict.fromkeys(("time", "memory", "first"), "same")
    assert (result["status"], result["errors"]) == ("ok", [])


@pytest.mark.parametrize(
    ("changes", "figure"),
    [({"COST": 0.0105}, "time"), ({"MEMORY": 68 << 20}, "memory"), ({"FIRST": 0.023}, "first")],
)
def test_what_got_worse_is_a_regression_of_that_figure_alone(
    repository: FakeRepository, changes: dict[str, float], figure: str
) -> None:
    repository.commit("slower", None, **changes)
    result = run(repository)
    expected = dict.fromkeys(("time", "memory", "first"), "same") | {figure: "slower"}
    assert (verdicts(result), result["status"]) == (expected, "regression")


def test_a_faster_head_is_ok(repository: FakeRepository) -> None:
    repository.commit("faster", COST=0.009)
    result = run(repository)
    assert (verdicts(result)["time"], result["status"]) == ("faster", "ok")
    assert result["rows"][0]["figures"]["time"]["gate"]["ratio"] == pytest.approx(0.9, rel=0.005)


def test_a_head_that_does_not_build(repository: FakeRepository) -> None:
    repository.commit("broken", {"BROKEN": ""})
    result = run(repository)
    assert (result["status"], result["rows"]) == ("build failed", [])
    assert (result["base"]["built"], result["head"]["built"]) == (True, False)
    assert "expected ';'" in result["errors"][0]["detail"]
    assert "This change does not build" in render(result)
    assert "expected ';'" in render(result)


def test_a_base_that_does_not_build_is_infrastructure(repository: FakeRepository) -> None:
    repository.commit("broken", {"BROKEN": ""})
    repository.commit("mended")
    result = run(repository)
    assert result["status"] == "infrastructure"
    assert [(e["stage"], e["side"]) for e in result["errors"]] == [("build", "base")]


def test_a_build_that_hangs_is_ended(repository: FakeRepository) -> None:
    repository.commit("hangs", {"SLEEPS": ""})
    result = run(repository, "--build-timeout", "0.02")
    assert [e["kind"] for e in result["errors"]] == ["build timeout"]
    assert result["status"] == "build failed"


@pytest.mark.parametrize(
    ("fault", "kind"), [("crash", "signal"), ("wrong", "wrong answer"), ("hang", "timeout")]
)
def test_a_head_that_misbehaves_is_broken(
    repository: FakeRepository, fault: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = Measured(SCRIPT, timeout_s=1.0 if fault == "hang" else 20.0)
    monkeypatch.setitem(CATALOGUE.programs, "fake", short)
    repository.commit(fault, FAULT=fault)
    result = run(repository)
    assert [(e["side"], e["kind"], e["case"]) for e in result["errors"]] == [("head", kind, "fake")]
    assert (result["status"], set(verdicts(result).values())) == ("broken", {"failed"})
    assert kind in render(result)


def test_a_base_that_crashes_is_infrastructure(repository: FakeRepository) -> None:
    repository.commit("crashes", FAULT="crash")
    repository.commit("mended")
    assert run(repository)["status"] == "infrastructure"


def test_a_busy_host_is_invalid(
    repository: FakeRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(10**6))
    monkeypatch.setattr(
        "ci.perf_bot.guard.parse_stat", lambda *_: (2.0 * (now := next(clock)), 1.5 * now, 0.0)
    )
    repository.commit("slower", COST=0.02)
    result = run(repository)
    assert (result["status"], set(verdicts(result).values())) == ("host invalid", {"host invalid"})
    assert result["host"]["invalid"] is True
    assert "others used" in render(result)
    # There is no use in more pairs then.
    assert result["rows"][0]["figures"]["time"]["gate"]["looks"] == 1


def test_a_noisy_host_decides_nothing(repository: FakeRepository) -> None:
    repository.commit("noise", NOISE=0.3)
    repository.commit("more noise", NOISE=0.3)
    result = run(repository)
    assert (verdicts(result)["time"], result["status"]) == ("inconclusive", "inconclusive")
    assert result["rows"][0]["figures"]["time"]["gate"]["looks"] == len(result["policy"]["pairs"])


def test_an_interrupt_keeps_what_there_is(repository: FakeRepository) -> None:
    launched = iter(range(10**6))

    def impatient(*args: Any) -> launch.Outcome:
        if next(launched) == 7:
            raise KeyboardInterrupt
        return launch.launch(*args)

    repository.commit("head")
    result = run(repository, launcher=impatient)
    assert (result["status"], result["errors"][0]["kind"]) == ("infrastructure", "interrupted")
    assert result["rows"][0]["figures"]["time"]["variants"]["base"]["processes"] >= 2


def test_a_commit_is_built_once(repository: FakeRepository) -> None:
    repository.commit("head")
    first, again = run(repository), run(repository)
    assert first["head"]["seconds"] > 0.0 == again["head"]["seconds"]


def test_the_merge_base_is_compared_with_when_asked(repository: FakeRepository) -> None:
    parting = repository.commit("parting")
    repository._git("checkout", "-q", "-b", "topic")
    head = repository.commit("head", COST=0.02)
    repository._git("checkout", "-q", "main")
    tip = repository.commit("tip of main")
    result = run(repository, "--base", "main", "--head", "topic", "--merge-base")
    assert (result["base"]["commit"], result["head"]["commit"]) == (parting, head)
    assert tip != parting


def test_artifacts_are_whole_and_follow_from_the_record(repository: FakeRepository) -> None:
    repository.commit("slower", COST=0.0105)
    result = run(repository)
    out = repository.folder.parent / "out"
    again = record.result_of(record.check_record(json.loads((out / files.RECORD).read_text())))
    assert again == result
    rows = list(csv.DictReader((out / "rows.csv").open()))
    assert [r["figure"] for r in rows] == ["time", "memory", "first"]
    assert {r["figure"]: r["gate_verdict"] for r in rows} == verdicts(result)
    samples = list(csv.DictReader((out / "samples.csv").open()))
    pairs = result["rows"][0]["figures"]["time"]["gate"]["pairs"]
    assert len(samples) == 3 * pairs
    assert {s["variant"] for s in samples} == {"base", "head", "base again"}
    for name in ("ratios", "fake"):
        assert (out / "plots" / f"{name}.svg").read_bytes().startswith(b"<?xml")
        assert (out / "plots" / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_judging_a_record_again_gives_the_same_bytes(
    repository: FakeRepository, capsys: pytest.CaptureFixture[str]
) -> None:
    repository.commit("slower", COST=0.0105)
    result = run(repository)
    out = repository.folder.parent / "out"
    other = out.with_name("again")
    status = main.main(["judge", str(out / files.RECORD), "--out", str(other)])
    assert status == STATUSES["regression"]
    assert capsys.readouterr().out == render(result)
    for name in ("result.json", "rows.csv", "samples.csv", "plots/ratios.svg", "plots/ratios.png"):
        assert (out / name).read_bytes() == (other / name).read_bytes(), name


@pytest.mark.parametrize(
    "words",
    [
        ("--base", "no-such-branch"),
        ("--base", "--upload-pack=x"),
        ("--head", ""),
        ("--case", "no-such-case"),
    ],
)
def test_what_is_not_there_is_a_usage_error(
    repository: FakeRepository, words: tuple[str, str]
) -> None:
    with pytest.raises((ValueError, SystemExit)):
        run(repository, f"{words[0]}={words[1]}")


@pytest.mark.parametrize("words", [("--budget", "0"), ("--budget", "x"), ("--threads", "many")])
def test_a_wrong_option_is_refused(repository: FakeRepository, words: tuple[str, str]) -> None:
    with pytest.raises(SystemExit) as ended:
        arguments(repository, *words)
    assert ended.value.code == 2


def test_cores_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="usable cores"):
        measure.prepare(argparse.Namespace(cpus="zero"))
