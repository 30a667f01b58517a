"""Trims GitHub's description of its API to the calls that the bot makes.

    trim_openapi.py DESCRIPTION OUT

What it keeps is GitHub's own text. Prism reads the whole of a description at its start, and the
whole of GitHub's takes it a minute.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_REPOSITORY = "/repos/{owner}/{repo}"
CALLS = {
    "/issues/comments/{comment_id}": ("delete", "patch"),
    "/issues/{issue_number}/comments": ("get", "post"),
    "/issues/{issue_number}/labels": ("post",),
    "/issues/{issue_number}/labels/{name}": ("delete",),
    "/pulls": ("get",),
    "/statuses/{sha}": ("post",),
}


def trim(description: Mapping[str, Any]) -> dict[str, Any]:
    """The description of `CALLS` alone, with every component that they refer to.

    Raises:
        KeyError: a call is not described.
    """
    # Of the server's address only the path counts, and Prism looks for it in the paths.
    prefix = re.sub(r"^[^/]*//[^/]*", "", description["servers"][0]["url"])
    paths: dict[str, Any] = {}
    for path, methods in CALLS.items():
        known = description["paths"][_REPOSITORY + path]
        paths[prefix + _REPOSITORY + path] = {method: known[method] for method in methods}
    kept: dict[str, dict[str, Any]] = {}
    _keep(paths, description["components"], kept)
    return {
        "openapi": description["openapi"],
        "info": description["info"],
        "paths": paths,
        "components": kept,
    }


def prefix_of(trimmed: Mapping[str, Any]) -> str:
    """What stands before `/repos` in the paths of a trimmed description."""
    return str(next(iter(trimmed["paths"])).partition("/repos/")[0])


def _keep(part: Any, known: Mapping[str, Any], kept: dict[str, dict[str, Any]]) -> None:
    """Adds the components that a part refers to, and those that they refer to, to `kept`."""
    if isinstance(part, list):
        for item in part:
            _keep(item, known, kept)
    if not isinstance(part, dict):
        return
    reference = part.get("$ref")
    if isinstance(reference, str):
        kind, name = reference.removeprefix("#/components/").split("/", 1)
        if name not in kept.setdefault(kind, {}):
            kept[kind][name] = known[kind][name]
            _keep(known[kind][name], known, kept)
    for item in part.values():
        _keep(item, known, kept)


def main() -> None:
    """The script's entry; see the module's text."""
    source, out = map(Path, sys.argv[1:])
    text = source.read_text(encoding="utf-8")
    try:
        description = json.loads(text)
    except ValueError:
        # What the fetch left in its place says why.
        raise SystemExit(text[:1000]) from None
    out.write_text(json.dumps(trim(description), sort_keys=True), encoding="utf-8")


if __name__ == "__main__":
    main()
