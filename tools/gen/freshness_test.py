"""The committed reference page and stubs are what the op table gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.gen import update

WANTED = update.contents(Path())


@pytest.mark.parametrize("path", sorted(WANTED))
def test_committed_file_is_fresh(path: str) -> None:
    committed = Path(path).read_text(encoding="utf-8") if Path(path).exists() else ""
    assert committed == WANTED[path], (
        f"{path} is older than the op table; run tools/bazel run //tools/gen:update"
    )


def test_a_stale_file_would_be_noticed(tmp_path: Path) -> None:
    rows = tmp_path / "oneflow/functional/ops"
    rows.mkdir(parents=True)
    for source in sorted(Path("oneflow/functional/ops").glob("*.yaml")):
        text = source.read_text(encoding="utf-8").replace("Multiplies two tensors", "Muls tensors")
        (rows / source.name).write_text(text, encoding="utf-8")
    page = "docs/reference/ops/elementwise.md"
    assert update.contents(tmp_path)[page] != WANTED[page]
