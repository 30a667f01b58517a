"""Prism between a client and a server: compares every call and answer with a description."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import threading
import urllib.error
import urllib.request
from pathlib import Path

_READY = re.compile(r"Prism is listening on (http://\S+)")
# A call or an answer that breaks the description ends in an error; an answer 429 or 502, which
# GitHub describes nowhere, is a warning; a server that hangs up breaks no description.
_BROKEN = re.compile(r"\] (.*)Request terminated with error: (?!FetchError)(.*)")
_FENCE = "/fence-"
_SECONDS = 60.0  # that its start may take


class Prism:
    """A context manager, used by one thread."""

    def __init__(self, description: Path, upstream: str) -> None:
        node, program = (
            str(Path(os.environ[n]).resolve()) for n in ("ONEFLOW_NODE", "ONEFLOW_PRISM")
        )
        self._command = [node, program, "proxy", str(description), upstream, "--errors"]
        self._command += ["--host=127.0.0.1", "--port=0"]
        self.address = ""
        self._broken: list[str] = []
        self._fences = 0
        self._lines: list[str] = []
        self._ready = threading.Event()
        self._news = threading.Condition()

    def __enter__(self) -> Prism:
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ | {"NO_COLOR": "1", "FORCE_COLOR": "0"},
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if not self._ready.wait(_SECONDS) or not self.address:
            self.__exit__()
            raise RuntimeError("prism did not start: " + "".join(self._lines))
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()

    def take_broken(self) -> list[str]:
        """What broke the description since the last call of this, in words."""
        # Its log comes later than its answers: one more error, that is known, ends the list.
        fence = f"{_FENCE}{self._fences}"
        self._fences += 1
        with contextlib.suppress(urllib.error.HTTPError):
            urllib.request.urlopen(self.address + fence, timeout=_SECONDS)
        with self._news:
            there = lambda: any(f"{fence} " in text for text in self._broken)  # noqa: E731
            if not self._news.wait_for(there, _SECONDS):
                raise RuntimeError(f"prism says nothing about {fence}")
            found, self._broken = self._broken, []
        return [text for text in found if _FENCE not in text]

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self._lines.append(line)
            if found := _READY.search(line):
                self.address = found[1]
                self._ready.set()
            if found := _BROKEN.search(line):
                with self._news:
                    self._broken.append(f"{found[1]} {found[2]}")
                    self._news.notify_all()
        self._ready.set()
