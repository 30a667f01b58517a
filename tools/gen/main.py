"""Reads the op table and writes what is generated from it.

Example: main.py --root=. --out=DIR op_defs functional bindings stubs reference -- ops/*.yaml
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.gen import doc, emit_bindings, emit_functional, emit_op_defs
from tools.gen.table import Row, load_table
from tools.gen.yaml_lines import TableError

PARTS = ("op_defs", "functional", "bindings", "stubs", "reference")


def generate(part: str, families: dict[str, list[Row]]) -> dict[str, str]:
    """The files of one part: name to content."""
    rows = [row for family in families.values() for row in family]
    table = {row.name: row for row in rows}
    if part == "op_defs":
        return {"op_defs.h": emit_op_defs.header(rows), "op_defs.cc": emit_op_defs.source(rows)}
    if part == "functional":
        files = {
            "functional.h": emit_functional.header(rows),
            "functional_ops.h": emit_functional.ops_header(rows),
        }
        for family, members in families.items():
            files[f"functional_{family}.cc"] = emit_functional.source(members, table)
        return files
    if part == "bindings":
        return {"bindings.cc": emit_bindings.source(rows)}
    if part == "stubs":
        return {"_C.pyi": doc.stubs(rows)}
    return {"ops.md": doc.reference(families)}


def load_families(paths: Sequence[Path], root: Path | None) -> dict[str, list[Row]]:
    """Checks the table as one, and gives its rows by file."""
    ordered = sorted(paths, key=lambda p: p.name)
    rows = load_table(ordered, root)
    by_file: dict[str, list[Row]] = {p.stem: [] for p in ordered}
    for row in rows:
        by_file[Path(row.source.file).stem].append(row)
    return by_file


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
