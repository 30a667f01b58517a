"""11: sys.exit(0) with ops queued."""

import sys

import way_out

import oneflow as flow

y = flow.ones(300, 300) @ flow.ones(300, 300)
way_out.pause()
sys.exit(0)
