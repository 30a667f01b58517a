"""docs/errors.md is what the cases print now; and every message names op, expectation and value."""

from __future__ import annotations

import re
import sys

import pytest
from tests.errors import printed
from tests.errors.cases import CASES, Case
from tests.errors.update import page

RENEW = (
    "docs/errors.md is not what is printed now; run `tools/bazel run //python/tests/errors:update`"
)


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return printed.printed()


def comparable(text: str) -> str:
    """Versions of Python mark different columns in what they print themselves."""
    return text if sys.version_info[:2] == (3, 11) else printed.without_carets(text)


def test_the_page_is_what_is_printed(texts: dict[str, str]) -> None:
    now = comparable(printed.document(texts)).splitlines()
    then = comparable(page().read_text()).splitlines()
    assert now == then, RENEW


def check_form(case: Case, text: str) -> None:
    """The message begins with an op in brackets and says what it expects and what it got."""
    errors = re.findall(r"^[\w.]+(?:Error|Interrupt)(?:: .*)?$", text, flags=re.MULTILINE)
    assert errors, text
    form = r"\w[\w.]*: \[\w+\] .*\bexpects\b.*\b(?:got|but)\b.*"
    if case.other_form:
        assert not any(re.match(form, error) for error in errors), f"it has the form: {errors}"
    else:
        assert re.match(form, errors[-1]), f"expects ..., got ...? {errors[-1]}"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_a_message_names_op_expectation_and_value(case: Case, texts: dict[str, str]) -> None:
    check_form(case, texts[case.title])


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 25
    assert len({case.title for case in CASES}) == len(CASES)


@pytest.mark.parametrize(
    "text",
    [
        "ValueError: expects 1, got 2\n",  # no op
        "ValueError: [add] got 2\n",  # no expectation
        "ValueError: [add] expects 1\n",  # no value
        "no error at all\n",
    ],
)
def test_control_of_the_form(text: str) -> None:
    with pytest.raises(AssertionError):
        check_form(Case("", ""), text)


def test_control_of_the_page(texts: dict[str, str]) -> None:
    """Another message, and another line at fault, change the page."""
    title = CASES[0].title
    for old, new in (("broadcast", "fit"), ("line 5", "line 6")):
        assert old in texts[title]
        changed = {**texts, title: texts[title].replace(old, new)}
        with pytest.raises(AssertionError, match="update"):
            test_the_page_is_what_is_printed(changed)
    with pytest.raises(AssertionError):
        check_form(CASES[0]._replace(other_form="none"), texts[title])
