"""The measured process of whole training steps: `graph_main.py oneflow|torch TASK graph|eager`.

Each network trains from the given weights on the given batches; its first losses are its answer,
with dropout off. Then whole epochs are timed, with dropout on. A step is what a program does with a
batch: forward, loss, backward, update, and reading the loss.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

from bench import digits_reference as reference
from bench import graph_task
from bench.digits_main import make_model
from bench.harness.process import measure
from bench.library import start

Step = Callable[[Any, Any], Any]
LEARNING_RATE = 2e-3
# What AdamW makes of a difference in the last digit grows tenfold within a few steps.
CHECKED_ADAMW_STEPS = 8


def make_convolutions(library: Any, task: graph_task.Task) -> Any:
    """The network of examples/digits with the task's weights."""
    nn = library.nn
    network = nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Dropout(0.25),
        nn.Flatten(),
        nn.Linear(1024, 128),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(128, 10),
    )
    state = {name: library.from_numpy(array) for name, array in task.convolutions.items()}
    network.load_state_dict(state)
    return network


def eager_step(library: Any, model: Any, optimizer: Any) -> Step:
    """A step, op by op."""
    loss_of = library.nn.CrossEntropyLoss()

    def step(x: Any, y: Any) -> Any:
        loss = loss_of(model(x), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss

    return step


def graph_step(library: Any, model: Any, optimizer: Any) -> Step:
    """The same as a graph."""

    class Train(library.nn.Graph):
        """Forward, loss, backward, update."""

        def __init__(self) -> None:
            super().__init__()
            self.model = model
            self.loss_of = library.nn.CrossEntropyLoss()
            self.add_optimizer(optimizer)

        def build(self, x: Any, y: Any) -> Any:
            """Traced once for each mode of the dropouts."""
            loss = self.loss_of(self.model(x), y)
            loss.backward()
            return loss

    graph: Step = Train()
    return graph


def set_dropout(library: Any, model: Any, on: bool) -> None:
    """Turns the network's dropouts on or off."""
    for module in model.modules():
        if isinstance(module, library.nn.Dropout):
            module.train(on)


def run(
    reporter: Any, library: Any, metric: str, model: Any, step: Step, batches: Any, checked: int
) -> None:
    """Checks so many losses, times and reports one network."""
    source = cycle(batches)

    def once() -> float:
        return float(step(*next(source)).item())

    set_dropout(library, model, False)
    begin = time.perf_counter()
    losses = [once()]
    first = time.perf_counter() - begin
    losses += [once() for _ in range(checked - 1)]
    set_dropout(library, model, True)
    timing = measure(once, loops=len(batches), timings=3, batches=5, warmup_s=0.3)
    reporter.report(metric, replace(timing, first=first), check={"losses": losses})


def main() -> None:
    """Both networks."""
    library, reporter, args = start("Times whole training steps.", "task", "mode")
    task = graph_task.load(Path(args.task))
    make_step = {"graph": graph_step, "eager": eager_step}[args.mode]
    arrays = zip(task.digits.images, task.digits.labels)
    batches = [(library.from_numpy(x), library.from_numpy(y)) for x, y in arrays]

    model = make_model(library, task.digits)
    sgd = library.optim.SGD(model.parameters(), lr=reference.RATE, momentum=reference.MOMENTUM)
    step = make_step(library, model, sgd)
    run(reporter, library, "perceptron", model, step, batches, reference.CHECKED_STEPS)

    pictures = [(x.reshape(-1, 1, 8, 8), y) for x, y in batches]
    model = make_convolutions(library, task)
    adam = library.optim.AdamW(model.parameters(), lr=LEARNING_RATE)
    step = make_step(library, model, adam)
    run(reporter, library, "convolutions", model, step, pictures, CHECKED_ADAMW_STEPS)


if __name__ == "__main__":
    main()
