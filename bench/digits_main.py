"""The measured process of the digits training step: `digits_main.py oneflow|torch TASK`.

It trains from the given weights on the given batches, reports the first losses as its answer, and
then times whole epochs. A step is what examples/digits does for a batch: forward, loss, backward,
update. The loss is read at the end of each epoch, so that the timing holds all of its work.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
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


def make_step(library: Any, task: reference.Task) -> Callable[[], Any]:
    """A function that trains on the next batch and returns the loss, a tensor."""
    model = make_model(library, task)
    optimizer = library.optim.SGD(
        model.parameters(), lr=reference.RATE, momentum=reference.MOMENTUM
    )
    cross_entropy = library.nn.CrossEntropyLoss()
    batches = [
        (library.from_numpy(images), library.from_numpy(labels))
        for images, labels in zip(task.images, task.labels)
    ]
    numbers = count()

    def step() -> Any:
        images, labels = batches[next(numbers) % len(batches)]
        loss = cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


def main() -> None:
    """Checks, times, reports."""
    library, reporter, args = start("Times a training step of examples/digits.", "task")
    task = reference.load(Path(args.task))
    step = make_step(library, task)
    losses = [step().item() for _ in range(reference.CHECKED_STEPS)]
    last: list[Any] = [None]

    def remembered() -> None:
        last[0] = step()

    timing = measure(
        remembered,
        loops=len(task.labels),
        timings=3,
        batches=5,
        warmup_s=0.3,
        finish=lambda: last[0].item(),
    )
    reporter.report("step_time", timing, check={"losses": losses})


if __name__ == "__main__":
    main()
