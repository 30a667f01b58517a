"""The measured process of the digits training step: `digits_main.py oneflow|torch TASK`.

It trains from the given weights on the given batches, reports the first losses as its answer, and
then times whole epochs. A step is what a program does with a batch: forward, loss, backward,
update, and reading the loss, so that the timing holds all of its work.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

from bench import digits_reference as reference
from bench.harness.process import measure
from bench.library import start


def make_model(library: Any, task: reference.Task) -> Any:
    """The perceptron with the task's weights."""
    layers: list[Any] = []
    for weight in task.weights:
        layers += [library.nn.Linear(weight.shape[1], weight.shape[0]), library.nn.ReLU()]
    model = library.nn.Sequential(*layers[:-1])
    state = {}
    for index, (weight, bias) in enumerate(zip(task.weights, task.biases)):
        state[f"{2 * index}.weight"] = library.from_numpy(weight)
        state[f"{2 * index}.bias"] = library.from_numpy(bias)
    model.load_state_dict(state)
    return model


def make_step(library: Any, task: reference.Task) -> Callable[[], float]:
    """A function that trains on the next batch and returns the loss."""
    model = make_model(library, task)
    optimizer = library.optim.SGD(
        model.parameters(), lr=reference.RATE, momentum=reference.MOMENTUM
    )
    loss_of = library.nn.CrossEntropyLoss()
    batches = cycle(
        [
            (library.from_numpy(images), library.from_numpy(labels))
            for images, labels in zip(task.images, task.labels)
        ]
    )

    def step() -> float:
        x, y = next(batches)
        loss = loss_of(model(x), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return float(loss.item())

    return step


def main() -> None:
    """Checks, times, reports."""
    library, reporter, args = start("Times a training step of a perceptron.", "task")
    task = reference.load(Path(args.task))
    step = make_step(library, task)
    start_of_first = time.perf_counter()
    losses = [step()]
    first = time.perf_counter() - start_of_first
    losses += [step() for _ in range(reference.CHECKED_STEPS - 1)]
    timing = measure(step, loops=len(task.labels), timings=3, batches=5, warmup_s=0.3)
    reporter.report("step_time", replace(timing, first=first), check={"losses": losses})


if __name__ == "__main__":
    main()
