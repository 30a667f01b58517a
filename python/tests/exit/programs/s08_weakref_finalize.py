"""8: a weakref.finalize callback, called at exit, that issues an op."""

import weakref

import way_out

import oneflow as flow


class Owner:
    """Is alive at exit."""


owner = Owner()
weakref.finalize(owner, lambda: print("finalize", flow.ones(4).sum().item()))
y = flow.ones(300, 300) @ flow.ones(300, 300)
way_out.pause()
