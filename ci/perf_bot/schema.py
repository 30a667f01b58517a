"""What a result of the performance bot is: its JSON, the types of it, and the check of it.

A result crosses a border: a pull request's job writes it, and a job with a write token reads it. So
:func:`read_result` believes nothing: every field, type, length and range is checked, unknown fields
are refused, and the whole has a size limit. What passes may be shown once it is escaped.

The check is an interpreter of the few words of JSON Schema (draft 2020-12) that :data:`RESULT` and
:data:`HISTORY_ENTRY` use; `python -m ci.perf_bot.schema` prints them for other tools.

Costs. All figures are costs: seconds of a step, seconds of a first step, bytes. A comparison's
`ratio` is the candidate's cost over the reference's, so above 1 is worse, whatever the figure.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from typing import Any, TypedDict

SCHEMA = "oneflow-perf/1"
HISTORY_SCHEMA = "oneflow-perf-history/1"
LARGEST_RESULT_BYTES = 1 << 20

# Figures of a row, in the order of the report.
TIME, MEMORY, FIRST = "time", "memory", "first"
FIGURES = (TIME, MEMORY, FIRST)
UNITS = {TIME: "s", MEMORY: "bytes", FIRST: "s"}

BASE, HEAD, BASE_AGAIN, PYTORCH = "base", "head", "base again", "pytorch"
VARIANTS = (BASE, HEAD, BASE_AGAIN, PYTORCH)

SLOWER, FASTER, SAME, INCONCLUSIVE = "slower", "faster", "same", "inconclusive"
HOST_INVALID, NOT_AVAILABLE, FAILED = "host invalid", "n/a", "failed"
# For memory, "slower" reads "more" and "faster" reads "less"; the words in JSON are the same.
VERDICTS = (SLOWER, FASTER, SAME, INCONCLUSIVE, HOST_INVALID, NOT_AVAILABLE, FAILED)

# Exit statuses of `measure`, by name; the first that applies, of what must be acted on first, in
# the order 6 5 1 4 3 7 8 0. 2 is the command line's own.
STATUSES = {
    "ok": 0,
    "regression": 1,
    "nothing measured": 3,
    "infrastructure": 4,
    "broken": 5,
    "build failed": 6,
    "host invalid": 7,
    "inconclusive": 8,
}
# Where an error arose, and what kinds there are. `host` errors have no side and no case.
STAGES = ("build", "run", "host", "budget", "setup")
KINDS = (
    "build failed",
    "build timeout",
    "start",
    "timeout",
    "signal",
    "exit",
    "no output",
    "bad output",
    "wrong answer",
    "busy",
    "dropped",
    "interrupted",
    "unavailable",
)

Json = dict[str, Any]


class Commit(TypedDict):
    """One side of the comparison.

    `ref` is what the user asked for, `built` whether it could be built, `seconds` the build's.
    """

    commit: str
    ref: str
    subject: str
    time: str
    built: bool
    seconds: float


class Summary(TypedDict):
    """The costs of one variant's processes: median, quartiles, sum."""

    processes: int
    median: float
    low: float
    high: float
    total: float


class Comparison(TypedDict):
    """A candidate against a reference, judged; without pairs the figures are None."""

    verdict: str
    pairs: int
    looks: int
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    spread: float | None
    p: float | None
    adjusted_p: float | None


class Figure(TypedDict):
    """Time, memory or first step of a row: `gate` is head against base, `control` base again
    against base, `pytorch` head against PyTorch (None where there is none). `resolvable` is the
    relative difference that these pairs find with 95 %, None when unknown.
    """

    unit: str
    tolerance: float
    variants: dict[str, Summary | None]
    gate: Comparison
    control: Comparison
    pytorch: Comparison | None
    resolvable: float | None


class Row(TypedDict):
    """A case: `items` are processed by one step (images), `input_shape` may be empty."""

    case: str
    title: str
    model: str
    items: int
    item: str
    input_shape: list[int]
    backward: bool
    processes: int
    repeat: str
    figures: dict[str, Figure]


class Error(TypedDict):
    """Something that went wrong, as a result of its own. `detail` is text of the program."""

    stage: str
    side: str | None
    case: str | None
    round: int | None
    kind: str
    detail: str


class Result(TypedDict):
    """The whole; see RESULT below for the ranges.

    `repository` is the address that links to commits begin with, or None; who posts a result of
    somebody else sets it anew.
    """

    schema: str
    status: str
    base: Commit
    head: Commit
    started: str
    seconds: float
    seed: int
    host: Json
    policy: Json
    budget: Json
    pytorch: str
    repository: str | None
    rows: list[Row]
    errors: list[Error]
    repeat: str


class HistoryFigure(TypedDict):
    """One figure of a commit: its median and quartiles, and the ratio to its parent's."""

    median: float
    low: float
    high: float
    ratio: float | None
    verdict: str
    pytorch: float | None


class HistoryEntry(TypedDict):
    """One line of the history: what one commit of master measured, by case and figure."""

    schema: str
    commit: str
    parent: str
    subject: str
    time: str
    measured: str
    host: str
    status: str
    rows: dict[str, dict[str, HistoryFigure]]


def _text(most: int, pattern: str | None = None) -> Json:
    found: Json = {"type": "string", "maxLength": most}
    return found | {"pattern": pattern} if pattern else found


def _number(low: float, high: float) -> Json:
    return {"type": "number", "minimum": low, "maximum": high}


def _integer(low: int, high: int) -> Json:
    return {"type": "integer", "minimum": low, "maximum": high}


def _object(**properties: Json) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": sorted(properties),
        "additionalProperties": False,
    }


def _map(names: str, values: Json, most: int = 64) -> Json:
    """An object with free names that match a pattern."""
    return {
        "type": "object",
        "propertyNames": {"type": "string", "pattern": names, "maxLength": 64},
        "additionalProperties": values,
        "maxProperties": most,
    }


def _list(items: Json, most: int) -> Json:
    return {"type": "array", "items": items, "maxItems": most}


def _or_null(value: Json) -> Json:
    return {"anyOf": [value, {"type": "null"}]}


def _one_of(words: Any) -> Json:
    return {"enum": list(words)}


_SHA = _text(40, r"^[0-9a-f]{40}$")
_STAMP = _text(20, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
_CASE = _text(64, r"^[A-Za-z0-9_./-]+$")
# A reader will copy it into a shell.
_COMMAND = r"^tools/bazel run //ci/perf_bot -- measure [A-Za-z0-9_./@=, -]*$"
_ADDRESS = r"^https://[A-Za-z0-9.-]+(:[0-9]+)?(/[A-Za-z0-9._-]+)+$"
_SECONDS = _number(0.0, 1e9)
_COST = _number(1e-12, 1e18)
_RATIO = _or_null(_number(1e-9, 1e9))
_SHARE = _number(0.0, 1.0)
_CASE_NAMES = r"^[A-Za-z0-9_./-]+$"
_FIGURE_NAMES = "^(time|memory|first)$"

_COMMIT = _object(
    commit=_SHA, ref=_text(200), subject=_text(200), time=_STAMP, built={"type": "boolean"},
    seconds=_SECONDS,
)  # fmt: skip
_SUMMARY = _object(
    processes=_integer(1, 100_000), median=_COST, low=_COST, high=_COST, total=_COST,
)  # fmt: skip
_COMPARISON = _object(
    verdict=_one_of(VERDICTS), pairs=_integer(0, 100_000), looks=_integer(0, 20), ratio=_RATIO,
    ratio_low=_RATIO, ratio_high=_RATIO, spread=_or_null(_number(0.0, 1e3)), p=_or_null(_SHARE),
    adjusted_p=_or_null(_SHARE),
)  # fmt: skip
_FIGURE = _object(
    unit=_one_of(("s", "bytes")), tolerance=_number(1e-6, 10.0),
    variants=_map("^(base|head|base again|pytorch)$", _or_null(_SUMMARY), 4), gate=_COMPARISON,
    control=_COMPARISON, pytorch=_or_null(_COMPARISON), resolvable=_or_null(_number(0.0, 1e3)),
)  # fmt: skip
_ROW = _object(
    case=_CASE, title=_text(120), model=_text(40), items=_integer(1, 1_000_000), item=_text(20),
    input_shape=_list(_integer(0, 1_000_000_000), 8), backward={"type": "boolean"},
    processes=_integer(1, 4096), repeat=_text(1000, _COMMAND),
    figures=_map(_FIGURE_NAMES, _FIGURE, 3),
)  # fmt: skip
_ERROR = _object(
    stage=_one_of(STAGES), side=_or_null(_one_of(VARIANTS)), case=_or_null(_CASE),
    round=_or_null(_integer(0, 100_000)), kind=_one_of(KINDS), detail=_text(4000),
)  # fmt: skip
# The machine at one moment, or over the run; what it does not tell is null.
_MOMENT = _object(
    load=_or_null(_number(0.0, 1e5)), mhz=_or_null(_number(0.0, 1e6)),
    steal=_or_null(_SHARE), foreign=_or_null(_SHARE),
)  # fmt: skip
_HOST = _object(
    model=_text(120), cores=_integer(1, 65_536), usable=_integer(1, 65_536),
    memory_bytes=_or_null(_integer(0, 1 << 60)), kernel=_text(120), python=_text(40),
    device=_text(120), threads=_integer(1, 65_536), before=_MOMENT, during=_MOMENT, after=_MOMENT,
    concerns=_list(_text(300), 20), invalid={"type": "boolean"},
)  # fmt: skip
_POLICY = _object(
    family_rate=_SHARE, control_rate=_SHARE, confidence=_SHARE, comparisons=_integer(0, 10_000),
    minimum_pairs=_integer(1, 100_000), pairs=_list(_integer(1, 100_000), 20),
    weights=_list(_SHARE, 20),
)  # fmt: skip
_BUDGET = _object(
    minutes=_or_null(_number(0.0, 1e5)), used_minutes=_number(0.0, 1e5),
    needed_minutes=_or_null(_number(0.0, 1e5)), round_seconds=_map(_CASE_NAMES, _SECONDS),
)  # fmt: skip

RESULT: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": SCHEMA,
    **_object(
        schema=_one_of((SCHEMA,)), status=_one_of(STATUSES), base=_COMMIT, head=_COMMIT,
        started=_STAMP, seconds=_SECONDS, seed=_integer(0, 1 << 62), host=_HOST, policy=_POLICY,
        budget=_BUDGET, pytorch=_text(120), rows=_list(_ROW, 64), errors=_list(_ERROR, 200),
        repository=_or_null(_text(200, _ADDRESS)), repeat=_text(1000, _COMMAND),
    ),
}  # fmt: skip

_HISTORY_FIGURE = _object(
    median=_COST, low=_COST, high=_COST, ratio=_RATIO, verdict=_one_of(VERDICTS),
    pytorch=_or_null(_COST),
)  # fmt: skip
HISTORY_ENTRY: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": HISTORY_SCHEMA,
    **_object(
        schema=_one_of((HISTORY_SCHEMA,)), commit=_SHA, parent=_SHA, subject=_text(200),
        time=_STAMP, measured=_STAMP, host=_text(160), status=_one_of(STATUSES),
        rows=_map(_CASE_NAMES, _map(_FIGURE_NAMES, _HISTORY_FIGURE, 3)),
    ),
}  # fmt: skip


def fault_of(value: Any, schema: Mapping[str, Any], where: str = "result") -> str | None:
    """The first place where a JSON value breaks a schema, or None.

    Knows type, enum, anyOf, properties, required, additionalProperties, propertyNames,
    maxProperties, items, maxItems, minimum, maximum, maxLength, pattern; no other word is used.

    >>> fault_of({"a": 1}, _object(a=_text(3)), "it")
    'it.a: expects a string, got int'
    """
    if "anyOf" in schema:
        faults = [fault_of(value, option, where) for option in schema["anyOf"]]
        return None if None in faults else faults[0]
    if "enum" in schema:
        known = [w for w in schema["enum"] if type(w) is type(value) and w == value]
        return None if known else f"{where}: expects one of {schema['enum']}, got {_short(value)}"
    kind = schema["type"]
    if not _is_a(value, kind):
        article = "an" if kind[0] in "aio" else "a"
        return f"{where}: expects {article} {kind}, got {type(value).__name__}"
    if kind in ("number", "integer"):
        fits = schema["minimum"] <= value <= schema["maximum"]
        span = f"{schema['minimum']} to {schema['maximum']}"
        return None if fits else f"{where}: expects {span}, got {_short(value)}"
    if kind == "string":
        return _text_fault(value, schema, where)
    if kind == "array":
        return _array_fault(value, schema, where)
    return _object_fault(value, schema, where) if kind == "object" else None


def _is_a(value: Any, kind: str) -> bool:
    types: dict[str, Any] = {
        "string": str, "number": (int, float), "integer": int, "boolean": bool,
        "null": type(None), "array": list, "object": dict,
    }  # fmt: skip
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, types[kind])


def _text_fault(value: str, schema: Mapping[str, Any], where: str) -> str | None:
    if len(value) > schema.get("maxLength", len(value)):
        return f"{where}: expects at most {schema['maxLength']} characters, got {len(value)}"
    pattern = schema.get("pattern")
    # `$` alone would let a last line feed pass.
    if pattern and (not re.search(pattern, value) or "\n" in value):
        return f"{where}: expects {pattern}, got {_short(value)}"
    return None


def _array_fault(value: list[Any], schema: Mapping[str, Any], where: str) -> str | None:
    if len(value) > schema["maxItems"]:
        return f"{where}: expects at most {schema['maxItems']} items, got {len(value)}"
    found = (fault_of(v, schema["items"], f"{where}[{i}]") for i, v in enumerate(value))
    return next((f for f in found if f is not None), None)


def _object_fault(value: Json, schema: Mapping[str, Any], where: str) -> str | None:
    known, more = schema.get("properties", {}), schema["additionalProperties"]
    if len(value) > schema.get("maxProperties", len(value)):
        return f"{where}: expects at most {schema['maxProperties']} fields, got {len(value)}"
    for name in schema.get("required", ()):
        if name not in value:
            return f"{where}: has no field {name!r}"
    for name, item in value.items():
        if "propertyNames" in schema:
            if fault := fault_of(name, schema["propertyNames"], f"{where}: name"):
                return fault
        if name not in known and more is False:
            return f"{where}: unknown field {_short(name)}"
        if fault := fault_of(item, known.get(name, more), f"{where}.{name[:64]}"):
            return fault
    return None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def parse_json(text: str | bytes, most: int = LARGEST_RESULT_BYTES) -> Any:
    """A JSON value; NaN and infinities, which JSON has not, are refused.

    Raises:
        ValueError: it is too long, or no JSON.
    """
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if len(data) > most:
        raise ValueError(f"expects at most {most} bytes of JSON, got {len(data)}")
    try:
        return json.loads(data.decode("utf-8"), parse_constant=_refuse)
    except (UnicodeDecodeError, RecursionError, ValueError) as error:
        raise ValueError(f"is no JSON: {error}") from None


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def read_result(text: str | bytes) -> Json:
    """A result from its JSON text, checked whole.

    Args:
        text: at most :data:`LARGEST_RESULT_BYTES`.

    Raises:
        ValueError: what is wrong first, by the name of the field.
    """
    value = parse_json(text)
    check_result(value)
    return dict(value)


def check_result(value: Any) -> None:
    """Raises ValueError, naming the field, unless the value is a result."""
    if fault := fault_of(value, RESULT) or _relations_fault(value):
        raise ValueError(fault)


def check_history_entry(value: Any) -> None:
    """Raises ValueError, naming the field, unless the value is an entry of the history."""
    if fault := fault_of(value, HISTORY_ENTRY, "entry"):
        raise ValueError(fault)


def _relations_fault(result: Json) -> str | None:
    """What no schema says: rows are unique and whole, and the status fits them."""
    cases = [row["case"] for row in result["rows"]]
    if len(set(cases)) != len(cases):
        return f"result.rows: expects each case once, got {_short(cases)}"
    for i, row in enumerate(result["rows"]):
        if TIME not in row["figures"]:
            return f"result.rows[{i}].figures: has no {TIME!r}"
        for name, figure in row["figures"].items():
            if figure["unit"] != UNITS[name]:
                return f"result.rows[{i}].figures.{name}.unit: expects {UNITS[name]!r}"
    gates = [f["gate"]["verdict"] for row in result["rows"] for f in row["figures"].values()]
    if result["status"] == "ok" and SLOWER in gates:
        return "result.status: expects 'regression', got 'ok'"
    if result["status"] == "regression" and SLOWER not in gates:
        return "result.status: 'regression' without a row that is slower"
    return None


def ordered_figures(row: Mapping[str, Any]) -> list[tuple[str, Json]]:
    """A row's figures in the order of the report, whatever their order in the JSON."""
    return [(name, row["figures"][name]) for name in FIGURES if name in row["figures"]]


def exit_status(result: Mapping[str, Any]) -> int:
    """The exit status that a result stands for.

    >>> exit_status({"status": "regression"})
    1
    """
    return STATUSES[result["status"]]


def main() -> None:
    """Prints the two schemas as JSON."""
    json.dump({"result": RESULT, "history": HISTORY_ENTRY}, sys.stdout, indent=1, sort_keys=True)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
