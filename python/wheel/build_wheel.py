"""Builds the wheel, and asks auditwheel for the platform tag that it deserves.

The shared libraries that the extension needs (oneDNN, the compiler's OpenMP) lie beside it in the
package. What is left outside decides which systems can run the wheel: the newest symbol versions of
libc and libstdc++ that are asked for. auditwheel reads them; a wheel that depends on more than its
policies allow is an error here, never a tag that promises too much.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile

import wheel_file


def audit(path: str) -> str:
    """auditwheel's report on a wheel."""
    done = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", path],
        env=dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in sys.path if p)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode != 0:
        raise SystemExit(f"auditwheel failed:\n{done.stdout}")
    return done.stdout


def platform_tag(report: str) -> str:
    """The tag that auditwheel found, `manylinux_2_34_x86_64`."""
    flat = " ".join(report.split())
    found = re.search(r'consistent with the following platform tag: "([^"]+)"', flat)
    if found is None or not found.group(1).startswith(("manylinux", "musllinux")):
        raise SystemExit(f"the wheel fits no manylinux policy:\n{report}")
    return found.group(1)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _package_files(paths: list[str]) -> dict[str, bytes]:
    """Archive name to content: everything from the last `oneflow/` of `python/oneflow/` on."""
    files = {}
    for path in paths:
        before, found, inside = path.rpartition("python/oneflow/")
        if not found:
            raise SystemExit(f"{path} does not lie in the package's folder ({before!r})")
        files["oneflow/" + inside] = _read(path)
    return files


def main() -> None:
    """See the module's text."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out-dir", required=True, help="where the wheel goes, under its own name")
    parser.add_argument("--report", required=True, help="where auditwheel's report goes")
    parser.add_argument("--extension", required=True)
    parser.add_argument("--library", action="append", default=[], metavar="NAME=PATH")
    parser.add_argument("--version-file", required=True)
    parser.add_argument("--readme", required=True)
    parser.add_argument("files", nargs="+", help="files of the package")
    args = parser.parse_args()

    text = _read(args.version_file).decode()
    found = re.search(r'__version__ = "([^"]+)"', text)
    if found is None:
        raise SystemExit(f"no __version__ in {args.version_file}")
    version = found.group(1)
    readme = _read(args.readme).decode()
    files = _package_files(args.files)
    files["oneflow/" + wheel_file.extension_name()] = _read(args.extension)
    for item in args.library:
        name, _, path = item.partition("=")
        files["oneflow/" + name] = _read(path)

    with tempfile.TemporaryDirectory() as folder:
        raw = f"linux_{platform.machine()}"
        draft = os.path.join(folder, wheel_file.file_name(version, raw))
        wheel_file.write(draft, version, readme, raw, files)
        report = audit(draft)
    tag = platform_tag(report)
    os.makedirs(args.out_dir, exist_ok=True)
    final = os.path.join(args.out_dir, wheel_file.file_name(version, tag))
    wheel_file.write(final, version, readme, tag, files)
    with open(args.report, "w", encoding="utf-8") as file:
        file.write(report)


if __name__ == "__main__":
    main()
