"""12: sys.exit(3) with ops queued: the status is kept."""

import sys

import way_out

import oneflow as flow

y = flow.ones(300, 300) @ flow.ones(300, 300)
way_out.pause()
sys.exit(3)
