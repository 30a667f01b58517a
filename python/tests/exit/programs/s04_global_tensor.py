"""4: global tensors alive, one of them with a graph of nodes behind it."""

import way_out

import oneflow as flow

x = flow.ones(300, 300, requires_grad=True)
y = (x @ x).sum()
z = x.detach() @ x.detach()
way_out.pause()
