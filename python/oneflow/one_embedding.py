"""Of OneFlow's OneEmbedding, its optimizer: `Ftrl`.

Its tables, which lie on several GPUs and disks, are not there.

    >>> import oneflow as flow
    >>> flow.one_embedding.Ftrl([flow.nn.Parameter(flow.ones(1))]).defaults["lr"]
    0.001
"""

from __future__ import annotations

from oneflow.nn.optimizer.ftrl import Ftrl

__all__ = ["Ftrl"]
