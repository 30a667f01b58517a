"""51: a small training graph run ten thousand times."""

from typing import Any

import way_out

import oneflow as flow

model = flow.nn.Linear(4, 1)


class Train(flow.nn.Graph):
    """A step."""

    def __init__(self) -> None:
        super().__init__()
        self.model = model
        self.add_optimizer(flow.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9))

    def build(self, x: Any) -> Any:
        """Mean of squares."""
        loss = (self.model(x) ** 2).mean()
        loss.backward()
        return loss


train = Train()
x = flow.ones(8, 4)
for _ in range(10_000):
    loss = train(x)
if way_out.case() == "read":
    print(loss.item() < 1e-3, flush=True)
way_out.pause()
