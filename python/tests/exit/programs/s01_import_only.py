"""1: import only."""

import way_out

import oneflow  # noqa: F401

way_out.pause()
