"""Wheels serve C++ and Python alike: one extension module uses all of them."""

from __future__ import annotations

import site
import sys

import numpy as np
import pytest

from third_party.tests import smoke_extension  # type: ignore[attr-defined]


def test_onednn_is_the_pinned_version() -> None:
    assert smoke_extension.onednn_version() == "3.2"


def test_numpy_c_api() -> None:
    assert smoke_extension.number_of_dimensions(np.zeros((2, 3, 4))) == 3
    with pytest.raises(TypeError, match="numpy array"):
        smoke_extension.number_of_dimensions([1])


def test_numpy_is_the_locked_one_and_the_users_packages_are_out_of_sight() -> None:
    assert np.__version__ == "2.2.6"
    assert "pip_numpy" in np.__file__
    assert site.getusersitepackages() not in sys.path
