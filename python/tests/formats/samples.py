"""The files of samples.json."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path

_TEXTS: dict[str, str] = json.loads(Path(__file__).with_name("samples.json").read_text())


def sample(name: str) -> bytes:
    """One file."""
    return zlib.decompress(base64.b64decode(_TEXTS[name]))


def write_folder(root: Path) -> Path:
    """OneFlow 0.9.0's folder, below `root`."""
    for name in _TEXTS:
        if name.startswith("folder "):
            path = root / "saved" / name.removeprefix("folder ")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(sample(name))
    return root / "saved"
