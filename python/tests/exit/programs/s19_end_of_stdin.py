"""19: the text of the program, or the input of `python -i`, ends while ops are queued."""

import way_out

import oneflow as flow

x = flow.ones(2, 2)
print("read", x.sum().item())
y = flow.ones(300, 300) @ flow.ones(300, 300)
way_out.pause()
