"""YAML whose mappings know the line of each of their keys, for messages that say file:line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

# libyaml's parser where the package has it: the table is long, and every part reads it.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CONSTRUCTOR = yaml.SafeLoader("")


class TableError(Exception):
    """What is wrong with the op table; the text begins with file:line."""

    def __init__(self, where: str, message: str) -> None:
        super().__init__(f"{where}: {message}")


class Node(dict[str, Any]):
    """A mapping with the place of itself and of each key."""

    file: str
    line: int
    key_lines: dict[str, int]

    def where(self, key: str | None = None) -> str:
        """`file:line` of the mapping, or of one of its keys."""
        return f"{self.file}:{self.key_lines.get(key or '', self.line)}"


def load(path: Path, shown_as: str) -> Any:
    """Reads one YAML file. TableError for text that is no YAML, or repeats a key."""
    try:
        root = yaml.compose(path.read_text(encoding="utf-8"), Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 1
        problem = getattr(error, "problem", None) or str(error)
        raise TableError(f"{shown_as}:{line}", f"not YAML: {problem}") from error
    return None if root is None else _convert(root, shown_as)


def _convert(node: yaml.Node, file: str) -> Any:
    if isinstance(node, yaml.SequenceNode):
        return [_convert(item, file) for item in node.value]
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, file)
    return _CONSTRUCTOR.construct_object(node, deep=True)


def _mapping(node: yaml.MappingNode, file: str) -> Node:
    out = Node()
    out.file = file
    out.line = node.start_mark.line + 1
    out.key_lines = {}
    for key_node, value in node.value:
        key = str(key_node.value)
        line = key_node.start_mark.line + 1
        if key in out:
            raise TableError(f"{file}:{line}", f"`{key}` is given twice")
        out.key_lines[key] = line
        out[key] = _convert(value, file)
    return out
