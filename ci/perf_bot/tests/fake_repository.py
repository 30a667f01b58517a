"""A git repository whose `tools/bazel` packs a fake library in a moment, for tests of the edge."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

# A stand-in for tools/bazel: `build` zips library.py, or fails when a file called BROKEN is there.
_BAZEL = """#!/usr/bin/env python3
import pathlib, sys, time, zipfile
assert sys.argv[1].startswith("--output_base=/")
if sys.argv[2] == "build":
    print("a line of the log", flush=True)
    if pathlib.Path("SLEEPS").exists():
        time.sleep(600.0)
    if pathlib.Path("BROKEN").exists():
        sys.exit("library.cc:3: error: expected ';' before '}' token")
    dist = pathlib.Path("bazel-bin/python/dist")
    dist.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(dist / "oneflow-0.1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("oneflow/__init__.py", pathlib.Path("library.py").read_text())
"""
_WHO = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
_WHO |= {f"GIT_{role}_NAME": "a" for role in ("AUTHOR", "COMMITTER")}
_WHO |= {f"GIT_{role}_EMAIL": "a@example.org" for role in ("AUTHOR", "COMMITTER")}


class FakeRepository:
    """A repository in a folder; each commit has a library of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self._git("init", "--quiet", "--initial-branch=main")
        (folder / "tools").mkdir()
        bazel = folder / "tools" / "bazel"
        bazel.write_text(_BAZEL, encoding="utf-8")
        bazel.chmod(0o755)

    def commit(self, subject: str, extra: Mapping[str, str] | None = None, **values: object) -> str:
        """Commits a library with these constants; returns its 40 digits.

        Args:
            subject: of the commit.
            extra: further files, such as BROKEN.
            **values: constants, over COST=0.01, FIRST=0.02, MEMORY=64 MiB.
        """
        known: dict[str, object] = {"COST": 0.01, "FIRST": 0.02, "MEMORY": 64 << 20}
        text = "".join(f"{name} = {value!r}\n" for name, value in {**known, **values}.items())
        for path in self.folder.glob("[A-Z]*"):
            path.unlink()
        for name, content in {"library.py": text, **(extra or {})}.items():
            (self.folder / name).write_text(content, encoding="utf-8")
        self._git("add", "-A")
        self._git("commit", "--quiet", "--allow-empty", "-m", subject)
        return self._git("rev-parse", "HEAD")

    def _git(self, *words: str) -> str:
        command = ["git", "-C", str(self.folder), *words]
        env = {**os.environ, **_WHO}
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        return done.stdout.strip()
