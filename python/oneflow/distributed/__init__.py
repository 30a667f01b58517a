"""Programs of several processes: who this one is. See also `oneflow.env` and `oneflow.comm`."""

from oneflow.env import get_local_rank, get_rank, get_world_size

__all__ = ["get_local_rank", "get_rank", "get_world_size"]
