"""39: fork before the first op; parent and child then use the library."""

import os
import sys

import way_out

import oneflow as flow

child = os.fork()
if child == 0:
    print("child", flow.ones(3).sum().item(), flush=True)
    y = flow.ones(300, 300) @ flow.ones(300, 300)
    sys.exit(0)
_, status = os.waitpid(child, 0)
way_out.premise(status == 0, f"the child ended with {status}")
print("parent", flow.ones(4).sum().item())
y = flow.ones(300, 300) @ flow.ones(300, 300)
way_out.pause()
