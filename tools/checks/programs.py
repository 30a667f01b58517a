"""The formatters and linters that are programs, each as one call that checks or fixes."""

from __future__ import annotations

import concurrent.futures
import os
import subprocess
import sys
from pathlib import Path

from tools.checks import workspace

_CPP = (".h", ".cc", ".cu", ".cuh")
_STARLARK = (".bazel", ".bzl", "WORKSPACE", ".BUILD")


def program(name: str) -> str:
    """The path of a program that Bazel brought: its variable ONEFLOW_<NAME> names it below the
    runfiles.
    """
    variable = "ONEFLOW_" + name.upper().replace("-", "_")
    return str((Path.cwd() / os.environ[variable]).resolve())


def clang_format(root: Path, fix: bool) -> str:
    """clang-format over all C++; the complaints, or an empty string."""
    mode = ["-i"] if fix else ["--dry-run", "--Werror", "--ferror-limit=1"]
    return _run([program("clang-format"), *mode], workspace.files(root, _CPP), root)


def buildifier(root: Path, fix: bool) -> str:
    """buildifier over all of Bazel's files."""
    mode = ["-mode=fix"] if fix else ["-mode=check", "-lint=warn", "-warnings=" + _WARNINGS]
    return _run([program("buildifier"), *mode], workspace.files(root, _STARLARK), root)


# Under Bazel 4.2.3 the native rules are the rules; loads of them from rule sets do not exist for
# all.
_WARNINGS = ",".join(
    f"-{name}"
    for name in (
        "module-docstring",
        "function-docstring",
        "function-docstring-args",
        "function-docstring-header",
        "native-cc",
        "native-cc-binary",
        "native-cc-common",
        "native-cc-import",
        "native-cc-info",
        "native-cc-library",
        "native-cc-test",
        "native-py",
        "load-on-top",
        "same-origin-load",
        "out-of-order-load",
        "print",
        "unnamed-macro",
    )
)


def ruff(root: Path, fix: bool) -> str:
    """ruff's formatter and its linter over all Python."""
    files = workspace.files(root, (".py",))
    options = ["--no-cache", "--quiet", "--force-exclude"]
    layout = _run([program("ruff"), "format", *options, *([] if fix else ["--diff"])], files, root)
    mode = ["--fix"] if fix else ["--output-format=concise"]
    return layout + _run([program("ruff"), "check", *options, *mode], files, root)


def mypy(root: Path) -> str:
    """mypy over all Python that is not a spike or an example of failure."""
    cache = Path(os.environ.get("ONEFLOW_LINT_CACHE") or "/tmp") / "oneflow-mypy"
    command = [sys.executable, "-m", "mypy", f"--cache-dir={cache}", "--no-error-summary"]
    env = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    return _run(command, workspace.files(root, (".py",)), root, env)


# Headers of what arrives as wheels and archives, below Bazel's folder of external repositories.
_INCLUDES = (
    "google_benchmark/include",
    "googletest/googlemock/include",
    "googletest/googletest/include",
    "oneflow_python/include/python3*",
    "pip_cmeel_fmt/site-packages/cmeel.prefix/include",
    "pip_numpy/site-packages/numpy/_core/include",
    "pip_onednn_devel_cpu_gomp/data/include",
    "pip_pybind11/site-packages/pybind11/include",
)


def clang_tidy(root: Path) -> str:
    """clang-tidy over all C++ of oneflow/; slow, so only in the nightly set."""
    tidy = Path(program("clang-tidy"))
    output_base = next(folder.parent for folder in tidy.parents if folder.name == "external")
    found = [path for name in _INCLUDES for path in (output_base / "external").glob(name)]
    generated = output_base.glob("execroot/oneflow/bazel-out/*-opt*/bin")
    # Without OpenMP: its header is gcc's, and clang cannot read that.
    flags = [
        "-std=c++17",
        "-DFMT_HEADER_ONLY=1",
        "-DONEFLOW_ISA=baseline",
        "-Wno-unknown-pragmas",
        "-I.",
    ]
    flags += [f"-I{path}" for path in generated] + [f"-isystem{path}" for path in found]
    # The CUDA toolkit is not fetched for this.
    files = [f for f in workspace.files(root, (".cc",)) if f.parts[0] == "oneflow"]
    files = [f for f in files if "cuda" not in f.parts]
    command = [str(tidy), "--quiet", "--warnings-as-errors=*"]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda file: _tidy([*command, str(file), "--", *flags], root), files)
        return "".join(results)


def _tidy(command: list[str], root: Path) -> str:
    result = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    return result.stdout if result.returncode else ""


def _run(
    command: list[str], files: list[Path], root: Path, env: dict[str, str] | None = None
) -> str:
    """Runs `command` over `files`; its output if it failed, else an empty string."""
    if not files:
        return f"{command[0]}: no files to look at"
    result = subprocess.run(
        command + [str(f) for f in files],
        cwd=root,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return result.stdout or f"status {result.returncode}" if result.returncode else ""
