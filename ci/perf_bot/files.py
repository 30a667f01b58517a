"""The artifacts of a run: record and result as JSON, tables as CSV, plots.

`rows.csv` has a line for each figure of each row, `samples.csv` one for each process and case; both
have a header, plain numbers and empty cells for what is unknown, as `pandas.read_csv` likes them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.harness.result import write_json
from ci.perf_bot import extract, guard, plots
from ci.perf_bot.cases import case_from_json
from ci.perf_bot.schema import FIGURES, VARIANTS, ordered_figures

Json = dict[str, Any]

RESULT, RECORD = "result.json", "rounds.json"


def write_all(folder: Path, record: Json, result: Json) -> None:
    """Writes everything into a folder.

    Raises:
        OSError: it cannot be written.
    """
    write_json(folder / RECORD, record)
    write_json(folder / RESULT, result)
    write_tables(folder, record, result)
    plots.write_plots(folder / "plots", result, record)


def write_tables(folder: Path, record: Json, result: Json) -> None:
    """The two CSV files."""
    (folder / "rows.csv").write_text(rows_csv(result), encoding="utf-8")
    (folder / "samples.csv").write_text(samples_csv(record), encoding="utf-8")


def rows_csv(result: Json) -> str:
    """Each figure of each row: medians, ratios with intervals, verdicts."""
    head = ["case", "figure", "unit"]
    head += [v.replace(" ", "_") for v in VARIANTS]
    roles = ("gate", "control", "pytorch")
    names = ("verdict", "pairs", "ratio", "ratio_low", "ratio_high", "spread", "p", "adjusted_p")
    head += [f"{role}_{name}" for role in roles for name in names] + ["resolvable"]
    lines: list[list[Any]] = [head]
    for row in result["rows"]:
        for name, figure in ordered_figures(row):
            medians = [(figure["variants"].get(v) or {}).get("median") for v in VARIANTS]
            judged = [(figure[role] or {}).get(n) for role in roles for n in names]
            begin = [row["case"], name, figure["unit"], *medians]
            lines.append([*begin, *judged, figure["resolvable"]])
    return _csv(lines)


def samples_csv(record: Mapping[str, Any]) -> str:
    """Each process: its place in its round, its costs, what the machine did meanwhile."""
    cases = [case_from_json(value) for value in record["cases"]]
    clocks = ("total", "busy", "steal", "own")
    head = ["case", "round", "variant", "place", *FIGURES, *(f"machine_{c}_s" for c in clocks)]
    lines: list[list[Any]] = [head]
    for item in record["rounds"]:
        for case in [c for c in cases if c.program == item["program"]]:
            for place, variant in enumerate(item["order"]):
                line = item["runs"].get(variant, {}).get("metrics", {}).get(case.metric)
                if line is not None:
                    figures = [extract.cost_of(line, figure) for figure in FIGURES]
                    machine = [(line.get(guard.FIELD) or {}).get(c) for c in clocks]
                    lines.append([case.name, item["round"], variant, place, *figures, *machine])
    return _csv(lines)


def _csv(lines: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()
