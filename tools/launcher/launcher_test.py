"""tools/bazel itself, run on machines that are made of a few files."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tools.checks import workspace

ROOT = workspace.root()

# Prints what it was called with, in place of the real Bazel.
_FAKE_BAZEL = """\
#!/bin/sh
if [ "$1" = --version ]; then echo "bazel 7.7.1"; exit 0; fi
printf '%s\\n' "$@"
"""


class Machine:
    """A folder that is PATH, with only the programs that a test puts there."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.cache = folder / "cache"
        self.env: dict[str, str] = {}
        for name in ("bash", "dirname", "sh", "env"):
            self.link(name)
        self.write("python3", f'#!/bin/sh\nexec {sys.executable} "$@"\n')

    def link(self, name: str) -> None:
        (self.bin / name).symlink_to(
            f"/bin/{name}" if Path(f"/bin/{name}").exists() else f"/usr/bin/{name}"
        )

    def write(self, name: str, text: str) -> Path:
        file = self.bin / name
        file.write_text(text)
        file.chmod(0o755)
        return file

    def run(self, *args: str, full: bool = False) -> subprocess.CompletedProcess[str]:
        """Runs tools/bazel; with `full`, where no file can grow."""
        env = {
            "PATH": str(self.bin),
            "HOME": str(self.bin.parent),
            "XDG_CACHE_HOME": str(self.cache),
        }
        command = [str(ROOT / "tools/bazel"), *args]
        return subprocess.run(
            command,
            env={**env, **self.env},
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=no_room if full else None,
        )


def no_room() -> None:
    """Writing to a file fails from now on, as on a full disk; pipes still work."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path)
    for name in ("gcc", "g++"):
        made.write(name, "#!/bin/sh\n")
    return made


def expect_one_line(result: subprocess.CompletedProcess[str], text: str) -> None:
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert text in result.stderr


def test_passes_its_arguments_on(machine: Machine) -> None:
    machine.write("bazelisk", _FAKE_BAZEL)
    machine.write("bazel", "#!/bin/sh\nexit 9\n")
    result = machine.run("--output_base=/x", "test", "//...", "--", "a b")
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[1:] == ["--output_base=/x", "test", "//...", "--", "a b"]
    rc = Path(lines[0].removeprefix("--bazelrc=")).read_text()
    assert f"build --disk_cache={machine.cache}/oneflow-bazel/disk" in rc
    assert "common --enable_workspace" in rc


def test_a_launcher_that_calls_tools_bazel_names_the_real_one(machine: Machine) -> None:
    machine.env["BAZEL_REAL"] = str(machine.write("real", _FAKE_BAZEL))
    machine.write("bazel", "#!/bin/sh\nexit 9\n")
    result = machine.run("help")
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[1:] == ["help"]


def test_a_bazel_that_only_calls_tools_bazel_ends(machine: Machine) -> None:
    machine.write("bazelisk", f'#!/bin/sh\nexec {ROOT}/tools/bazel "$@"\n')
    expect_one_line(machine.run("info"), "only calls tools/bazel again")


def test_no_bazel(machine: Machine) -> None:
    expect_one_line(machine.run("test"), "no Bazel on this machine; install bazelisk")


def test_no_compiler(machine: Machine) -> None:
    for name in ("gcc", "g++"):
        (machine.bin / name).unlink()
    machine.write("bazelisk", _FAKE_BAZEL)
    expect_one_line(machine.run("test", "//..."), "no C++ compiler on this machine; install g++")
    assert not machine.cache.exists()
    assert machine.run("query", "//...").returncode == 0


def test_a_compiler_that_does_not_exist(machine: Machine) -> None:
    machine.env["CC"] = "no-such-compiler"
    expect_one_line(machine.run("build"), "CC=no-such-compiler names no compiler")


def test_unknown_flag(machine: Machine) -> None:
    expect_one_line(machine.run("--of_pyhton=3.12", "test"), "unknown flag --of_pyhton=3.12")
    assert not machine.cache.exists()


def test_no_python(machine: Machine) -> None:
    (machine.bin / "python3").unlink()
    expect_one_line(machine.run("test"), "no python3 on PATH")


def test_a_cache_that_cannot_be_made(machine: Machine) -> None:
    result = machine.run(f"--of_cache={machine.bin}/sh/cache", "query", "//...")
    expect_one_line(result, "cannot make the cache folder")
    assert os.access(machine.bin / "sh", os.X_OK)


def test_no_disk_space(machine: Machine) -> None:
    machine.write("bazelisk", _FAKE_BAZEL)
    expect_one_line(machine.run("test", full=True), "File too large; see --of_cache")
    assert not [file for file in machine.cache.rglob("*") if file.is_file()]
    assert machine.run("test").returncode == 0


def test_a_broken_mark_of_depth_does_not_matter(machine: Machine) -> None:
    machine.write("bazelisk", _FAKE_BAZEL)
    machine.env["ONEFLOW_BAZEL_DEPTH"] = "deep"
    assert machine.run("test").returncode == 0


def test_help(machine: Machine) -> None:
    assert "--of_python=3.12" in machine.run("--of_help").stdout
