"""The report of //bench:speed as text: a table of speeds, one of limits and memory, notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench.harness.render import quantity
from bench.models.figures import eager_reference

Json = dict[str, Any]
NOTHING = "-"


def render(result: Mapping[str, Any], style: str = "terminal") -> str:
    """The report.

    Args:
        result: what speed.py writes.
        style: `terminal` or `markdown`.

    Returns:
        Text that ends with a newline.
    """
    rows, modes, references = result["rows"], result["modes"], result["references"]
    tables = [_speeds(rows, modes, references), _limits(rows, modes, references)]
    draw = markdown if style == "markdown" else terminal
    bullet = "* " if style == "markdown" else ""
    parts = ["\n".join(draw(table)) for table in tables]
    return "\n\n".join([*parts, "\n".join(bullet + note for note in notes(result))]) + "\n"


def _speeds(
    rows: Sequence[Json], modes: Sequence[str], references: Sequence[str]
) -> list[list[str]]:
    head = ["a step of", *modes, *references]
    head += [f"speed {mode} / {name}" for name in references for mode in modes]
    table = [head]
    for row in rows:
        line = [row["title"], *(_seconds(row["seconds"].get(v)) for v in [*modes, *references])]
        line += [_cell(row["modes"][m]["speed"][name]) for name in references for m in modes]
        table.append(line)
    return table


def _limits(
    rows: Sequence[Json], modes: Sequence[str], references: Sequence[str]
) -> list[list[str]]:
    head = ["limits", "products alone", "other layers' traffic"]
    head += [f"{mode} / alone" for mode in modes]
    head += [f"share of the limits, {mode}" for mode in modes]
    head += [f"MiB {v}" for v in [*modes, *references]]
    head += [f"MiB {mode} / {eager_reference(references)}" for mode in modes] if references else []
    table = [head]
    for row in rows:
        line = [row["title"], _seconds(row["alone"]), _seconds(row["traffic"])]
        line += [_cell(row["modes"][mode]["over_alone"]) for mode in modes]
        line += [_share(row, mode) for mode in modes]
        line += [_mib(row["mib"].get(v)) for v in [*modes, *references]]
        line += [_memory(row["modes"][mode]["memory"]) for mode in modes] if references else []
        table.append(line)
    return table


def _seconds(value: float | None) -> str:
    return NOTHING if value is None else quantity(value, "s")


def _mib(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.0f}"


def _cell(item: Mapping[str, Any]) -> str:
    """A ratio with its interval, its target and whether it was reached."""
    found = item["ratio"]
    if found is None:
        return NOTHING
    text = f"{found['value']:.2f}x [{found['low']:.2f}, {found['high']:.2f}]"
    return text if item["target"] is None else f"{text} ({item['target']:g}: {item['state']})"


def _memory(item: Mapping[str, Any]) -> str:
    if item["ratio"] is None:
        return NOTHING
    text = f"{item['ratio']:.2f}"
    return text if item["target"] is None else f"{text} ({item['target']:g}: {item['state']})"


def _share(row: Mapping[str, Any], mode: str) -> str:
    """The limits' time over the step's: products alone, then traffic at the machine's bandwidth."""
    took = row["seconds"].get(mode)
    if took is None or row["alone"] is None or row["traffic"] is None:
        return NOTHING
    return f"{(row['alone'] + row['traffic']) / took:.0%}"


def notes(result: Mapping[str, Any]) -> list[str]:
    """What must be known to read the tables."""
    count = max([r["rounds"] for r in _ratios(result)], default=0)
    out = [
        "speed: PyTorch's time over ours in the same round, above 1 is faster; "
        f"{count} rounds; brackets: the range of the rounds, from 6 on the 95 % bootstrap interval",
        "alone: the model's convolutions and products with oneDNN, each in its best layout, in the "
        "same rounds; traffic: what the other layers read and write at least, at this machine's "
        "bandwidth",
    ]
    for row in result["rows"]:
        for mode, item in row["modes"].items():
            if item["control"] is not None:
                agrees = "agrees" if item["valid"] else "DISAGREES: host invalid"
                value = item["control"]["value"]
                out.append(f"control {row['title']}: {mode} against itself {value:.3f}x, {agrees}")
    for case, item in result["checked"].items():
        apart = "; ".join(
            f"{name} {worst['loss']:.1e}, {worst['moment']:.1e}"
            for name, worst in item["variants"].items()
        )
        out.append(
            f"checked before: {case}: {item['flops']:,} operations a step on both sides; losses "
            f"and gradients of three steps against {item['against']}, {item['kind']}: {apart}"
        )
    for f in result["failures"]:
        out.append(f"failed: {f['program']}, {f['variant']}: {f['kind']}: {f['detail']}")
    out += [f"{name}: {text}" for name, text in result["labels"].items()]
    out += [f"host concern: {text}" for text in result["host"]["concerns"]]
    name, seconds = result["host"]["name"], result["seconds"]
    out.append(f"host: {name}; measured {result['started']}, {seconds:.0f} s")
    out.append(f"repeat: {result['repeat']}")
    return out


def _ratios(result: Mapping[str, Any]) -> list[Json]:
    return [
        item["ratio"]
        for row in result["rows"]
        for mode in row["modes"].values()
        for item in [*mode["speed"].values(), mode["over_alone"]]
        if item["ratio"] is not None
    ]


def terminal(table: Sequence[Sequence[str]]) -> list[str]:
    """Lines with columns; the first is the head."""
    widths = [max(len(line[i]) for line in table) for i in range(len(table[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in table
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return lines


def markdown(table: Sequence[Sequence[str]]) -> list[str]:
    """The same as a table of Markdown."""
    lines = ["| " + " | ".join(line) + " |" for line in table]
    lines.insert(1, "|" + " --- |" * len(table[0]))
    return lines
