"""Rule sets that Bazel would ask GitHub for, served from the Debian archive instead.

Only for Debian's own Bazel: one that bazelisk brought belongs to a machine with the open internet,
where WORKSPACE's addresses serve. How to move a pin: docs/bazel.md.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tools.launcher import debian
from tools.launcher.errors import LauncherError
from tools.launcher.find_bazel import Bazel


@dataclasses.dataclass(frozen=True)
class Package:
    """A Debian package that holds a rule set: `folder` inside it serves as the repository
    `name`.
    """

    name: str
    package: str
    suites: tuple[str, ...]
    sha256: str
    folder: str


RULES_PYTHON = Package(
    name="rules_python",
    package="bazel-rules-python",
    suites=("forky", "sid"),
    sha256="5be44630c1a93496442ef447193d8d8c00627260fb70f112770a40c1cb67ba7c",
    folder="usr/share/bazel/rules/python",
)

# What Bazel 4.2.3 loads by itself, in the versions of its own Debian release.
FOR_BAZEL_4 = (
    Package(
        name="rules_java",
        package="bazel-rules-java",
        suites=("bookworm",),
        sha256="0d05ed4e053d7c0d3ee0b4e77cdd93857d2757f34e031a8239323c8d0c218e18",
        folder="usr/share/bazel/rules/java",
    ),
    Package(
        name="rules_proto",
        package="bazel-rules-proto",
        suites=("bookworm",),
        sha256="adac2a0736ac8ea3a1e86b674c616ad76004b78a99765e6cc643aa4ba9c59e0b",
        folder="usr/share/bazel/rules/proto",
    ),
    Package(
        name="bazel_skylib",
        package="bazel-skylib",
        suites=("bookworm",),
        sha256="b7662103ceb16fedb2e348c0d6f18045eba656e3fe1e462ebcfd25efd2548db0",
        folder="usr/share/bazel/tools/skylib",
    ),
    Package(
        name="platforms",
        package="bazel-platforms",
        suites=("bookworm",),
        sha256="55424b0d6a8b5868b87445a820f2a4cb30b54d43824bab23fb8a96f5cc95da7f",
        folder="usr/share/bazel/tools/platforms",
    ),
)

STAND_INS = ("rules_cc", "remote_coverage_tools")

# What Bazel 7.7.1 loads by itself: its Debian package depends on the packages that hold them.
FOR_BAZEL_7 = {
    "bazel_features": "tools/features",
    "bazel_skylib": "tools/skylib",
    "platforms": "tools/platforms",
    "rules_cc": "rules/cc",
    "rules_java": "rules/java",
    "rules_license": "rules/license",
    "rules_proto": "rules/proto",
}
_DEBIAN_SHARE = Path("/usr/share/bazel")


def overrides(bazel: Bazel, cache: Path) -> dict[str, Path]:
    """The repositories to override for `bazel`, each with the folder that serves it."""
    if not bazel.from_debian:
        return {}
    found = {RULES_PYTHON.name: unpacked(RULES_PYTHON, cache)}
    if bazel.version < (5,):
        found.update({package.name: unpacked(package, cache) for package in FOR_BAZEL_4})
        found.update({name: stand_in(name, cache) for name in STAND_INS})
    else:
        installed = {name: _DEBIAN_SHARE / folder for name, folder in FOR_BAZEL_7.items()}
        found.update({name: path for name, path in installed.items() if path.is_dir()})
    return found


def unpacked(package: Package, cache: Path) -> Path:
    """The folder that serves `package`, fetched and unpacked at first use."""
    target = cache / "rules" / f"{package.name}-{package.sha256[:16]}"
    if not target.exists():
        if not shutil.which("dpkg-deb"):
            raise LauncherError(
                f"cannot unpack {package.package}: this machine has no dpkg-deb; use bazelisk "
                "instead"
            )
        deb = debian.fetch("binary", package.package, list(package.suites), package.sha256, cache)
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            result = subprocess.run(["dpkg-deb", "-x", str(deb), folder], check=False)
            if result.returncode != 0:
                raise LauncherError(f"cannot unpack {package.package} in {cache}")
            _publish(Path(folder) / package.folder, target)
    return target


def stand_in(name: str, cache: Path) -> Path:
    """A copy of the project's own stand-in for the repository `name`, outside the checkout so that
    clones share it.
    """
    source = Path(__file__).resolve().parent / "stand_ins" / name
    target = cache / "rules" / f"{name}-{_digest(source)}"
    if not target.exists():
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            copy = Path(folder) / name
            shutil.copytree(source, copy)
            for file in copy.rglob("*.template"):
                file.rename(file.with_suffix(""))
            _publish(copy, target)
    return target


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            digest.update(str(file.relative_to(folder)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def _publish(folder: Path, target: Path) -> None:
    """Moves `folder` to `target` in one step; whoever comes second keeps the first one's."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.rename(folder, target)
    except OSError:
        if not target.exists():
            raise
