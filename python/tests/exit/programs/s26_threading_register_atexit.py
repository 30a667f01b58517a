"""26: a user of threading._register_atexit, as concurrent.futures is, which issues an op."""

import threading

import way_out

import oneflow as flow


def handler() -> None:
    """Called when the main thread has ended, before any atexit handler."""
    print("threading", flow.ones(3).sum().item())


threading._register_atexit(handler)  # type: ignore[attr-defined]
y = flow.ones(300, 300) @ flow.ones(300, 300)
way_out.pause()
