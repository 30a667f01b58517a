"""Unpacks, without installing it, a package of the Debian that this machine runs.

debian_package.py PACKAGE FOLDER
"""

import glob
import os
import shutil
import subprocess
import sys


def available() -> bool:
    """Whether this machine has the programs for it."""
    return bool(shutil.which("apt-get") and shutil.which("dpkg-deb"))


def unpack(package: str, folder: str) -> None:
    """Unpacks `package`, from the machine's own apt sources, below `folder`; apt checks its
    signature.
    """
    options = ["-q", "-o", "APT::Sandbox::User="]
    _run(["apt-get", *options, "download", package], folder)
    for deb in glob.glob(os.path.join(folder, "*.deb")):
        _run(["dpkg-deb", "-x", deb, folder], folder)


def _run(command: list[str], folder: str) -> None:
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed: {result.stderr}")


if __name__ == "__main__":
    unpack(sys.argv[1], os.path.abspath(sys.argv[2]))
