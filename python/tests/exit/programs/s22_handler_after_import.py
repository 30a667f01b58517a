"""22: an atexit handler registered after the import, so called before the runtime's own."""

import atexit

import way_out

import oneflow as flow


@atexit.register
def handler() -> None:
    """Issues an op."""
    print("atexit", flow.ones(3).sum().item())


y = flow.ones(300, 300) @ flow.ones(300, 300)
way_out.pause()
