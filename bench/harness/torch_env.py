"""Finds a Python that has PyTorch, or makes one. PyTorch is no dependency of the project.

In this order: the flag, the environment variable ONEFLOW_BENCH_TORCH_PYTHON, a virtual environment
under the user's cache that an earlier call made, and else a new one there, filled by pip as pip is
configured on this machine. Whatever goes wrong, the answer is a reason, and the report says "n/a".

Safe to call from several processes at once: a lock file makes the others wait for the first.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

TORCH = "2.13.0"
VARIABLE = "ONEFLOW_BENCH_TORCH_PYTHON"
NONE = "none"
INSTALL_TIMEOUT_S = 1800.0
_PROBE = "import torch, numpy; print(torch.__version__)"


@dataclass(frozen=True)
class TorchPython:
    """An interpreter with PyTorch, or why there is none.

    Attributes:
        python: the interpreter; None when there is none.
        version: PyTorch's version.
        reason: why there is none, or how this one was found.
    """

    python: str | None
    version: str
    reason: str

    def label(self) -> str:
        """For the report."""
        return f"PyTorch {self.version}" if self.python else f"n/a ({self.reason})"


def find_torch(
    flag: str | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
    install: bool = True,
    cache: Path | None = None,
) -> TorchPython:
    """Finds or makes the interpreter.

    Args:
        flag: a path given by the user; "none" means to do without PyTorch.
        environ: where the variable is looked up.
        install: whether a virtual environment may be made.
        cache: the folder for it; by default under the user's cache.

    Returns:
        The interpreter or the reason; nothing is raised.
    """
    given = flag or environ.get(VARIABLE)
    if given == NONE:
        return TorchPython(None, "", "not asked for")
    if given:
        return _probe(given, "as given")
    folder = cache or default_cache(environ)
    home = folder / f"torch-{TORCH}-py{sys.version_info[0]}.{sys.version_info[1]}"
    python = home / "bin" / "python"
    try:
        if not install:
            return _probe(str(python), "found in the cache")
        return _locked_install(home, python)
    except OSError as error:
        return TorchPython(None, "", f"cannot use {folder}: {error.strerror}")


def default_cache(environ: Mapping[str, str]) -> Path:
    """The project's folder in the user's cache."""
    root = environ.get("XDG_CACHE_HOME") or os.path.join(environ.get("HOME", "/tmp"), ".cache")
    return Path(root) / "oneflow-bench"


def _locked_install(home: Path, python: Path) -> TorchPython:
    """Makes the environment unless a complete one is there; a mark tells complete from broken."""
    home.parent.mkdir(parents=True, exist_ok=True)
    mark = home / "complete"
    with open(home.with_suffix(".lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if mark.exists():
            return _probe(str(python), "found in the cache")
        shutil.rmtree(home, ignore_errors=True)
        print(f"bench: installing PyTorch {TORCH} into {home}", file=sys.stderr)
        for command in (
            [sys.executable, "-m", "venv", str(home)],
            [str(python), "-m", "pip", "install", "--quiet", f"torch=={TORCH}", "numpy"],
        ):
            if (fault := _run(command, INSTALL_TIMEOUT_S)[1]) is not None:
                return TorchPython(None, "", f"installing PyTorch failed: {fault}")
        mark.touch()
    return _probe(str(python), "installed")


def _probe(python: str, how: str) -> TorchPython:
    output, fault = _run([python, "-c", _PROBE], 120.0)
    if fault is not None:
        return TorchPython(None, "", f"{python}: {fault}")
    return TorchPython(python, output.strip(), how)


def _run(command: list[str], timeout_s: float) -> tuple[str, str | None]:
    """A command's output, and what went wrong: the last line it wrote to standard error."""
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout_s, env=env, check=False
        )
    except OSError as error:
        return "", error.strerror or "cannot be run"
    except subprocess.TimeoutExpired:
        return "", f"still running after {timeout_s:g} s"
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        return "", lines[-1] if lines else f"exit status {done.returncode}"
    return done.stdout, None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The option that names PyTorch's interpreter."""
    parser.add_argument(
        "--torch-python",
        metavar="PATH",
        help=f"a Python that has PyTorch, or {NONE!r}; else {VARIABLE}, else it is installed",
    )
