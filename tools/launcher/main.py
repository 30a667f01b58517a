"""The work of tools/bazel: set the machine up, then become the real Bazel."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import sys
from pathlib import Path

from tools.launcher import find_bazel, options, python_select, repositories
from tools.launcher.errors import LauncherError
from tools.launcher.find_bazel import Bazel

WORKSPACE = Path(__file__).resolve().parent.parent.parent

# Commands that compile, and so need a C++ compiler before anything else is fetched.
_COMPILING = ("build", "test", "run", "coverage")

# Only the cache folder is written to.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)

# How deep tools/bazel is inside itself: a program under `run` may call it again, but a `bazel` on
# PATH that does nothing else than call it would do so for ever.
_DEPTH = "ONEFLOW_BAZEL_DEPTH"
_DEEPEST = 8


def main(args: list[str]) -> int:
    """Runs Bazel with `args`; returns only on an error."""
    try:
        parsed = options.parse(args)
        if parsed.help:
            print(options.HELP, end="")
            return 0
        _become_bazel(parsed)
    except LauncherError as error:
        print(f"tools/bazel: {error}", file=sys.stderr)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        hint = "; see --of_cache" if error.errno in _NO_ROOM else ""
        print(f"tools/bazel: {where}{error.strerror or error}{hint}", file=sys.stderr)
    except KeyboardInterrupt:
        print("tools/bazel: interrupted", file=sys.stderr)
        return 130
    return 1


def _become_bazel(parsed: options.Options) -> None:
    given = os.environ.get(_DEPTH, "")
    depth = int(given) if given.isdecimal() else 0
    if depth >= _DEEPEST:
        raise LauncherError("the bazel on PATH only calls tools/bazel again; install a real one")
    if options.command_of(parsed.bazel_args) in _COMPILING:
        check_compiler()
    cache = cache_folder(parsed.cache)
    python = python_select.select(parsed.python or os.environ.get("ONEFLOW_PYTHON"))
    bazel = find_bazel.find(WORKSPACE)
    rc = write_rc(rc_lines(bazel, python, cache), cache)
    env = dict(os.environ, BAZELISK_SKIP_WRAPPER="true")
    env.pop("BAZEL_REAL", None)
    env[_DEPTH] = str(depth + 1)
    for name in ("PYTHONPATH", "PYTHONHOME"):
        env.pop(name, None)
    sys.stdout.flush()
    os.execve(bazel.path, ["bazel", f"--bazelrc={rc}", *parsed.bazel_args], env)


def check_compiler() -> None:
    """Raises LauncherError on a machine without a C++ compiler."""
    named = os.environ.get("CC")
    if named:
        if not shutil.which(named):
            raise LauncherError(f"CC={named} names no compiler on this machine")
        return
    if not (shutil.which("gcc") and shutil.which("g++")) and not shutil.which("clang++"):
        raise LauncherError(
            "no C++ compiler on this machine; install g++ 12 or newer (on Debian: apt-get install "
            "g++)"
        )


def cache_folder(given: str | None) -> Path:
    """The folder outside the checkout for downloads and build results; made if missing."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    folder = Path(given).expanduser().absolute() if given else Path(base) / "oneflow-bazel"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LauncherError(
            f"cannot make the cache folder {folder}: {error.strerror}; see --of_cache"
        ) from None
    return folder


def rc_lines(bazel: Bazel, python: Path, cache: Path) -> list[str]:
    """What this machine and this Bazel need beyond .bazelrc."""
    lines = [
        f"build --disk_cache={cache / 'disk'}",
        f"build --repo_env=ONEFLOW_PYTHON={python}",
        f"build --repo_env=ONEFLOW_BAZEL_CACHE={cache}",
    ]
    lines = [line.replace("build", command, 1) for line in lines for command in _commands_for(line)]
    if bazel.version < (5,):
        lines.append("build --nosandbox_debug")
    if bazel.version >= (7,):
        lines += ["common --noenable_bzlmod", "common --enable_workspace"]
    lines += [
        f"common --override_repository={name}={path}"
        for name, path in repositories.overrides(bazel, cache).items()
    ]
    return lines


def _commands_for(line: str) -> list[str]:
    # Repository rules run in queries too; a disk cache is an option of building commands only.
    return ["build", "query", "fetch", "sync"] if "--repo_env" in line else ["build"]


def write_rc(lines: list[str], cache: Path) -> Path:
    """Writes `lines` to an rc file named after their content, so that calls beside each other
    never clash.
    """
    text = "\n".join(lines) + "\n"
    file = cache / "rc" / (hashlib.sha256(text.encode()).hexdigest()[:16] + ".bazelrc")
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary = file.with_suffix(f".{os.getpid()}")
        try:
            temporary.write_text(text)
            os.replace(temporary, file)
        finally:
            temporary.unlink(missing_ok=True)
    return file
