"""Writes the wheel: a zip archive as PEP 427 lays it out, the same bytes for the same content."""

from __future__ import annotations

import base64
import hashlib
import sysconfig
import zipfile
from collections.abc import Mapping

# The oldest date a zip archive can hold; the real one would make every build differ.
_DATE = (1980, 1, 1, 0, 0, 0)

_SUMMARY = "A deep-learning framework: eager and static graphs, errors that name their line"


def python_tag() -> str:
    """`cp311` for the interpreter that runs this."""
    return "cp" + sysconfig.get_config_var("py_version_nodot")


def extension_name() -> str:
    """The file name under which this interpreter looks for the extension module."""
    return "_oneflow_internal" + str(sysconfig.get_config_var("EXT_SUFFIX"))


def metadata(version: str, readme: str) -> str:
    """The METADATA file (core metadata 2.1)."""
    lines = [
        "Metadata-Version: 2.1",
        "Name: oneflow",
        f"Version: {version}",
        f"Summary: {_SUMMARY}",
        "License: Apache-2.0",
        "Requires-Python: >=3.10,<3.14",
        "Requires-Dist: numpy>=1.22",
        "Description-Content-Type: text/markdown",
    ]
    return "\n".join([*lines, "", readme])


def wheel_info(platform: str) -> str:
    """The WHEEL file."""
    tag = f"{python_tag()}-{python_tag()}-{platform}"
    return f"Wheel-Version: 1.0\nGenerator: oneflow\nRoot-Is-Purelib: false\nTag: {tag}\n"


def file_name(version: str, platform: str) -> str:
    """`oneflow-1.0-cp311-cp311-manylinux_2_34_x86_64.whl`."""
    return f"oneflow-{version}-{python_tag()}-{python_tag()}-{platform}.whl"


def write(path: str, version: str, readme: str, platform: str, files: Mapping[str, bytes]) -> None:
    """Writes the wheel of `files` (path in the archive: content) to `path`."""
    info = f"oneflow-{version}.dist-info"
    content = dict(files)
    content[f"{info}/METADATA"] = metadata(version, readme).encode()
    content[f"{info}/WHEEL"] = wheel_info(platform).encode()
    content[f"{info}/top_level.txt"] = b"oneflow\n"
    rows = [f"{name},{digest(data)},{len(data)}" for name, data in sorted(content.items())]
    content[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,", ""]).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(content.items()):
            entry = zipfile.ZipInfo(name, _DATE)
            executable = ".so" in name.rpartition("/")[2]
            entry.external_attr = (0o755 if executable else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)


def digest(data: bytes) -> str:
    """The hash of a file as RECORD writes it."""
    raw = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
    return "sha256=" + raw.decode().rstrip("=")
