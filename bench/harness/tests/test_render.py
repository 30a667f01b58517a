"""The report: golden bytes, hostile texts, what is missing."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from bench.harness import render
from bench.harness.result import read_json

FOLDER = Path(__file__).parent
Json = dict[str, Any]


@pytest.fixture(name="result")
def fixture_result() -> Json:
    """The committed result."""
    return read_json(FOLDER / "golden.json")


@pytest.mark.parametrize(("style", "suffix"), [("terminal", "txt"), ("markdown", "md")])
def test_the_report_is_the_golden_one_byte_by_byte(result: Json, style: str, suffix: str) -> None:
    golden = (FOLDER / f"golden.{suffix}").read_bytes()
    assert render.render(result, style).encode() == golden
    assert render.render(copy.deepcopy(result), style).encode() == golden


@pytest.mark.parametrize("style", ["terminal", "markdown"])
def test_the_order_of_keys_does_not_matter(result: Json, style: str) -> None:
    resorted = json.loads(json.dumps(result, sort_keys=True))
    assert render.render(resorted, style) == render.render(result, style)


def test_the_command_line_prints_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert render.main([str(FOLDER / "golden.json"), "--format", "markdown"]) == 0
    assert capsys.readouterr().out.encode() == (FOLDER / "golden.md").read_bytes()


def test_a_relative_path_is_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BUILD_WORKING_DIRECTORY", str(FOLDER.absolute()))
    monkeypatch.chdir(tmp_path)
    assert render.main(["golden.json"]) == 0
    assert capsys.readouterr().out.encode() == (FOLDER / "golden.txt").read_bytes()


def test_without_pytorch_its_cells_say_so(result: Json) -> None:
    row = result["rows"][0]
    row["variants"]["pytorch"] = None
    versus = next(c for c in row["comparisons"] if c["reference"] == "pytorch")
    versus.clear()
    versus |= {"candidate": "head", "reference": "pytorch", "role": "info", "verdict": "n/a"}
    line = render.render(result).splitlines()[2]
    assert line.count("n/a") == 4  # its time, its speed, the target, its memory


def test_allocators_are_not_compared_with_resident_memory(result: Json) -> None:
    del result["rows"][0]["variants"]["pytorch"]["peak_allocator_bytes"]
    lines = render.render(result).splitlines()
    assert lines[2].split()[-3:] == ["5.0", "5.0", "5.0"]
    assert lines[3].split()[-3:] == ["3.0", "3.0", "3.0"]


def test_an_interval_without_ends(result: Json) -> None:
    versus = result["rows"][0]["comparisons"][0]
    versus["speed_low"] = versus["speed_high"] = None
    assert "x [?, ?] " in render.render(result)


@pytest.mark.parametrize(
    "hostile",
    [
        "<img src=x>",
        "@everyone",
        "a | b",
        "line\nbreak",
        "`code`",
        "[a](b)",
        "&lt;",
        "https://x.y",
        "www.x.y",
    ],
)
def test_hostile_texts_are_escaped_in_markdown(result: Json, hostile: str) -> None:
    clean = render.render(result, "markdown")
    result["rows"][0]["title"] = hostile
    dirty = render.render(result, "markdown")
    assert len(dirty.splitlines()) == len(clean.splitlines())
    row = dirty.splitlines()[2]
    assert row.replace("\\|", "").count("|") == clean.splitlines()[2].count("|")
    assert hostile not in dirty.replace("\\&", "")


def test_a_terminal_obeys_nothing(result: Json) -> None:
    result["rows"][0]["title"] = "\x1b[31mred\x07"
    result["failures"] = [
        {"program": "p", "variant": "v", "round": 0, "kind": "exit", "detail": "\x1b[2J"}
    ]
    text = render.render(result)
    assert all(c.isprintable() or c == "\n" for c in text)


def test_a_command_with_backticks_stays_in_its_span(result: Json) -> None:
    result["plan"]["repeat"] = "echo `date`"
    assert "* repeat: `` echo `date` ``" in render.render(result, "markdown")


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1.0, "s", "1.00 s"),
        (0.0123, "s", "12.3 ms"),
        (4.567e-7, "s", "457 ns"),
        (1e-12, "s", "0.00 ns"),
        (99.95, "images/s", "100.0 images/s"),
        (12345.6, "images/s", "12346 images/s"),
    ],
)
def test_quantities(value: float, unit: str, text: str) -> None:
    assert render.quantity(value, unit) == text


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "oneflow-bench/0"}', "\xff"])
def test_what_is_no_result_is_a_usage_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "result.json"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(SystemExit) as ended:
        render.main([str(path)])
    assert ended.value.code == 2
