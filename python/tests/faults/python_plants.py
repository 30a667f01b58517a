"""Faults planted in Python code. Lies in the package with faults only, which imports it last."""

from __future__ import annotations

import os
from collections.abc import Callable

# By name; each name is in oneflow/common/planted_fault.h, which rejects the ones that nobody knows.
PLANTS: dict[str, Callable[[], None]] = {}

PLANTS.get(os.environ.get("ONEFLOW_PLANTED_FAULT", ""), lambda: None)()
