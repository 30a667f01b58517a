"""Renews docs/errors.md. Run it by `tools/bazel run //python/tests/errors:update`."""

from __future__ import annotations

import os
from pathlib import Path

from tests.errors import printed


def page() -> Path:
    """The page: in the checkout when run by Bazel for a person, else the copy that a test has."""
    root = os.environ.get("BUILD_WORKSPACE_DIRECTORY")
    here = Path(root) if root is not None else Path(__file__).absolute().parents[3]
    return here / "docs" / "errors.md"


if __name__ == "__main__":
    page().write_text(printed.document(printed.printed()))
    print("renewed docs/errors.md")
