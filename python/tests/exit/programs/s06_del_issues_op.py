"""6: a __del__, called when the interpreter ends, that issues an op."""

import way_out

import oneflow as flow


class Late:
    """Computes when it goes."""

    def __del__(self) -> None:
        print("del", flow.ones(4).sum().item())


late = Late()
y = flow.ones(300, 300) @ flow.ones(300, 300)
way_out.pause()
