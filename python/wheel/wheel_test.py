"""The wheel, installed as a user would: into an empty virtual environment, with numpy alone."""

from __future__ import annotations

import glob
import json
import os
import pathlib
import subprocess
import sys
import zipfile

import pip
import pytest
import wheel_file


def _one(pattern: str) -> pathlib.Path:
    """The one file among the test's data that matches."""
    root = pathlib.Path(os.environ["TEST_SRCDIR"])
    found = glob.glob(str(root / pattern))
    assert len(found) == 1, f"{pattern}: {found}"
    return pathlib.Path(found[0])


def _wheel() -> pathlib.Path:
    return _one("oneflow/python/dist/*.whl")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The interpreter of a new environment that holds the wheel and numpy."""
    folder = tmp_path_factory.mktemp("venv")
    base = getattr(sys, "_base_executable", sys.executable)
    # Not every interpreter can bring its pip along (Debian's needs another package); the build has
    # one.
    subprocess.run([base, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    numpy = _one("pip_numpy/*.whl")
    command = ["install", "--no-index", "--quiet", "--find-links", str(numpy.parent)]
    _pip(python, *command, str(_wheel()))
    return python


def _pip(python: pathlib.Path, *command: str) -> str:
    """What the build's pip prints when the interpreter `python` runs it."""
    environment = dict(_clean_environment(), PYTHONPATH=str(pathlib.Path(pip.__file__).parents[1]))
    done = subprocess.run(
        [str(python), "-m", "pip", "--disable-pip-version-check", *command],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _clean_environment() -> dict[str, str]:
    keep = ("PATH", "HOME", "TMPDIR", "LANG")
    return {name: os.environ[name] for name in keep if name in os.environ}


def _run(python: pathlib.Path, program: str) -> str:
    done = subprocess.run(
        [str(python), "-I", "-c", program],
        capture_output=True,
        text=True,
        cwd="/",
        env=_clean_environment(),
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_only_numpy_comes_along(installed: pathlib.Path) -> None:
    names = {entry["name"] for entry in json.loads(_pip(installed, "list", "--format=json"))}
    assert names - {"pip", "setuptools"} == {"numpy", "oneflow"}
    _pip(installed, "check")


def test_it_trains(installed: pathlib.Path) -> None:
    program = """
import numpy as np, oneflow as flow
w = flow.tensor(np.zeros((3, 2), np.float32), requires_grad=True)
x = flow.tensor(np.eye(2, dtype=np.float32))
loss = (flow.matmul(x, w.t()) - 1.0).sum()
loss.backward()
print(loss.item(), w.grad.numpy().tolist())
"""
    assert _run(installed, program) == "-6.0 [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]\n"


def test_its_libraries_are_its_own(installed: pathlib.Path) -> None:
    program = """
import oneflow, os
folder = os.path.dirname(oneflow.__file__)
maps = open("/proc/self/maps").read()
libraries = {l.split()[-1] for l in maps.splitlines() if ".so" in l}
print([p for p in sorted(libraries) if "dnnl" in p or "gomp" in p] ==
      [os.path.join(folder, n) for n in ("libdnnl.so.3", "libgomp.so.1")])
print(sorted(p for p in libraries if "cuda" in p or "nvidia" in p))
"""
    assert _run(installed, program) == "True\n[]\n"


def test_the_platform_tag_is_what_auditwheel_found() -> None:
    report = " ".join(_one("oneflow/python/auditwheel.txt").read_text().split())
    name = _wheel().name
    platform = name.removesuffix(".whl").split("-")[-1]
    assert platform.startswith("manylinux_2_")
    assert f'platform tag: "{platform}"' in report
    with zipfile.ZipFile(_wheel()) as archive:
        info = next(n for n in archive.namelist() if n.endswith(".dist-info/WHEEL"))
        assert f"Tag: {wheel_file.python_tag()}-{wheel_file.python_tag()}-{platform}" in (
            archive.read(info).decode()
        )


def test_the_stubs_and_the_marker_for_type_checkers_are_in_it() -> None:
    with zipfile.ZipFile(_wheel()) as archive:
        names = set(archive.namelist())
    assert {"oneflow/py.typed", "oneflow/_C.pyi", "oneflow/_oneflow_internal.pyi"} <= names
    assert "oneflow/" + wheel_file.extension_name() in names


def test_nothing_in_it_can_be_made_to_misbehave() -> None:
    """Faults are planted in a build of its own (oneflow/common/planted_fault.h)."""
    with zipfile.ZipFile(_wheel()) as archive:
        for name in archive.namelist():
            assert b"ONEFLOW_PLANTED_FAULT" not in archive.read(name), name


def test_a_changed_file_is_noticed(installed: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """The positive control of RECORD: pip refuses nothing, but the hashes must tell."""
    with zipfile.ZipFile(_wheel()) as archive:
        record = next(n for n in archive.namelist() if n.endswith("/RECORD"))
        rows = dict(row.split(",")[:2] for row in archive.read(record).decode().splitlines() if row)
        data = archive.read("oneflow/_version.py")
    assert rows["oneflow/_version.py"] == wheel_file.digest(data)
    assert rows["oneflow/_version.py"] != wheel_file.digest(data + b" ")
