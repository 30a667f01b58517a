"""The closing line of .ci/run tells what Bazel's events say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ci import summary


def configured(label: str, size: str | None = "SMALL") -> str:
    body = {"testSize": size} if size else {}
    return json.dumps({"id": {"targetConfigured": {"label": label}}, "configured": body})


def finished(label: str, status: str) -> str:
    body = {"overallStatus": status}
    return json.dumps({"id": {"testSummary": {"label": label}}, "testSummary": body})


def skipped(label: str, reason: str = "SKIPPED") -> str:
    name = {"targetCompleted": {"label": label}}
    return json.dumps({"id": name, "aborted": {"reason": reason}})


def completed(label: str, success: bool = True, tested: bool = True) -> str:
    children = [{"testSummary": {"label": label}}] if tested else []
    body = {"success": True} if success else {}
    return json.dumps(
        {"id": {"targetCompleted": {"label": label}}, "children": children, "completed": body}
    )


def test_counts_test_targets() -> None:
    lines = [completed("//a:lib", tested=False), "\n"]
    for test, status in (("//a:t", "PASSED"), ("//a:u", "FAILED")):
        lines += [configured(test), completed(test), finished(test, status)]
    assert summary.report(summary.count(lines), 3) == ("FAILED //a:u\n1 passed, 1 failed", 3)


def test_what_was_not_built_has_failed() -> None:
    lines = [configured("//a:t"), completed("//a:t", success=False, tested=False)]
    lines += [completed("//a:lib", success=False, tested=False), finished("//a:u", "PASSED")]
    counts = summary.count(lines)
    assert counts == summary.Counts({"//a:u"}, {"//a:lib", "//a:t"})
    assert summary.report(counts, 0)[1] == 1


def test_a_test_that_was_announced_and_has_no_result_has_failed() -> None:
    assert summary.count([configured("//a:t"), completed("//a:t")]).failed == {"//a:t"}


def test_a_test_that_its_tags_left_out_does_not_count() -> None:
    lines = [configured("//a:nightly"), completed("//a:nightly", tested=False)]
    assert summary.count(lines) == summary.Counts()


@pytest.mark.parametrize(
    "status", ["TIMEOUT", "FAILED", "INCOMPLETE", "NO_STATUS", "REMOTE_FAILURE"]
)
def test_every_other_status_is_a_failure(status: str) -> None:
    assert summary.count([finished("//a:t", status)]).failed == {"//a:t"}


def test_a_test_of_another_configuration_was_skipped() -> None:
    lines = [configured("//a:t"), skipped("//a:t"), skipped("//a:lib"), finished("//a:u", "PASSED")]
    assert summary.report(summary.count(lines), 0) == ("1 passed, 0 failed, 1 skipped", 0)
    lines[1] = skipped("//a:t", "INCOMPLETE")
    assert summary.count(lines).failed == {"//a:t"}


def test_runs_are_merged() -> None:
    first = summary.Counts({"//a:t", "//a:u"}, set(), {"//a:v", "//a:w"})
    second = summary.Counts({"//a:t", "//a:v"}, {"//a:u"})
    merged = summary.merge([first, second])
    assert merged == summary.Counts({"//a:t", "//a:v"}, {"//a:u"}, {"//a:w"})


def test_only_skipped_tests_are_a_failure() -> None:
    counts = summary.Counts(skipped={"//a:t"})
    assert summary.report(counts, 0) == ("0 passed, 0 failed, 1 skipped", 1)


def test_no_tests_at_all_is_a_failure() -> None:
    assert summary.report(summary.Counts(), 0) == ("0 passed, 0 failed", 1)


def test_reads_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = tmp_path / "events"
    events.write_text("\n".join([configured("//a:t"), finished("//a:t", "PASSED")]))
    assert summary.main([str(events), "0"]) == 0
    assert capsys.readouterr().out == "1 passed, 0 failed\n"
    assert summary.main([str(events), "0", str(events), "3"]) == 3
