"""The training of a perceptron in numpy and float64: the answer that each library must give.

A perceptron with ReLU, softmax cross-entropy, stochastic gradient descent with momentum:
v <- momentum v + gradient, w <- w - rate v.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

SIZES = (64, 128, 128, 10)
BATCH = 32
RATE = 0.05
MOMENTUM = 0.9
CHECKED_STEPS = 40

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Task:
    """What is trained on, the same for every variant.

    Attributes:
        images: float32, (steps, BATCH, 64), from 0 to 1.
        labels: int64, (steps, BATCH).
        weights: float32, (out, in) for each layer.
        biases: float32, (out,) for each layer.
    """

    images: Array
    labels: Array
    weights: list[Array]
    biases: list[Array]

    def arrays(self) -> dict[str, Array]:
        """The task by the names under which :func:`load` finds it."""
        arrays = {"images": self.images, "labels": self.labels}
        arrays |= {f"weight{i}": w for i, w in enumerate(self.weights)}
        arrays |= {f"bias{i}": b for i, b in enumerate(self.biases)}
        return arrays

    def save(self, path: Path) -> None:
        """Writes the task for the measured processes; :func:`load` reads it."""
        arrays: dict[str, Any] = self.arrays()
        np.savez(path, **arrays)


def load(path: Path) -> Task:
    """Reads what :meth:`Task.save` wrote; nothing in the file is executed."""
    with np.load(path, allow_pickle=False) as data:
        layers = range(len(SIZES) - 1)
        return Task(
            data["images"],
            data["labels"],
            [data[f"weight{i}"] for i in layers],
            [data[f"bias{i}"] for i in layers],
        )


def make_task(images: Array, labels: Array, seed: int = 0) -> Task:
    """Shuffles one epoch into whole batches, and draws initial weights as nn.Linear does.

    Args:
        images: (count, 64), from 0 to 16 as scikit-learn has them.
        labels: (count,), from 0 to 9.
        seed: of the order and the weights.
    """
    rng = np.random.default_rng(seed)
    steps = len(labels) // BATCH
    order = rng.permutation(len(labels))[: steps * BATCH].reshape(steps, BATCH)
    bounds = [1.0 / np.sqrt(fan_in) for fan_in in SIZES[:-1]]
    layers = list(zip(bounds, SIZES[:-1], SIZES[1:]))
    return Task(
        (images[order] / 16.0).astype(np.float32),
        labels[order].astype(np.int64),
        [rng.uniform(-b, b, (n, m)).astype(np.float32) for b, m, n in layers],
        [rng.uniform(-b, b, n).astype(np.float32) for b, m, n in layers],
    )


def reference_losses(task: Task, steps: int = CHECKED_STEPS) -> list[float]:
    """The loss of each of the first steps, before its update."""
    weights = [w.astype(np.float64) for w in task.weights]
    biases = [b.astype(np.float64) for b in task.biases]
    momenta = [np.zeros_like(p) for p in weights + biases]
    losses = []
    for step in range(steps):
        loss, gradients = _gradients(task, step % len(task.labels), weights, biases)
        losses.append(loss)
        for parameter, momentum, gradient in zip(weights + biases, momenta, gradients):
            momentum *= MOMENTUM
            momentum += gradient
            parameter -= RATE * momentum
    return losses


def _gradients(
    task: Task, batch: int, weights: list[Array], biases: list[Array]
) -> tuple[float, list[Array]]:
    """The mean loss of a batch, and the gradients of the weights, then of the biases."""
    inputs = [task.images[batch].astype(np.float64)]
    for layer, (weight, bias) in enumerate(zip(weights, biases)):
        output = inputs[-1] @ weight.T + bias
        inputs.append(np.maximum(output, 0.0) if layer < len(weights) - 1 else output)
    rows, labels = np.arange(BATCH), task.labels[batch]
    shifted = inputs[-1] - inputs[-1].max(axis=1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    flow = np.exp(logs)
    flow[rows, labels] -= 1.0
    flow /= BATCH
    of_weights: list[Array] = []
    of_biases: list[Array] = []
    for layer in reversed(range(len(weights))):
        of_weights.insert(0, flow.T @ inputs[layer])
        of_biases.insert(0, flow.sum(axis=0))
        flow = (flow @ weights[layer]) * (inputs[layer] > 0.0)
    return float(-logs[rows, labels].mean()), of_weights + of_biases
