"""Which layer of oneflow/ may use which; the list is tools/layers.txt."""

from __future__ import annotations

import ast
import dataclasses
import re
from pathlib import Path

TOP = "oneflow"


@dataclasses.dataclass(frozen=True)
class Layer:
    """One layer: its folder below oneflow/, its height, and who may use it (everyone above, if
    `users` is empty).
    """

    name: str
    height: int
    users: tuple[str, ...] = ()
    open_to_tests: bool = False


@dataclasses.dataclass(frozen=True)
class Use:
    """A file or target of `folder` that uses something of `used` (both below oneflow/)."""

    where: str
    folder: str
    used: str
    from_test: bool = False


def parse(text: str) -> list[Layer]:
    """The layers in the text of layers.txt, lowest first; siblings have the same height."""
    layers: list[Layer] = []
    lines = [line.partition("#")[0].strip() for line in text.splitlines()]
    for height, line in enumerate(filter(None, lines)):
        names, _, users = line.partition("<")
        words = names.split()
        braces = re.fullmatch(r"(.*)\{(.*)\}", words[0])
        folders = [braces[1] + n for n in braces[2].split(",")] if braces else [words[0]]
        for folder in folders:
            layers.append(Layer(folder, height, tuple(users.split()), "tests" in words[1:]))
    return layers


def layer_of(folder: str, layers: list[Layer]) -> Layer | None:
    """The layer that holds `folder` (below oneflow/): the longest that is a prefix of it."""
    holders = [layer for layer in layers if (folder + "/").startswith(layer.name + "/")]
    return max(holders, key=lambda layer: len(layer.name), default=None)


def problem(use: Use, layers: list[Layer]) -> str | None:
    """What is wrong with `use`, or None."""
    user, used = layer_of(use.folder, layers), layer_of(use.used, layers)
    if user is None or used is None:
        missing = use.folder if user is None else use.used
        return f"{use.where}: {TOP}/{missing} is in no layer of tools/layers.txt"
    if user == used or (use.from_test and used.open_to_tests):
        return None
    if used.users and user.name not in used.users:
        return f"{use.where}: only {', '.join(used.users)} may use {used.name}, not {user.name}"
    if used.height == user.height:
        return f"{use.where}: {user.name} and {used.name} are siblings"
    if used.height > user.height:
        return f"{use.where}: {user.name} goes up to {used.name}"
    return None


def includes(path: str, text: str) -> list[Use]:
    """Includes of oneflow's own headers in a C++ file at `path`, which begins with oneflow/."""
    folder = str(Path(path).parent.relative_to(TOP))
    from_test = bool(re.search(r"_test\.cc$|_testlib\.(cc|h)$|_benchmark\.cc$", path))
    uses = []
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*[<"]([^">]+)[">]', line)
        if not match:
            continue
        where = f"{path}:{number}"
        if ".." in match[1].split("/"):
            uses.append(Use(f"{where}: an include with '..'", folder, match[1]))
        elif match[1].startswith(TOP + "/"):
            used = str(Path(match[1]).parent.relative_to(TOP))
            uses.append(Use(where, folder, used, from_test))
    return uses


def dependencies(path: str, text: str) -> list[Use]:
    """Labels of oneflow's own packages that the BUILD file at `path` uses, visibility aside."""
    folder = str(Path(path).parent.relative_to(TOP))
    uses = []
    for statement in ast.parse(text).body:
        for call in [node for node in ast.walk(statement) if isinstance(node, ast.Call)]:
            if isinstance(call.func, ast.Name) and call.func.id not in ("load", "package"):
                uses += _labels_of(call, call.func.id, path, folder)
    return uses


def _labels_of(call: ast.Call, rule: str, path: str, folder: str) -> list[Use]:
    words = {k.arg: k.value for k in call.keywords}
    from_test = rule.endswith(("_test", "_benchmark")) or "testonly" in words
    uses = []
    for name, value in words.items():
        if name in ("visibility", "name", "tags", "load"):
            continue
        for node in ast.walk(value):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                match = re.match(rf"(?:@oneflow)?//{TOP}/([^:]*)", node.value)
                if match:
                    uses.append(Use(f"{path}:{node.lineno}", folder, match[1], from_test))
    return uses
