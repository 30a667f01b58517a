"""What the example programs share at their command line: options, folders, errors of one line."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from typing import Any


class UserError(Exception):
    """Something that the user can put right; the message is one line."""


def positive(kind: type) -> Callable[[str], Any]:
    """A type for argparse: a number above 0 and below a million."""

    def number(text: str) -> Any:
        value = kind(text)
        if not 0 < value < 1e6:
            raise argparse.ArgumentTypeError(f"expects a number above 0 and below 1e6, got {text}")
        return value

    number.__name__ = kind.__name__
    return number


def seed(text: str) -> int:
    """A type for argparse: a whole number from 0."""
    value = int(text)
    if not 0 <= value < 2**63:
        raise argparse.ArgumentTypeError(f"expects a whole number of at least 0, got {text}")
    return value


# What argparse calls the type in "invalid int value".
seed.__name__ = "int"


def from_users_folder(path: str) -> str:
    """A path as the user meant it: `bazel run` starts programs elsewhere, and says where he was."""
    base = os.environ.get("BUILD_WORKING_DIRECTORY", os.getcwd())
    return os.path.normpath(os.path.join(base, path))


def make_folder(folder: str) -> None:
    """Before the training, which would be lost without a place for its result."""
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except FileExistsError:
        raise UserError(f"--out expects a folder, got {folder!r}, which is none") from None
    except OSError as error:
        raise UserError(f"cannot write to {folder!r}: {one_line(error)}") from None


def one_line(error: Exception) -> str:
    """An error's text without line breaks."""
    return " ".join(str(error).split())


def load_checkpoint(load: Callable[[str], Any], path: str, kind: str) -> dict[str, Any]:
    """A checkpoint of the program that writes this kind; UserError if it is none."""
    try:
        found = load(path)
    except FileNotFoundError:
        raise UserError(f"there is no checkpoint {path!r}; train first") from None
    except (OSError, RuntimeError) as error:
        raise UserError(f"cannot read the checkpoint {path!r}: {one_line(error)}") from None
    if not isinstance(found, dict) or found.get("kind") != kind:
        raise UserError(f"{path!r} is no checkpoint of this program")
    return found


def status_of(name: str, run: Callable[[], object]) -> int:
    """Runs a program; returns its status. Says in one line why it did not end as it should."""
    try:
        run()
    except UserError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"\n{name}: interrupted", file=sys.stderr)
        return 130
    return 0
