"""Rules for source text that no off-the-shelf linter knows. Each is a function from (path, text)
to problems.
"""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

LONGEST_FILE = 600
LONGEST_FUNCTION = 60
LONGEST_README = 20
DEEPEST = 3
PROCESS_END = "oneflow/lifetime/end_process.cc"

# Made by programs, and read by nobody from top to bottom.
_GENERATED = re.compile(r"\.lock$|\.pyi$|\.json$|^docs/(?:reference/|errors\.md$)|^LICENSE$")

_CPP = (".h", ".cc", ".cu", ".cuh")


@dataclasses.dataclass(frozen=True)
class Forbidden:
    """A pattern that may appear only in the files that match `allowed`."""

    pattern: str
    why: str
    allowed: str
    files: str


def file_length(path: str, text: str) -> Iterable[str]:
    """No file is longer than 600 lines, except generated ones."""
    lines = text.count("\n")
    if lines > LONGEST_FILE and not _GENERATED.search(path):
        yield f"{path}: {lines} lines, at most {LONGEST_FILE}"


def function_length(path: str, text: str) -> Iterable[str]:
    """No Python function is longer than 60 lines, its docstring included."""
    if not path.endswith(".py"):
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > LONGEST_FUNCTION:
                yield f"{path}:{node.lineno}: {node.name} has {lines} lines, at most 60"


def header_guard(path: str, text: str) -> Iterable[str]:
    """A C++ header is guarded by ONEFLOW_<PATH>_H_."""
    if not path.endswith((".h", ".cuh")) or not path.startswith("oneflow/"):
        return
    guard = re.sub(r"[^A-Z0-9]", "_", path.upper()) + "_"
    if f"#ifndef {guard}\n#define {guard}\n" not in text:
        yield f"{path}: has no guard {guard}"


def readme_length(path: str, text: str) -> Iterable[str]:
    """A folder's README of oneflow/ has at most 20 lines."""
    if re.match(r"oneflow/.*README\.md$", path) and text.count("\n") > LONGEST_README:
        yield f"{path}: {text.count(chr(10))} lines, at most {LONGEST_README}"


def folders_without_readme(paths: Iterable[str]) -> Iterable[str]:
    """Each folder of oneflow/ that holds files has a README. Looks at the whole checkout."""
    known = set(paths)
    for folder in sorted({str(Path(path).parent) for path in known if path.startswith("oneflow/")}):
        if f"{folder}/README.md" not in known:
            yield f"{folder}: has no README.md"


def depth(path: str, text: str) -> Iterable[str]:
    """No folder is more than 3 deep below oneflow/."""
    parts = Path(path).parts
    if parts[0] == "oneflow" and len(parts) - 2 > DEEPEST:
        yield f"{path}: {len(parts) - 2} folders below oneflow/, at most {DEEPEST}"


def process_ends(texts: Mapping[str, str]) -> Iterable[str]:
    """The one place that may end the process does so once. Looks at the whole checkout;
    forbidden.txt keeps such calls out of every other file.
    """
    calls = len(re.findall(r"\b_exit\(", strip_cpp(texts.get(PROCESS_END, ""))))
    if calls != 1:
        yield f"{PROCESS_END}: {calls} calls of _exit, exactly 1"


def forbidden(rules: list[Forbidden]) -> Callable[[str, str], Iterable[str]]:
    """The rule that rejects what `rules` forbid; comments and strings of C++ do not count as
    code.
    """

    def check(path: str, text: str) -> Iterable[str]:
        code = strip_cpp(text) if path.endswith(_CPP) else text
        for rule in rules:
            if not re.search(rule.files, path) or re.search(rule.allowed, path):
                continue
            for match in re.finditer(rule.pattern, code):
                line = code.count("\n", 0, match.start()) + 1
                yield f"{path}:{line}: {match[0].strip()}: {rule.why}"

    return check


def strip_cpp(text: str) -> str:
    """`text` without C++ comments and the content of strings; line numbers stay."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)

    def blank(match: re.Match[str]) -> str:
        return '""' if match[0].startswith('"') else "\n" * match[0].count("\n")

    return pattern.sub(blank, text)


def parse_forbidden(text: str) -> list[Forbidden]:
    """The rules in the text of forbidden.txt: four lines each, `files`, `allowed`, `pattern`,
    `why`.
    """
    rules = []
    for block in re.split(r"\n\s*\n", re.sub(r"^#.*\n", "", text, flags=re.M).strip()):
        fields = dict(line.split(": ", 1) for line in block.splitlines())
        rules.append(Forbidden(**fields))
    return rules


def all_rules(forbidden_text: str) -> list[Callable[[str, str], Iterable[str]]]:
    """Every rule, with the forbidden words of forbidden.txt's text."""
    words = forbidden(parse_forbidden(forbidden_text))
    return [file_length, function_length, header_guard, readme_length, depth, words]
