"""Renews what is committed of the op table: docs/reference/ops/ and python/oneflow/_C.pyi.

Run it by `tools/bazel run //tools/gen:update`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tools.gen.main import generate
from tools.gen.table import load_families
from tools.gen.yaml_lines import TableError

COMMITTED = {"reference": "docs/reference/ops", "stubs": "python/oneflow"}


def contents(root: Path) -> dict[str, str]:
    """What the committed files should hold: path below `root` to text."""
    families = load_families(sorted((root / "oneflow/functional/ops").glob("*.yaml")), root)
    return {
        f"{folder}/{name}": text
        for part, folder in COMMITTED.items()
        for name, text in generate(part, families).items()
    }


def main() -> int:
    """Writes the files that differ, and says which."""
    root = Path(os.environ.get("BUILD_WORKSPACE_DIRECTORY", "."))
    try:
        wanted = contents(root)
    except TableError as error:
        print(error, file=sys.stderr)
        return 1
    for path, text in wanted.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")
            print(f"renewed {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
