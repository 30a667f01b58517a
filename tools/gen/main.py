"""Reads the op table and writes what is generated from it.

Example: main.py --root=. --out=DIR op_defs functional bindings stubs reference -- ops/*.yaml
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.gen import doc, emit_bindings, emit_functional, emit_op_defs
from tools.gen.families import by_name
from tools.gen.table import Family, load_families
from tools.gen.yaml_lines import TableError

PARTS = ("op_defs", "functional", "bindings", "stubs", "reference")


def generate(part: str, families: Sequence[Family]) -> dict[str, str]:
    """The files of one part: name to content."""
    ordered = by_name(families)
    if part == "op_defs":
        return emit_op_defs.files(ordered)
    if part == "functional":
        return emit_functional.files(ordered)
    if part == "bindings":
        return emit_bindings.files(ordered)
    if part == "stubs":
        return {"_C.pyi": doc.stubs([row for family in ordered for row in family.rows])}
    return doc.reference(ordered)


def main(arguments: Sequence[str]) -> int:
    """Writes the parts that were asked for; 1 and one line of text when the table is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    parser.add_argument("--root", type=Path, help="paths in messages are relative to it")
    parser.add_argument("--part", action="append", choices=PARTS, required=True)
    parser.add_argument("files", type=Path, nargs="+")
    options = parser.parse_args(arguments)
    try:
        families = load_families(options.files, options.root)
        for part in options.part:
            for name, content in generate(part, families).items():
                (options.out / name).write_text(content, encoding="utf-8")
    except TableError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
