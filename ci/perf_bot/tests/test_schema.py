"""The check of results that come from elsewhere: every field, every way of being wrong."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterator
from typing import Any

import pytest

from ci.perf_bot import record, schema
from ci.perf_bot.schema import BASE, BASE_AGAIN, HEAD, PYTORCH
from ci.perf_bot.tests.simulated import Simulated, case, run

Json = dict[str, Any]


@pytest.fixture(name="result", scope="module")
def fixture_result() -> Json:
    """A result with two rows and all figures."""
    costs = {BASE: 1.0, HEAD: 1.0, BASE_AGAIN: 1.0, PYTORCH: 1.2}
    cases = [case("a", input_shape=(16, 3, 224, 224)), case("b/1")]
    return record.result_of(run(cases, Simulated(costs)))


def text(value: Any) -> str:
    """As it lies in a file."""
    return json.dumps(value)


def paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values below this one."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        yield (*at, key)
        if isinstance(item, (dict, list)):
            yield from paths(item, (*at, key))


def changed(value: Json, path: tuple[Any, ...], new: Any) -> Json:
    """A copy with one value replaced, or removed when new is `...`."""
    found = copy.deepcopy(value)
    inner: Any = found
    for key in path[:-1]:
        inner = inner[key]
    if new is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = new
    return found


def test_a_result_passes_its_own_check(result: Json) -> None:
    assert schema.read_result(text(result)) == result
    assert schema.read_result(text(result).encode()) == result


HOSTILE = [True, -1, 1e300, "x" * 5000, "a\nb", [], {}, [[[]]], {"$ref": "#"}, "NaN"]


def test_every_field_of_a_wrong_type_is_refused(result: Json) -> None:
    """No value may take all of these; those that a field may take must leave a sound result."""
    for path in paths(result):
        taken = 0
        for new in HOSTILE:
            try:
                schema.read_result(text(changed(result, path, new)))
                taken += 1
            except ValueError as error:
                assert str(error)
        assert taken <= 4, path


def test_every_missing_and_every_unknown_field_is_refused(result: Json) -> None:
    maps = {"variants", "figures", "round_seconds"}
    for path in paths(result):
        inside_map = len(path) > 1 and path[-2] in maps
        if isinstance(path[-1], str) and not inside_map:
            with pytest.raises(ValueError, match=path[-1]):
                schema.read_result(text(changed(result, path, ...)))
            with pytest.raises(ValueError, match="surprise"):
                schema.read_result(text(changed(result, (*path[:-1], "surprise"), 1)))


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "[]",
        "null",
        "{",
        '"x"',
        "NaN",
        '{"schema": NaN}',
        "\x00",
        '{"a":' * 100_000,
        b"\xff\xfe",
        "[" * 100_000,
        "\ud800",
    ],
)
def test_what_is_no_result_is_refused(raw: str | bytes) -> None:
    with pytest.raises(ValueError):
        schema.read_result(raw)


def test_a_huge_file_is_refused_before_it_is_parsed() -> None:
    with pytest.raises(ValueError, match="at most 1048576 bytes"):
        schema.read_result("[" * (schema.LARGEST_RESULT_BYTES + 1))


@pytest.mark.parametrize(
    ("path", "new", "words"),
    [
        (("head", "commit"), "A" * 40, "head.commit"),
        (("head", "commit"), "a" * 39, "head.commit"),
        (("head", "commit"), "a" * 40 + "\n", "head.commit"),
        (("head", "time"), "2026-12-01", "head.time"),
        (("repository",), "http://example.org/o/r", "repository"),
        (("repository",), "https://example.org/o/r?x", "repository"),
        (("repository",), "https://user@example.org/o", "repository"),
        (("repository",), "javascript:alert(1)", "repository"),
        (("repeat",), "tools/bazel run //ci/perf_bot -- measure; rm -rf .", "repeat"),
        (("rows", 0, "repeat"), "curl x | sh", "repeat"),
        (("rows", 0, "case"), "a b", "case"),
        (("rows", 0, "figures", "time", "gate", "verdict"), "fine", "verdict"),
        (("rows", 0, "figures", "time", "gate", "p"), 1.5, "p"),
        (("rows", 0, "figures", "time", "unit"), "bytes", "unit"),
        (("rows", 0, "figures", "time", "variants", "head", "median"), 0, "median"),
        (("seed",), 1.0, "seed"),
        (("status",), "great", "status"),
        (("schema",), "oneflow-perf/2", "schema"),
    ],
)
def test_ranges_and_forms(result: Json, path: tuple[Any, ...], new: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        schema.read_result(text(changed(result, path, new)))


def test_rows_are_unique_whole_and_fit_the_status(result: Json) -> None:
    twice = changed(result, ("rows", 1, "case"), "a")
    timeless = changed(result, ("rows", 0, "figures", "time"), ...)
    gate = ("rows", 0, "figures", "time", "gate", "verdict")
    slow = changed(result, gate, "slower")
    claimed = changed(result, ("status",), "regression")
    for value, words in (
        (twice, "each case once"),
        (timeless, "'time'"),
        (slow, "'regression'"),
        (claimed, "without a row"),
    ):
        with pytest.raises(ValueError, match=words):
            schema.read_result(text(value))
    schema.read_result(text(changed(slow, ("status",), "regression")))


def test_numbers_that_json_has_not_are_never_written(result: Json) -> None:
    for _, item in ((p, v) for p, v in walk(result) if isinstance(v, float)):
        assert math.isfinite(item)


def walk(value: Any) -> Iterator[tuple[Any, Any]]:
    """All keys and values."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield key, item
        if isinstance(item, (dict, list)):
            yield from walk(item)


def test_exit_statuses_tell_all_apart() -> None:
    codes = list(schema.STATUSES.values())
    assert sorted(codes) == [0, 1, 3, 4, 5, 6, 7, 8]
    assert schema.exit_status({"status": "broken"}) == 5


def test_the_printed_schema_is_json_schema(capsys: pytest.CaptureFixture[str]) -> None:
    schema.main()
    printed = json.loads(capsys.readouterr().out)
    assert printed["result"]["additionalProperties"] is False
    assert set(printed["history"]["required"]) >= {"commit", "rows"}
    known = {
        "type", "enum", "anyOf", "properties", "required", "additionalProperties",
        "propertyNames", "maxProperties", "items", "maxItems", "minimum", "maximum", "maxLength",
        "pattern", "$schema", "title",
    }  # fmt: skip
    assert set(words(printed["result"])) | set(words(printed["history"])) <= known


def words(value: Json) -> Iterator[str]:
    """The words of a schema: keys, but not the names of fields."""
    for key, item in value.items():
        yield key
        inner = item.values() if key == "properties" else item if key == "anyOf" else [item]
        for one in inner if isinstance(item, (dict, list)) else ():
            if isinstance(one, dict):
                yield from words(one)


def test_a_history_entry_is_checked() -> None:
    with pytest.raises(ValueError, match="commit"):
        schema.check_history_entry({"schema": schema.HISTORY_SCHEMA})
