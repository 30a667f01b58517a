"""Gets a wheel that `bootstrap.lock` pins, with whatever pip this machine has; prints its path.

    bootstrap.py PACKAGE LOCK CACHE

An interpreter has a pip of its own, or the wheel that `ensurepip` carries. Debian's has neither
until `python3-venv` is installed; there the archive's `python3-pip-whl` is unpacked, not installed.
"""

import glob
import os
import shutil
import subprocess
import sys
import tempfile

import debian_package


def find_pip(scratch: str) -> str:
    """What to put on PYTHONPATH so that `python -m pip` starts; empty if the interpreter's own
    does.
    """
    own = subprocess.run(
        [sys.executable, "-m", "pip", "--version"], capture_output=True, check=False
    )
    if own.returncode == 0:
        return ""
    patterns = ["/usr/share/python-wheels/pip-*.whl"]
    try:
        import ensurepip

        patterns.insert(
            0, os.path.join(os.path.dirname(ensurepip.__file__), "_bundled", "pip-*.whl")
        )
    except ImportError:
        pass
    if shutil.which("apt-get") and shutil.which("dpkg-deb"):
        patterns.append(os.path.join(scratch, "usr/share/python-wheels/pip-*.whl"))
    for pattern in patterns:
        if pattern.startswith(scratch):
            debian_package.unpack("python3-pip-whl", scratch)
        found = sorted(glob.glob(pattern))
        if found:
            return found[-1]
    raise SystemExit(f"{sys.executable} has no pip and no ensurepip; install one of them")


def download(requirement: str, target: str, cache: str) -> None:
    """Downloads the wheel of `requirement`, which holds its hash, to the file `target`."""
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        lock = os.path.join(scratch, "lock")
        with open(lock, "w", encoding="utf-8") as file:
            file.write(requirement)
        env = dict(os.environ, PIP_DISABLE_PIP_VERSION_CHECK="1", PYTHONNOUSERSITE="1")
        env["PYTHONPATH"] = find_pip(scratch)
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes"]
        command += ["-r", lock, "-d", scratch]
        result = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise SystemExit(f"{' '.join(command)} failed: {result.stderr}")
        os.replace(glob.glob(os.path.join(scratch, "*.whl"))[0], target)


def main() -> None:
    """The script's entry; see the module's text."""
    package, lock, cache = sys.argv[1:]
    with open(lock, encoding="utf-8") as file:
        requirement = next(line for line in file if line.startswith(package + "=="))
    wheel = os.path.join(cache, "archives", requirement.strip().rpartition("sha256:")[2])
    if not os.path.exists(wheel):
        os.makedirs(os.path.dirname(wheel), exist_ok=True)
        download(requirement, wheel, cache)
    print(wheel)


if __name__ == "__main__":
    main()
