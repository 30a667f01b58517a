"""Finds the Bazel to run, or installs Debian's."""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tools.launcher.errors import LauncherError

# Debian's package sets no version in its 4.2.3.
_UNNAMED_VERSION = (4, 2, 3)


# Where Debian's packages keep Bazel's own files.
_DEBIAN_SHARE = Path("/usr/share/bazel")


@dataclasses.dataclass(frozen=True)
class Bazel:
    """A Bazel: how to call it, its version, and whether Debian packaged it.

    A bazelisk gives the version of .bazelversion.
    """

    path: str
    version: tuple[int, ...]
    from_debian: bool = False


def find(workspace: Path) -> Bazel:
    """The Bazel to run; on Debian it is installed if there is none.

    Order: what a launcher passed in BAZEL_REAL, a Bazel beside Debian's launcher, bazelisk, any
    `bazel` on PATH.
    """
    bazel = _search(workspace)
    if bazel is None and shutil.which("apt-get") and Path("/etc/debian_version").exists():
        _install_debian_package()
        bazel = _search(workspace)
    if bazel is None:
        raise LauncherError(
            "no Bazel on this machine; install bazelisk (it fetches the version in .bazelversion), "
            "or on Debian: apt-get install bazel-bootstrap"
        )
    return bazel


def parse_version(text: str) -> tuple[int, ...]:
    """The version in the output of `bazel --version`, such as `bazel 7.7.1` or Debian's `bazel
    no_version`.
    """
    match = re.search(r"(\d+)\.(\d+)\.(\d+)", text)
    return tuple(int(part) for part in match.groups()) if match else _UNNAMED_VERSION


def _search(workspace: Path) -> Bazel | None:
    real = os.environ.get("BAZEL_REAL", "")
    if real and os.access(real, os.X_OK):
        return _real(real)
    on_path = shutil.which("bazel")
    if on_path and _is_script(on_path):
        # Debian's launcher, which would call tools/bazel again; the real one lies beside it.
        on_path = _beside(Path(on_path).resolve().parent)
    if on_path and _is_debians(on_path):
        return _real(on_path)
    # A `bazel` that Debian did not package is taken for bazelisk; it would call tools/bazel again,
    # but for a variable that main.py sets.
    bazelisk = shutil.which("bazelisk") or on_path
    return Bazel(bazelisk, _wanted_version(workspace)) if bazelisk else None


def _real(path: str) -> Bazel:
    return Bazel(path, _version(path), from_debian=_is_debians(path))


def _is_debians(path: str) -> bool:
    in_place = Path(path).resolve().parent in (Path("/usr/bin"), Path("/bin"))
    return in_place and (_DEBIAN_SHARE / "A-server.jar").exists()


def _is_script(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(2) == b"#!"


def _beside(folder: Path) -> str | None:
    """The newest `bazel-VERSION` or `bazel-real` in `folder`."""
    found = [p for p in folder.glob("bazel-*") if re.fullmatch(r"bazel-(real|\d[\w.-]*)", p.name)]
    found = [p for p in found if os.access(p, os.X_OK) and p.is_file()]
    return str(max(found, key=lambda p: _version(str(p)))) if found else None


def _version(path: str) -> tuple[int, ...]:
    result = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise LauncherError(f"{path} --version failed: {result.stderr.strip()}")
    return parse_version(result.stdout)


def _wanted_version(workspace: Path) -> tuple[int, ...]:
    return parse_version((workspace / ".bazelversion").read_text())


def _install_debian_package() -> None:
    print("tools/bazel: installing Debian's bazel-bootstrap", file=sys.stderr)
    sudo = [] if os.geteuid() == 0 else ["sudo"]
    if sudo and not shutil.which("sudo"):
        raise LauncherError("no Bazel on this machine; as root: apt-get install bazel-bootstrap")
    install = ["apt-get", "install", "-y", "--no-install-recommends", "bazel-bootstrap"]
    for command in (["apt-get", "update"], install):
        env = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
        result = subprocess.run(
            sudo + command,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        if result.returncode != 0:
            tail = result.stdout.decode(errors="replace").strip().splitlines()[-1:]
            raise LauncherError(f"{' '.join(command)} failed: {' '.join(tail)}")
