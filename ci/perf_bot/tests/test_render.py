"""The comment: golden bytes, what it says of each status, hostile texts, its length."""

from __future__ import annotations

import copy
import json
import os
import random
import re
from pathlib import Path
from typing import Any

import pytest

from ci.perf_bot import main, render, schema
from ci.perf_bot.render import LONGEST, sparkline
from ci.perf_bot.schema import HEAD, PYTORCH
from ci.perf_bot.tests import samples

FOLDER = Path(__file__).parent
Json = dict[str, Any]


def golden() -> Json:
    """The committed result; `python -m ci.perf_bot.tests.make_golden` makes it anew."""
    return schema.read_result((FOLDER / "golden.json").read_bytes())


def test_the_comment_is_the_golden_one_byte_by_byte() -> None:
    expected = (FOLDER / "golden.md").read_bytes()
    assert render.render(golden()).encode() == expected
    assert render.render(copy.deepcopy(golden())).encode() == expected


def test_the_order_of_keys_does_not_matter() -> None:
    def shuffled(value: Any, draw: random.Random) -> Any:
        if isinstance(value, dict):
            items = [(k, shuffled(v, draw)) for k, v in value.items()]
            draw.shuffle(items)
            return dict(items)
        return [shuffled(v, draw) for v in value] if isinstance(value, list) else value

    expected = render.render(golden())
    for seed in range(5):
        assert render.render(shuffled(golden(), random.Random(seed))) == expected


def test_the_result_is_left_as_it_is() -> None:
    result = golden()
    render.render(result, samples.past(3))
    assert result == golden()


def test_the_command_line_prints_the_same(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BUILD_WORKING_DIRECTORY", str(FOLDER.absolute()))
    monkeypatch.chdir(tmp_path)
    assert main.main(["render", "golden.json"]) == 0
    assert capsys.readouterr().out.encode() == (FOLDER / "golden.md").read_bytes()


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"schema": "oneflow-perf/1"}'])
def test_what_is_no_result_is_refused(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "r.json").write_text(text)
    assert main.main(["render", str(tmp_path / "r.json")]) == 2
    assert capsys.readouterr().err.startswith("perf_bot: ")
    assert main.main(["render", str(tmp_path / "nowhere.json")]) == 2


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (samples.regression, ["A regression was found", "❌ **slower**", "0.96"]),
        (samples.result, ["No row is worse", "✅ same", "✔️ 1.2"]),
        (samples.noisy, ["Nothing could be decided", "❔ inconclusive"]),
        (samples.invalid, ["was not fit", "⚠️ host invalid", "others used 25 %"]),
        (samples.broken, ["crashes, hangs or answers wrongly", "💥 **failed**", "in kernel"]),
        (samples.unbuilt, ["does not build", "x.cc:3: error: expected ';'"]),
    ],
)
def test_each_status_is_said(made: Any, words: list[str]) -> None:
    text = render.render(made())
    for word in words:
        assert word in text, word


def test_a_row_has_all_that_was_promised() -> None:
    """Row, base, head, ratio with interval, verdict, MiB, first step, links, repeat command."""
    text = render.render(samples.regression())
    row = next(line for line in text.splitlines() if line.startswith("| ResNet-50"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert re.fullmatch(r"[\d.]+ ms \(160 images/s\)", cells[1])
    assert re.fullmatch(r"[\d.]+ ms \(154 images/s\)", cells[2])
    assert re.fullmatch(r"0\.96\dx \[0\.9\d\d, 0\.9\d\d\]", cells[3])
    assert cells[4] == "❌ **slower**"
    assert cells[5] == "64.0 (+0.0 %) ✅ same"
    assert re.fullmatch(r"31\d ms \(\+4\.\d %\) ✅ same", cells[6])
    assert cells[-1].startswith("`tools/bazel run //ci/perf_bot -- measure --base ")
    assert cells[-1].endswith(" --case resnet50/16`")
    for commit in ("a" * 40, "b" * 40):
        assert f"(https://example.org/o/r/commit/{commit})" in text


def test_oneflows_form() -> None:
    """The lines that users of OneFlow's bot know, with sums that add up."""
    text = render.render(samples.result())
    time = re.search(
        r"✔️ OneFlow resnet50 time: ([\d.]+)ms \(= ([\d.]+)ms / (\d+), "
        r"input_shape=\[16, 3, 224, 224\], backward is enabled\)",
        text,
    )
    theirs = re.search(r"^PyTorch resnet50 time: ([\d.]+)ms \(= ", text, re.MULTILINE)
    speed = re.search(r"✔️ Relative speed: ([\d.]+) \(= ([\d.]+)ms / ([\d.]+)ms\)", text)
    assert time and theirs and speed
    assert float(time[2]) / int(time[3]) == pytest.approx(float(time[1]), abs=0.06)
    assert (speed[2], speed[3]) == (theirs[1], time[1])
    assert float(speed[1]) == pytest.approx(float(speed[2]) / float(speed[3]), abs=0.006)
    assert "CPU Name: Z80, 2 of 2 cores, 2 threads, 8 GiB" in text


def test_the_verdict_decides_and_the_ticks_are_information() -> None:
    """Slower than PyTorch is a cross, and no regression."""
    result = samples.result(0.15)
    for row in result["rows"]:
        for figure in row["figures"].values():
            figure["gate"] |= {"verdict": "same", "ratio": 1.0}
    text = render.render({**result, "status": "ok"})
    assert "No row is worse" in text and "❌ Relative speed: 0.80" in text
    assert "The verdict decides" in text and "ticks against PyTorch are information" in text


def test_what_is_undecided_is_not_called_no_worse() -> None:
    result = samples.result()
    result["rows"][0]["figures"]["first"]["gate"]["verdict"] = "inconclusive"
    text = render.render(result)
    assert "No row is worse" not in text
    assert "✅ **No regression was found**; what is inconclusive may hide one. Of 6" in text


def test_without_pytorch_and_without_a_repository() -> None:
    result = samples.result()
    result["repository"] = None
    for row in result["rows"]:
        for figure in row["figures"].values():
            figure["pytorch"] = figure["variants"][PYTORCH] = None
    text = render.render(result)
    assert "](http" not in text and "PyTorch resnet50" not in text
    assert "| n/a | `tools/bazel" in text


def test_more_memory_is_called_more() -> None:
    text = render.render(samples.result(memory={HEAD: 1.3}))
    assert "83.2 (+30.0 %) ❌ **more**" in text


HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "@everyone look",
    "a | b",
    "[x](https://example.net)",
    "https://example.net",
    "`code` ``more``",
    "# heading",
    "**bold** _it_ ~~no~~",
    "a\u202eb\u0007c",
    "</details><h1>",
    "<!-- perf_bot -->",
    "```\n@everyone\n```",
    "line\n\n# heading\n@someone",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_stay_texts(text: str) -> None:
    """In every field that takes a free text, at once."""
    result = samples.broken(text + "\n" + text)
    plain = text.replace("\n", " ")
    result["head"] |= {"subject": text, "ref": text}
    result["host"] |= {"model": text, "kernel": text, "python": text, "concerns": [text]}
    result["pytorch"] = text
    for row in result["rows"]:
        row |= {"title": text, "model": text[:40], "item": text[:20]}
    shown = render.render(result)
    outside = re.sub(r"(?s)^(`{3,})\n.*?^\1$", "", shown, flags=re.MULTILINE)
    outside = re.sub(r"(?<!\\)(`+)(?!`).+?(?<!`)\1(?!`)", "", outside)
    assert not re.search(r"(?<!\\)<(?!/?(details|summary)>)", outside)
    assert not re.search(r"@(?!\u200b)", outside)
    assert not re.search(r"(?<!\\)\]\((?!https://example\.org/o/r/commit/)", outside)
    assert "\u202e" not in shown and "\u0007" not in shown
    assert not re.search(r"(?m)^# heading", outside)
    assert shown.count("<details>") == shown.count("</details>") - shown.count("</details><h1>")
    table = [line for line in shown.splitlines() if line.startswith("| ")]
    pipes = {len(re.findall(r"(?<!\\)\|", line)) for line in table}
    assert len(pipes) == 1, (plain, table)


def test_a_comment_is_never_too_long() -> None:
    result = samples.broken("x" * 2000 + "\n" + "y" * 1400)
    rows = [copy.deepcopy(result["rows"][0]) for _ in range(64)]
    for number, row in enumerate(rows):
        row |= {"case": f"c/{number}", "title": "*" * 120, "model": "m" * 40}
        row["repeat"] = "tools/bazel run //ci/perf_bot -- measure " + "z" * 950
    result["rows"] = rows
    errors = [{**result["errors"][0], "case": f"c/{i}"} for i in range(100)]
    result["errors"] = errors
    schema.check_result(result)
    text = render.render(result)
    assert len(text) <= LONGEST < 65_536
    assert "left out here" in text
    assert text.count("<details>") == text.count("</details>")


def test_trends_come_from_the_history() -> None:
    result = samples.result()
    text = render.render(result, samples.past(6))
    row = next(line for line in text.splitlines() if line.startswith("| ResNet-50"))
    trend = row.split("|")[-3].strip()
    assert len(trend) == 7 and set(trend) <= set("▁▂▃▄▅▆▇█")
    # The fourth commit was the slowest, this head is the fastest.
    assert (trend[3], trend[-1]) == ("▁", "█")
    assert "up is faster" in text
    assert "trend" not in render.render(result).lower()


@pytest.mark.parametrize(
    ("values", "bars"),
    [([1.0], "▄"), ([0.0, 7.0], "▁█"), ([3.0, 2.0, 1.0], "█▅▁"), ([1.0, 1.0 + 1e-16], "▄▄")],
)
def test_sparklines(values: list[float], bars: str) -> None:
    assert sparkline(values) == bars


def test_tests_do_not_depend_on_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither locale nor time zone nor clock is looked at."""
    expected = render.render(golden())
    for name, value in (("TZ", "Asia/Tokyo"), ("LC_ALL", "de_DE.UTF-8"), ("COLUMNS", "10")):
        monkeypatch.setitem(os.environ, name, value)
    assert render.render(golden()) == expected
    assert json.dumps(golden(), sort_keys=True)
