"""Unpacked wheels of earlier builds, which serve again.

An entry is named by all that its wheel was built from here, and holds a manifest: the digest of
every file, compiled modules included. An entry serves only if each file is the manifest's and there
is no other one; else it is built anew. That finds what was cut off, changed or put there by
accident. It cannot find what a program of the same user forged, manifest and all: where strangers'
code has run, nothing serves again (`may_reuse`).
"""

from __future__ import annotations

import compileall
import hashlib
import json
import os
import platform
import shutil
import stat
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

FORMAT = 2  # of an entry
KEPT = 12  # entries; those that served last
_MANIFEST, _SITE = "manifest.json", "site"


def may_reuse(environ: Mapping[str, str]) -> bool:
    """Whether what an earlier run left may serve: not in a workflow of GitHub, whose machine may
    have run any pull request's code before.

    >>> may_reuse({}), may_reuse({"GITHUB_ACTIONS": "true"})
    (True, False)
    """
    return environ.get("GITHUB_ACTIONS", "") != "true"


def name_of(commit: str, tree: str, target: str, flags: Sequence[str]) -> str:
    """The name of an entry.

    Args:
        commit, tree: of git, 40 digits each.
        target: of Bazel.
        flags: of the build.

    >>> name_of("a" * 40, "b" * 40, "//x", []) == name_of("a" * 40, "b" * 40, "//x", ["--jobs=2"])
    False
    """
    here = [sys.implementation.cache_tag, sys.version, platform.machine(), *platform.libc_ver()]
    text = json.dumps([FORMAT, commit, tree, target, list(flags), here])
    return f"{commit[:12]}-{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def private(folder: Path) -> None:
    """Makes a folder that only this user can have written to.

    Raises:
        OSError: it is there already, and others can write to it.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.stat()
    if found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise PermissionError(f"expects a folder that only this user can write to, got {folder}")


def find(folder: Path, name: str) -> Path | None:
    """The site of an entry that may serve; None, and no entry left, where it is not whole."""
    home = folder / name
    try:
        wanted = json.loads((home / _MANIFEST).read_bytes())
        whole = wanted == manifest_of(home / _SITE)
    except (OSError, ValueError):
        whole = False
    if not whole:
        remove(home)
        return None
    os.utime(home)
    return home / _SITE


def store(folder: Path, name: str, wheel: Path) -> Path:
    """Unpacks a wheel as an entry; its site. The entry appears whole or not at all.

    Raises:
        OSError: it cannot be written.
        zipfile.BadZipFile: the wheel is none.
    """
    private(folder)
    made = Path(tempfile.mkdtemp(prefix="new-", dir=folder))
    try:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(made / _SITE)
        # Now, so that the first process that imports it neither is slower nor writes there.
        compileall.compile_dir(made / _SITE, quiet=2)
        manifest = manifest_of(made / _SITE)
        (made / _MANIFEST).write_text(json.dumps(manifest, sort_keys=True), encoding="utf-8")
        remove(folder / name)
        made.rename(folder / name)
    except BaseException:
        remove(made)
        raise
    _forget(folder, KEPT)
    return folder / name / _SITE


def manifest_of(site: Path) -> dict[str, str]:
    """The digest of each file below a folder.

    Raises:
        ValueError: something there is neither file nor folder, or its name is no text.
        OSError: it cannot be read.
    """
    found = {}
    for top, folders, files in os.walk(site, onerror=_raise):
        for name in [*folders, *files]:
            path = Path(top, name)
            mode = path.lstat().st_mode
            if stat.S_ISREG(mode):
                with open(path, "rb") as file:
                    digest = hashlib.sha256()
                    while block := file.read(1 << 20):
                        digest.update(block)
                found[str(path.relative_to(site))] = digest.hexdigest()
            elif not stat.S_ISDIR(mode):
                raise ValueError(f"{path} is no plain file")
    return found


def _raise(error: OSError) -> None:
    raise error


def _forget(folder: Path, kept: int) -> None:
    """Removes the entries that have not served for longest."""
    entries = [path for path in folder.iterdir() if path.is_dir()]
    entries.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in entries[kept:]:
        remove(path)


def remove(folder: Path) -> None:
    """Removes a folder, read-only ones inside it too.

    Raises:
        OSError: something of it is still there.
    """
    if folder.is_symlink() or folder.is_file():
        folder.unlink()
        return
    for top, folders, _ in os.walk(folder):
        for name in folders:
            path = Path(top, name)
            if not path.is_symlink():
                path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        raise PermissionError(f"{folder} cannot be removed")
