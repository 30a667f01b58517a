"""Fetches one pinned package from the Debian archive that this machine already uses.

apt is given, for one call, a copy of the machine's own source entry with the suite replaced;
nothing is installed and no setting of the machine changes. Every file is checked against its
sha256, and kept in a folder under that name.

Repository rules call main() with these words:
    source PACKAGE SUITES SHA256 CACHE OUT      the upstream archive of a source package
    binary PACKAGE SUITES SHA256 CACHE OUT      a .deb
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.launcher.errors import LauncherError

_SOURCE_FILES = "/etc/apt"


def fetch(kind: str, package: str, suites: list[str], sha256: str, cache: Path) -> Path:
    """The file with this `sha256` that belongs to `package` in the first of `suites` that has it.

    `kind` is "source" (the package's upstream archive) or "binary" (its .deb). Raises LauncherError
    when no suite has it.
    """
    archive = cache / "archives" / sha256
    if archive.exists():
        return archive
    if not shutil.which("apt-get"):
        raise LauncherError(f"cannot fetch {package}: this machine has no apt-get")
    entry = source_entry(apt_sources())
    reasons = []
    for suite in suites:
        try:
            return _fetch_from(kind, package, suite, sha256, cache, entry)
        except LauncherError as error:
            reasons.append(f"{suite}: {error}")
    raise LauncherError(f"cannot fetch {package} ({'; '.join(reasons)})")


def apt_sources() -> str:
    """All apt source files of this machine, in deb822 form or one line each, as one text."""
    folder = Path(_SOURCE_FILES)
    files = [folder / "sources.list", *sorted((folder / "sources.list.d").glob("*"))]
    texts = [f.read_text() for f in files if f.suffix in (".list", ".sources") and f.is_file()]
    return "\n\n".join(texts)


def source_entry(text: str) -> dict[str, str]:
    """The address and key of the machine's main Debian archive: keys `uri`, `signed_by` (may be
    empty).

    Raises LauncherError when `text` names no Debian archive.
    """
    for stanza in re.split(r"\n\s*\n", text):
        fields = dict(re.findall(r"^([A-Za-z-]+):[ \t]*(.*?)[ \t]*$", stanza, re.M))
        uri = fields.get("URIs", "").split(" ")[0]
        if (
            "deb" in fields.get("Types", "").split()
            and _is_main_archive(uri)
            and fields.get("Enabled") != "no"
        ):
            return {"uri": uri, "signed_by": fields.get("Signed-By", "")}
    for line in text.splitlines():
        match = re.match(r"deb\s+(?:\[(.*?)\]\s+)?(\S+)\s+\S+\s+main\b", line)
        if match and _is_main_archive(match.group(2)):
            signed = re.search(r"signed-by=(\S+)", match.group(1) or "")
            return {"uri": match.group(2), "signed_by": signed.group(1) if signed else ""}
    raise LauncherError("apt's sources name no Debian archive")


def _is_main_archive(uri: str) -> bool:
    return re.search(r"/debian/?$", uri) is not None


def _fetch_from(
    kind: str, package: str, suite: str, sha256: str, cache: Path, entry: dict[str, str]
) -> Path:
    lists = cache / "apt" / f"{suite}-{kind}"
    options = _apt_options(lists, suite, kind, entry)
    action = ["download", package] if kind == "binary" else ["source", "--download-only", package]
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        # The lists take a second to fetch and are only read when an archive is missing from the
        # cache, so never reused.
        _apt([*options, "update"], folder)
        _apt([*options, *action], folder)
        for file in sorted(Path(folder).iterdir()):
            if hashlib.sha256(file.read_bytes()).hexdigest() == sha256:
                return keep(file, sha256, cache)
        names = ", ".join(sorted(p.name for p in Path(folder).iterdir()))
        raise LauncherError(f"none of {names} has sha256 {sha256}")


def keep(file: Path, sha256: str, cache: Path) -> Path:
    """Moves `file` into the cache of archives; safe beside another process that does the same."""
    archive = cache / "archives" / sha256
    archive.parent.mkdir(parents=True, exist_ok=True)
    os.replace(file, archive)
    return archive


def _apt_options(lists: Path, suite: str, kind: str, entry: dict[str, str]) -> list[str]:
    """apt options that read only the copied entry, with lists of their own."""
    parts = lists / "sources"
    (lists / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    parts.mkdir(parents=True, exist_ok=True)
    lines = [
        f"Types: {'deb' if kind == 'binary' else 'deb-src'}",
        f"URIs: {entry['uri']}",
        f"Suites: {suite}",
        "Components: main",
    ]
    if entry["signed_by"]:
        lines.append(f"Signed-By: {entry['signed_by']}")
    (parts / "copied.sources").write_text("\n".join(lines) + "\n")
    settings = {
        "Dir::Etc::sourcelist": "/dev/null",
        "Dir::Etc::sourceparts": str(parts),
        "Dir::State::Lists": str(lists / "lists"),
        "Dir::Cache::pkgcache": "",
        "Dir::Cache::srcpkgcache": "",
        "Acquire::Check-Valid-Until": "false",
        "APT::Sandbox::User": "",
        "Acquire::Languages": "none",
    }
    return [part for name, value in settings.items() for part in ("-o", f"{name}={value}")]


def _apt(arguments: list[str], folder: str) -> None:
    result = subprocess.run(
        ["apt-get", "-q", *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode != 0:
        lines = [
            line for line in (result.stderr + result.stdout).splitlines() if line.startswith("E:")
        ]
        raise LauncherError(
            "apt-get " + (lines[0] if lines else f"failed with status {result.returncode}")
        )


def main(args: list[str]) -> int:
    """Fetches one package; see the module's text for `args`. Returns the exit status."""
    kind, package, suites, sha256, cache, out = args
    try:
        Path(cache).mkdir(parents=True, exist_ok=True)
        shutil.copyfile(fetch(kind, package, suites.split(","), sha256, Path(cache)), out)
    except LauncherError as error:
        print(error, file=sys.stderr)
        return 1
    return 0
