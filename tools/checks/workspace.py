"""The files of the checkout that checks look at."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_SKIPPED = {".git", ".mypy_cache", ".ruff_cache", ".pytest_cache", "__pycache__"}


def root() -> Path:
    """The checkout. In a Bazel test that is where the link to WORKSPACE ends; under `bazel run`,
    $BUILD_WORKSPACE_DIRECTORY.
    """
    given = os.environ.get("BUILD_WORKSPACE_DIRECTORY")
    if given:
        return Path(given)
    return (Path.cwd() / "WORKSPACE").resolve().parent


def files(top: Path, suffixes: tuple[str, ...] = ()) -> list[Path]:
    """Files below `top` that git knows or would add, as relative paths; all of them where there is
    no git.

    `suffixes` keeps only names that end in one of them.
    """
    command = ["git", "-c", "safe.directory=*", "ls-files", "-co", "--exclude-standard", "-z"]
    try:
        result = subprocess.run(command, cwd=top, capture_output=True, check=True, text=True)
        names = sorted(set(result.stdout.split("\0")) - {""})
    except (OSError, subprocess.CalledProcessError):
        names = _walk(top)
    found = [Path(name) for name in names if not suffixes or name.endswith(suffixes)]
    return [path for path in found if (top / path).is_file() and not (top / path).is_symlink()]


def _walk(top: Path) -> list[str]:
    names = []
    for folder, folders, entries in os.walk(top):
        folders[:] = [f for f in folders if f not in _SKIPPED and not f.startswith("bazel-")]
        names += [os.path.relpath(os.path.join(folder, entry), top) for entry in entries]
    return sorted(names)
