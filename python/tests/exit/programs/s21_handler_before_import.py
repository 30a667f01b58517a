"""21: an atexit handler registered before the import, so called after the runtime's own."""

import atexit

import way_out


@atexit.register
def handler() -> None:
    """Issues an op."""
    print("atexit", flow.ones(3).sum().item())


import oneflow as flow  # noqa: E402

y = flow.ones(300, 300) @ flow.ones(300, 300)
way_out.pause()
