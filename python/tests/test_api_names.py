"""Every public name of OneFlow 0.9.0 exists, or stands on a short list with the reason why not.

A line of `api_names.txt` has a module (or class), a tab, and names of it. `api_names_missing.txt`
has those that are missing on purpose, with one column more: the reason.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

_HERE = Path(__file__).parent


def _lines(name: str, columns: int) -> list[list[str]]:
    text = (_HERE / name).read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.splitlines() if line]
    assert all(len(row) == columns and all(row) for row in rows), f"{name}: {columns} columns"
    return rows


NAMES = [(path, name) for path, names in _lines("api_names.txt", 2) for name in names.split()]
REASONS = {
    (path, name): why
    for path, names, why in _lines("api_names_missing.txt", 3)
    for name in names.split()
}


def holder(path: str) -> Any:
    """The module or class of this name; None where there is none."""
    module, _, rest = path.partition(".")
    found = importlib.import_module(module)
    for part in rest.split(".") if rest else []:
        try:
            found = getattr(found, part)
        except (AttributeError, ImportError):
            try:
                found = importlib.import_module(f"{found.__name__}.{part}")
            except ImportError:
                return None
    return found


def is_there(path: str, name: str) -> bool:
    """Whether `path` has an attribute, or a submodule, of this name."""
    owner = holder(path)
    if owner is None:
        return False
    try:
        getattr(owner, name)
        return True
    except RuntimeError:  # a property that no object was asked for
        return True
    except (AttributeError, ImportError):
        pass
    return not isinstance(owner, type) and holder(f"{path}.{name}") is not None


@pytest.fixture(scope="module")
def missing() -> list[tuple[str, str]]:
    return [(module, name) for module, name in NAMES if not is_there(module, name)]


def test_no_name_is_missing_without_a_reason(missing: list[tuple[str, str]]) -> None:
    unexplained = [f"{module}.{name}" for module, name in missing if (module, name) not in REASONS]
    print(f"missing: {len(missing)} of {len(NAMES)}")
    print("\n".join(f"{module}.{name}" for module, name in missing))
    assert not unexplained


def test_reasons_are_of_names_that_are_missing(missing: list[tuple[str, str]]) -> None:
    assert not set(REASONS) - set(missing), "these exist: take them out"
    assert set(REASONS) <= set(NAMES)


def test_control_a_planted_name_is_missed() -> None:
    assert not is_there("oneflow", "no_such_name")
    assert not is_there("oneflow.Tensor", "no_such_name")
    assert not is_there("oneflow.no_such_module", "anything")
    assert is_there("oneflow.nn.functional", "relu")
