"""16: os.abort with ops queued."""

import os

import way_out

import oneflow as flow

y = way_out.keep_busy(flow, ops=200)
way_out.pause()
os.abort()
