"""Flags of tools/bazel's own. All begin with `--of_`; everything else is Bazel's."""

from __future__ import annotations

import dataclasses

from tools.launcher.errors import LauncherError

PREFIX = "--of_"

HELP = """\
tools/bazel [BAZEL STARTUP OPTIONS] COMMAND [BAZEL OPTIONS]

Passes everything on to Bazel, after it made sure that Bazel and its rules are there. Its own flags:
  --of_python=3.12     the Python to build for and test with: 3.10 to 3.13, or the path of an
                       interpreter (default: $ONEFLOW_PYTHON, else the python3 on PATH)
  --of_cache=DIR       where downloads and build results are kept
                       (default: $XDG_CACHE_HOME/oneflow-bazel, else ~/.cache/oneflow-bazel)
  --of_help            this text
"""


@dataclasses.dataclass
class Options:
    """What the user asked of tools/bazel itself, and what is left for Bazel."""

    python: str | None = None
    cache: str | None = None
    help: bool = False
    bazel_args: list[str] = dataclasses.field(default_factory=list)


def parse(args: list[str]) -> Options:
    """Takes the `--of_` flags out of `args`; those after a lone `--` belong to the program that is
    run.

    Raises LauncherError for an unknown flag, and for a flag without its value.
    """
    options = Options()
    own = len(args) if "--" not in args else args.index("--")
    for arg in args[:own]:
        if not arg.startswith(PREFIX):
            options.bazel_args.append(arg)
            continue
        name, equals, value = arg[len(PREFIX) :].partition("=")
        if name == "help" and not equals:
            options.help = True
        elif name in ("python", "cache"):
            if not value:
                raise LauncherError(f"{PREFIX}{name} expects a value: {PREFIX}{name}=VALUE")
            setattr(options, name, value)
        else:
            raise LauncherError(f"unknown flag {arg}; see tools/bazel {PREFIX}help")
    options.bazel_args += args[own:]
    return options


def command_of(bazel_args: list[str]) -> str | None:
    """The Bazel command in `bazel_args`: the first word that is no startup option."""
    for arg in bazel_args:
        if not arg.startswith("-"):
            return arg
    return None
