"""5: a tensor in a reference cycle, whose owner has a __del__ that reads it."""

import way_out

import oneflow as flow


class Ring:
    """Refers to itself."""

    def __init__(self) -> None:
        self.me = self
        self.x = flow.ones(3) * 1.0
        self.y = flow.ones(300, 300) @ flow.ones(300, 300)

    def __del__(self) -> None:
        print("del", self.x.sum().item())


ring = Ring()
way_out.pause()
