"""2: import and one op, whose result nobody reads."""

import way_out

import oneflow as flow

x = flow.ones(300, 300)
y = x @ x
way_out.pause()
