"""7: a tensor kept on sys or on builtins, which go last; with a graph and a Python hook."""

import builtins
import sys
from typing import Any

import way_out

import oneflow as flow

x = flow.ones(300, 300, requires_grad=True)
y = x @ x
y.register_hook(lambda grad: grad * 2)
keeper: Any = sys if way_out.case() == "sys" else builtins
keeper.kept = y
way_out.pause()
