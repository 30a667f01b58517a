"""The result of a run: its JSON, its version, and the exit status that it amounts to."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.harness.plan import CONTROL, GATE, plan_from_json
from bench.harness.verdict import FAILED, HOST_INVALID, SLOWER

SCHEMA = "oneflow-bench/1"

# Exit statuses. 2 is left to the command line's own errors.
OK = 0  # measured; nothing got slower
REGRESSION = 1  # a gated row is slower
NOTHING_MEASURED = 3  # no process delivered a figure
INFRASTRUCTURE = 4  # a reference failed, or the host is invalid
BROKEN = 5  # a candidate crashed, hung, or gave a wrong answer

STATUS_NAMES = {
    OK: "ok",
    REGRESSION: "regression",
    NOTHING_MEASURED: "nothing measured",
    INFRASTRUCTURE: "infrastructure",
    BROKEN: "broken",
}

Json = dict[str, Any]


def status_of(rows: Sequence[Json], failures: Sequence[Json]) -> int:
    """The exit status of a run: the first that applies, of what its user must act on first.

    >>> status_of([], [])
    3
    """
    pairs = [c for row in rows for c in row["comparisons"] if c["role"] != CONTROL]
    candidates = {c["candidate"] for c in pairs}
    if any(f["variant"] in candidates for f in failures):
        return BROKEN
    if any(c["role"] == GATE and c["verdict"] == SLOWER for c in pairs):
        return REGRESSION
    if not any(summary for row in rows for summary in row["variants"].values()):
        return INFRASTRUCTURE if failures else NOTHING_MEASURED
    if failures or any(c["verdict"] in (HOST_INVALID, FAILED) for c in pairs):
        return INFRASTRUCTURE
    return OK


def user_path(text: str) -> Path:
    """A path as the user meant it: `bazel run` starts programs elsewhere, and says where from.

    >>> user_path("/tmp/result.json")
    PosixPath('/tmp/result.json')
    """
    return Path(os.environ.get("BUILD_WORKING_DIRECTORY", "")) / text


def write_json(path: Path, result: Json) -> None:
    """Writes a result so that a reader sees all of it or the old one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1, sort_keys=True, allow_nan=False)
            file.write("\n")
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def read_json(path: Path) -> Json:
    """Reads a result.

    Raises:
        ValueError: it is no result, or of another version.
        OSError: it cannot be read.
    """
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"{path}: is no JSON: {error}") from error
    found = result.get("schema") if isinstance(result, dict) else None
    if found != SCHEMA:
        raise ValueError(f"{path}: expects a result of schema {SCHEMA!r}, got {found!r}")
    plan_from_json(result.get("plan"))
    for name, kind in (("rows", list), ("failures", list), ("rounds", list), ("host", dict)):
        if not isinstance(result.get(name), kind):
            raise ValueError(f"{path}: expects {name} to be a {kind.__name__}")
    return dict(result)
