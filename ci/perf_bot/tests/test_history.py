"""The history: lines by commit, what is refused, the page that shows them."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from ci.perf_bot import history, main, page
from ci.perf_bot.schema import check_history_entry
from ci.perf_bot.tests import samples

Json = dict[str, Any]


def commits(folder: Path) -> list[str]:
    """The commits in a folder's history."""
    return [entry["commit"] for entry in history.read(folder)]


def result(letter: str, time: str, **changes: Any) -> Json:
    """A result whose head is a commit of one letter and a time."""
    made = samples.result(**changes)
    made["head"] |= {"commit": letter * 40, "time": time}
    return made


def test_an_entry_has_what_its_result_measured() -> None:
    made = samples.regression()
    entry = history.entry_of(made)
    figure = made["rows"][0]["figures"]["time"]
    kept = entry["rows"]["resnet50/16"]["time"]
    assert kept["median"] == figure["variants"]["head"]["median"]
    assert kept["pytorch"] == figure["variants"]["pytorch"]["median"]
    assert (kept["ratio"], kept["verdict"]) == (figure["gate"]["ratio"], "slower")
    assert (entry["commit"], entry["parent"]) == ("a" * 40, "b" * 40)
    check_history_entry(entry)


def test_commits_stand_in_order_whatever_order_they_came_in(tmp_path: Path) -> None:
    first, second, third = (
        result(letter, f"2026-12-0{day}T00:00:00Z")
        for letter, day in (("c", 1), ("d", 2), ("e", 3))
    )
    history.add(tmp_path, [third])
    history.add(tmp_path, [first, second])
    assert [c[0] for c in commits(tmp_path)] == ["c", "d", "e"]


def test_a_commit_measured_again_replaces_its_line(tmp_path: Path) -> None:
    history.add(tmp_path, [result("c", "2026-12-01T00:00:00Z", head=0.1)])
    entries = history.add(tmp_path, [result("c", "2026-12-01T00:00:00Z", head=0.2)])
    assert len(entries) == 1
    assert entries[0]["rows"]["bert"]["time"]["median"] == pytest.approx(0.2, rel=0.02)
    assert len((tmp_path / history.NAME).read_text().splitlines()) == 1


def test_the_same_results_give_the_same_bytes(tmp_path: Path) -> None:
    made = [result("c", "2026-12-01T00:00:00Z"), result("d", "2026-12-02T00:00:00Z")]
    for folder, order in (("x", made), ("y", made[::-1])):
        history.add(tmp_path / folder, order)
        history.add(tmp_path / folder, order[:1])
    for name in (history.NAME, history.PAGE):
        assert (tmp_path / "x" / name).read_bytes() == (tmp_path / "y" / name).read_bytes()


def test_a_head_that_was_not_measured_has_no_rows(tmp_path: Path) -> None:
    entries = history.add(tmp_path, [samples.unbuilt()])
    assert (entries[0]["rows"], entries[0]["status"]) == ({}, "build failed")
    assert "build failed" in (tmp_path / history.PAGE).read_text()


@pytest.mark.parametrize("line", ["{}", "nonsense", "[]", '{"a": NaN}', '{"a":' * 10_000])
def test_a_line_that_is_no_entry_is_refused_and_the_file_kept(tmp_path: Path, line: str) -> None:
    history.add(tmp_path, [result("c", "2026-12-01T00:00:00Z")])
    path = tmp_path / history.NAME
    path.write_text(path.read_text() + line + "\n")
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"history\.jsonl:2: "):
        history.add(tmp_path, [result("d", "2026-12-02T00:00:00Z")])
    assert path.read_bytes() == before


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps(samples.result()))
    folder = tmp_path / "history"
    assert main.main(["history", str(folder), str(path)]) == 0
    assert capsys.readouterr().out.startswith("1 commits in ")
    assert main.main(["render", str(path), "--history", str(folder)]) == 0
    assert "trend" in capsys.readouterr().out
    path.write_text("{}")
    assert main.main(["history", str(folder), str(path)]) == 2


class Strict(HTMLParser):
    """Elements that are opened and closed, addresses, scripts."""

    VOID = ("meta", "path", "circle")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.addresses += [v or "" for k, v in attrs if k in ("src", "href", "action")]
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parsed(text: str) -> Strict:
    """The page, which is sound."""
    found = Strict()
    found.feed(text)
    assert found.open == []
    return found


def test_the_page_loads_nothing_and_runs_nothing() -> None:
    found = parsed(page.render_page(samples.past(8)))
    assert found.addresses == []
    assert not {"script", "link", "iframe", "img", "object"} & set(found.seen)
    # Two cases, three figures, eight commits.
    assert (found.seen.count("svg"), found.seen.count("circle")) == (6, 48)


def test_the_page_marks_what_was_called_and_escapes_texts() -> None:
    entries = samples.past(5)
    text = page.render_page(entries)
    assert "change 3 &lt;b&gt;" in text and "<b>" not in text
    marked = re.findall(r'<circle class="(\w+)"', text)
    called = [
        figure["verdict"]
        for entry in entries
        for rows in entry["rows"].values()
        for figure in rows.values()
    ]
    for verdict in ("slower", "faster"):
        assert marked.count(verdict) == called.count(verdict) > 0


def test_points_lie_where_their_costs_are() -> None:
    """Linear from zero: twice the cost, twice as high above the axis."""
    entries = samples.past(5)
    text = page.render_page(entries)
    plot = text.split("<h2>bert</h2>")[1].split("</svg>")[0]
    heights = [float(y) for y in re.findall(r'cy="([\d.]+)"', plot)]
    axis = float(re.findall(r'<path class="grid" d="M[\d.]+ ([\d.]+)H', plot)[0])
    costs = [entry["rows"]["bert"]["time"]["median"] for entry in entries]
    scale = [(axis - y) / cost for y, cost in zip(heights, costs)]
    assert scale == pytest.approx([scale[0]] * 5, rel=0.01)


def test_an_empty_history_is_a_page_too(tmp_path: Path) -> None:
    parsed(page.render_page([]))
    assert history.add(tmp_path, []) == []
    assert (tmp_path / history.PAGE).exists()
