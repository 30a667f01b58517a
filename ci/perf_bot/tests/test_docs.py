"""The comments that the docs show are what the bot makes of real results."""

from __future__ import annotations

from pathlib import Path

import pytest

from ci.perf_bot import schema
from ci.perf_bot.render import render

DOCS = Path("docs")


@pytest.mark.parametrize("name", ["own", "planted"])
def test_the_comment_is_rendered_from_its_result(name: str) -> None:
    result = schema.read_result((DOCS / "perf_bot" / f"{name}.json").read_bytes())
    assert result["started"] and render(result).strip() in (DOCS / "perf_bot.md").read_text()
