"""Old names of functions of `oneflow.env`."""

from __future__ import annotations

import os

from oneflow.framework.global_tensor import placement

_VARIABLES = ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK", "LOCAL_RANK")


def api_all_device_placement(device_type: str) -> placement:
    """The placement of all ranks.

    Example:
        >>> from oneflow.framework.env_util import api_all_device_placement
        >>> api_all_device_placement("cpu").type
        'cpu'
    """
    return placement.all(device_type)


def HasAllMultiClientEnvVars() -> bool:  # noqa: N802: OneFlow's name
    """Whether the environment has every variable that a launcher of ranks sets.

    Example:
        >>> from oneflow.framework.env_util import HasAllMultiClientEnvVars
        >>> HasAllMultiClientEnvVars() in (True, False)
        True
    """
    return all(name in os.environ for name in _VARIABLES)
