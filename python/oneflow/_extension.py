"""Loads the extension module, with the OpenMP runtime told to wait politely.

Threads of a parallel region wait for each other by polling. libgomp polls for milliseconds by
default, and while another process has the core, each region then costs a scheduler's time slice. A
bounded spin costs nothing on an idle machine and is hundreds of times faster on a busy one (the
figures are in docs/decisions/0002-inline-or-queued.md). libgomp reads the setting once, when it is
loaded; whoever has chosen a policy keeps it.

The policy is "active": without it libgomp polls a hundred times only, which is less than the time
between two regions, once it counts more threads than cores. It counts the workers of every thread
that ever opened a region, asleep or not. With it the bound of SPINCOUNT holds in either case.
"""

from __future__ import annotations

import importlib
import os
from types import ModuleType

_SETTINGS = {"GOMP_SPINCOUNT": "1000", "OMP_WAIT_POLICY": "active"}


def load() -> ModuleType:
    """Imports `oneflow._oneflow_internal`; the environment is afterwards as it was.

    Raises:
        ValueError: an environment variable has a value that must not be ignored.
    """
    chosen = any(name in os.environ for name in _SETTINGS)
    if not chosen:
        os.environ.update(_SETTINGS)
    try:
        return importlib.import_module("oneflow._oneflow_internal")
    except ImportError as error:
        if isinstance(error.__cause__, ValueError):  # an environment variable: its text says all
            raise error.__cause__ from None
        raise
    finally:
        if not chosen:
            for name in _SETTINGS:
                del os.environ[name]
