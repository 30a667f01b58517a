"""Trains a network for 20 steps, from weights and data that NumPy makes; says what came out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tests.models.networks import NETWORKS

STEPS = 20
# Name: dtype, and the optimizer as a function of the library and the parameters.
OPTIMIZERS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "lenet": ("float64", lambda lib, p: lib.optim.SGD(p, lr=0.05, momentum=0.9)),
    "resnet18": (
        "float64",
        lambda lib, p: lib.optim.SGD(p, lr=1e-3, momentum=0.9, weight_decay=1e-4, nesterov=True),
    ),
    "transformer": ("float64", lambda lib, p: lib.optim.AdamW(p, lr=1e-3, weight_decay=0.01)),
    "lstm": ("float64", lambda lib, p: lib.optim.Adam(p, lr=1e-2)),
}


def data(name: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and classes of one step."""
    if name == "lenet":
        return rng.standard_normal((8, 1, 28, 28)), rng.integers(0, 10, 8)
    if name == "resnet18":
        return rng.standard_normal((4, 3, 40, 40)), rng.integers(0, 10, 4)
    if name == "transformer":
        return rng.integers(0, 50, (4, 12)), rng.integers(0, 50, 48)
    return rng.standard_normal((6, 7, 8)), rng.integers(0, 5, 6)


def train(library: Any, name: str, steps: int = STEPS) -> dict[str, Any]:
    """Losses, and a summary of each parameter and buffer after the steps."""
    dtype, make_optimizer = OPTIMIZERS[name]
    kind = getattr(library, dtype)
    model = NETWORKS[name](library).to(kind)
    rng = np.random.default_rng(0)
    with library.no_grad():
        for key, parameter in model.named_parameters():
            fan = int(np.prod(tuple(parameter.shape)[1:])) if parameter.ndim > 1 else 100
            values = rng.standard_normal(tuple(parameter.shape)) * (2.0 / fan) ** 0.5
            values += key.endswith(("bn1.weight", "bn2.weight", "norm1.weight", "norm2.weight"))
            parameter.copy_(library.tensor(values, dtype=kind))
    model.train()
    loss_of, optimizer = library.nn.CrossEntropyLoss(), make_optimizer(library, model.parameters())
    losses = []
    for _ in range(steps):
        inputs, classes = data(name, rng)
        whole = np.issubdtype(inputs.dtype, np.integer)
        x = library.tensor(inputs) if whole else library.tensor(inputs, dtype=kind)
        loss = loss_of(model(x), library.tensor(classes))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.item()))
    state = {key: summary(value) for key, value in model.state_dict().items()}
    return {"losses": losses, "state": state}


def summary(tensor: Any) -> list[float]:
    """Its sum, its norm, and seven of its elements."""
    flat = tensor.detach().numpy().astype(np.float64).ravel()
    picked = flat[np.linspace(0, flat.size - 1, 7).astype(int)]
    return [float(flat.sum()), float(np.linalg.norm(flat)), *map(float, picked)]
