"""Finds the interpreter that the build uses: one of 3.10 to 3.13, on PATH or in pyenv."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from tools.launcher.errors import LauncherError

OLDEST = (3, 10)
NEWEST = (3, 13)

# The base interpreter, so that a virtual environment that happens to be active does not leak into
# the build.
_ASK = (
    "import sys;"
    "print('%d.%d' % sys.version_info[:2], getattr(sys, '_base_executable', sys.executable))"
)


def select(wanted: str | None) -> Path:
    """The interpreter for `wanted`: "3.12", "3.12.1", a path, or None for the default.

    The default is the first `python3` on PATH that is new enough, then the newest that PATH or
    pyenv has.
    """
    if wanted and "/" in wanted:
        return _checked(Path(wanted).expanduser(), wanted)
    if wanted:
        return _by_version(wanted)
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        found = _ask(Path(folder) / "python3")
        if found and OLDEST <= found[0] <= NEWEST:
            return found[1]
    for minor in range(NEWEST[1], OLDEST[1] - 1, -1):
        candidate = _candidate(f"3.{minor}")
        if candidate:
            return candidate
    raise LauncherError(
        "no Python 3.10 to 3.13 on PATH or in pyenv; install one, or give its path: "
        "--of_python=PATH"
    )


def _by_version(wanted: str) -> Path:
    if not re.fullmatch(r"3\.\d+(\.\d+)?", wanted):
        raise LauncherError(
            f"--of_python expects a version such as 3.12, or a path with a slash; got {wanted}"
        )
    minor = int(wanted.split(".")[1])
    if not OLDEST <= (3, minor) <= NEWEST:
        raise LauncherError(f"--of_python expects 3.10 to 3.13, got {wanted}")
    candidate = _candidate(wanted)
    if candidate is None:
        raise LauncherError(
            f"no Python {wanted} on PATH or in pyenv; install it, or give its path: "
            "--of_python=PATH"
        )
    return candidate


def _candidate(wanted: str) -> Path | None:
    """The interpreter of version `wanted` on PATH, else the newest such one of pyenv."""
    short = tuple(int(part) for part in wanted.split(".")[:2])
    if wanted.count(".") == 1:
        for name in (f"python{wanted}", "python3"):
            on_path = shutil.which(name)
            found = _ask(Path(on_path)) if on_path else None
            if found and found[0] == short:
                return found[1]
    for folder in _pyenv_versions(wanted):
        found = _ask(folder / "bin" / "python3")
        if found and found[0] == short:
            return found[1]
    return None


def _pyenv_versions(wanted: str) -> list[Path]:
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    folders = [
        f for f in root.glob(f"{wanted}*") if f.name == wanted or f.name.startswith(wanted + ".")
    ]
    return sorted(folders, key=lambda f: [int(n) for n in re.findall(r"\d+", f.name)], reverse=True)


def _ask(path: Path) -> tuple[tuple[int, int], Path] | None:
    """The version and the real path of the interpreter at `path`, or None if it does not start."""
    if not os.access(path, os.X_OK):
        return None
    result = subprocess.run(
        [str(path), "-E", "-s", "-c", _ASK], capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        return None
    version, executable = result.stdout.strip().split(" ", 1)
    major, minor = version.split(".")
    return (int(major), int(minor)), Path(executable)


def _checked(path: Path, wanted: str) -> Path:
    found = _ask(path)
    if found is None:
        raise LauncherError(f"--of_python: {wanted} is no Python interpreter")
    if not OLDEST <= found[0] <= NEWEST:
        raise LauncherError(
            f"--of_python expects 3.10 to 3.13, got {wanted}, which is {found[0][0]}.{found[0][1]}"
        )
    return found[1]
