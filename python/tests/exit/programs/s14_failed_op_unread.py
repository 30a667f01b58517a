"""14: an op that failed and whose error nobody read, or somebody did."""

import sys

import way_out

import oneflow as flow

x = flow.ones(300, 300)
y = flow._C.throw_error(x @ x, 1)
z = y + 1
way_out.pause()
if way_out.case() == "status_5":
    sys.exit(5)
if way_out.case() == "read":
    try:
        z.numpy()
    except RuntimeError:
        pass
    else:
        way_out.premise(False, "the op did not fail")
