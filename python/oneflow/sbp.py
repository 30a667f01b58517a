"""How ranks share a global tensor: `sbp.split(dim)`, `sbp.broadcast`, `sbp.partial_sum`."""

from oneflow.framework.global_tensor import broadcast, partial_sum, sbp, split

__all__ = ["broadcast", "partial_sum", "sbp", "split"]
