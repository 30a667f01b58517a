"""The history: one line of JSON for each commit of master, in a folder that may be a branch.

`FOLDER/history.jsonl` holds the entries, oldest commit first; `FOLDER/index.html` shows them
(:mod:`ci.perf_bot.page`). A commit that is measured again replaces its line. What a stranger wrote
into the folder is refused on reading, line by line, with its number.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.harness import host
from ci.perf_bot import page
from ci.perf_bot.schema import (
    HEAD,
    HISTORY_SCHEMA,
    NOT_AVAILABLE,
    PYTORCH,
    check_history_entry,
    parse_json,
)

Json = dict[str, Any]

NAME, PAGE = "history.jsonl", "index.html"
_LARGEST_LINE_BYTES = 1 << 18


def entry_of(result: Json) -> Json:
    """The entry of a result: what its head measured.

    Args:
        result: a checked result of a commit of master (head) against the one before (base).

    Returns:
        An entry; a case without figures has no row in it.
    """
    rows: dict[str, dict[str, Json]] = {}
    for row in result["rows"]:
        found = {name: _figure(figure) for name, figure in row["figures"].items()}
        kept = {name: figure for name, figure in found.items() if figure is not None}
        if kept:
            rows[row["case"]] = kept
    machine = result["host"]
    entry = {
        "schema": HISTORY_SCHEMA,
        "commit": result["head"]["commit"],
        "parent": result["base"]["commit"],
        "subject": result["head"]["subject"],
        "time": result["head"]["time"],
        "measured": result["started"],
        "host": host.describe(machine)[:160],
        "status": result["status"],
        "rows": rows,
    }
    check_history_entry(entry)
    return entry


def _figure(figure: Json) -> Json | None:
    head = figure["variants"].get(HEAD)
    if not head:
        return None
    torch = figure["variants"].get(PYTORCH)
    return {
        **{name: head[name] for name in ("median", "low", "high")},
        "ratio": figure["gate"]["ratio"],
        "verdict": figure["gate"]["verdict"] or NOT_AVAILABLE,
        "pytorch": torch["median"] if torch else None,
    }


def read(folder: Path) -> list[Json]:
    """The entries of a folder, oldest commit first; none when there is no file.

    Raises:
        ValueError: a line is no entry; the message names the line.
        OSError: the file cannot be read.
    """
    path = folder / NAME
    if not path.exists():
        return []
    entries = []
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if line.strip():
            try:
                value = parse_json(line, _LARGEST_LINE_BYTES)
                check_history_entry(value)
            except ValueError as error:
                raise ValueError(f"{path}:{number}: {error}") from None
            entries.append(value)
    return merged(entries)


def merged(entries: Sequence[Json]) -> list[Json]:
    """One entry for each commit, the last one given; in order of the commits' time.

    >>> merged([])
    []
    """
    latest = {entry["commit"]: entry for entry in entries}
    return sorted(latest.values(), key=lambda entry: (entry["time"], entry["commit"]))


def add(folder: Path, results: Sequence[Json]) -> list[Json]:
    """Adds results to a folder, and renews its page.

    Returns:
        All entries.

    Raises:
        ValueError: the history is none; it is left as it is.
        OSError: the folder cannot be written.
    """
    entries = merged([*read(folder), *map(entry_of, results)])
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(e, sort_keys=True, allow_nan=False, ensure_ascii=False) for e in entries]
    _replace(folder / NAME, "".join(line + "\n" for line in lines))
    _replace(folder / PAGE, page.render_page(entries))
    return entries


def _replace(path: Path, text: str) -> None:
    """Writes a file so that a reader sees all of it or the old one."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
