"""10: garbage, with the collector off: cycles that hold tensors and queued ops."""

import gc
from typing import Any

import way_out

import oneflow as flow

gc.disable()
x = flow.ones(300, 300, requires_grad=True)
for _ in range(50):
    ring: list[Any] = [x @ x]
    ring.append(ring)
way_out.premise(gc.collect(0) >= 0 and not gc.isenabled(), "the collector is on")
for _ in range(50):
    ring = [x @ x]
    ring.append(ring)
way_out.pause()
