"""18: exit inside a backward hook."""

import sys

import way_out

import oneflow as flow


def leave(grad: flow.Tensor) -> None:
    """The hook."""
    way_out.pause()
    sys.exit(3)


x = flow.ones(300, 300, requires_grad=True)
y = x @ x
y.register_hook(leave)
(y @ x).sum().backward()
way_out.premise(False, "the hook was not called")
