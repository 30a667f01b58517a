"""Trains a small convolutional network on handwritten digits, and names digits with it.

    tools/bazel run //examples:digits                          leaves digits.of and digits.png
    tools/bazel run //examples:digits -- --predict digits.of   names the held-out digits

The data are scikit-learn's: 1,797 scans of 8 x 8 pixels, which its wheel brings. A quarter is held
out. The network has two convolutions and two linear layers, with dropout; AdamW trains it in
batches of 32, with a learning rate that falls along a cosine. In training each digit is shifted by
up to one pixel, at random.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from typing import Any

import numpy as np

import oneflow as flow
from examples.console import options as console
from examples.console.options import UserError, one_line
from examples.console.progress import Progress
from examples.digits import picture
from oneflow import nn
from oneflow.utils.data import DataLoader, Dataset

HELD_OUT = 0.25
KIND = "digits: convolutions 32, 64, linear 128"


class ShiftedDigits(Dataset[Any]):
    """Pictures with their labels; a picture is moved by -1, 0 or 1 pixels each way.

    Args:
        pixels: (N, 1, 8, 8) float32, as NumPy
        labels: (N,) int64
        seed: of the shifts
    """

    def __init__(self, pixels: Any, labels: Any, seed: int) -> None:
        self.padded = np.pad(pixels, ((0, 0), (0, 0), (1, 1), (1, 1)))
        self.labels = labels
        self.rng = np.random.default_rng(seed)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: Any) -> tuple[Any, Any]:
        down, right = self.rng.integers(0, 3, 2)
        return self.padded[index, :, down : down + 8, right : right + 8], self.labels[index]


def make_network() -> nn.Sequential:
    """The network with fresh weights: (N, 1, 8, 8) pixels from 0 to 1 in, (N, 10) scores out."""
    return nn.Sequential(
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


def load_digits(seed: int) -> tuple[Any, Any, Any, Any]:
    """(training pixels, training labels, held-out pixels, held-out labels), as NumPy arrays.

    The split depends on nothing but the seed. Pixels are (N, 1, 8, 8) float32 from 0 to 1, labels
    int64.
    """
    from sklearn.datasets import load_digits as load_from_wheel

    data = load_from_wheel()
    pixels = (data.data / 16.0).astype(np.float32).reshape(-1, 1, 8, 8)
    labels = data.target.astype(np.int64)
    order = np.random.default_rng(seed).permutation(len(labels))
    held_out, training = np.split(order, [int(len(order) * HELD_OUT)])
    return pixels[training], labels[training], pixels[held_out], labels[held_out]


def train(
    network: nn.Module, pixels: Any, labels: Any, epochs: int, lr: float, seed: int
) -> list[float]:
    """Trains the network; returns the loss of each step. UserError if the loss is no number."""
    batches = DataLoader(ShiftedDigits(pixels, labels, seed), batch_size=32, shuffle=True)
    loss_of = nn.CrossEntropyLoss()
    optimizer = flow.optim.AdamW(network.parameters(), lr=lr)
    schedule = flow.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)
    progress = Progress(epochs * len(batches))
    losses: list[float] = []
    network.train()
    for epoch in range(1, epochs + 1):
        for x, y in batches:
            loss = loss_of(network(x), y)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            if not math.isfinite(losses[-1]):
                progress.close()
                raise UserError(
                    f"the loss of step {len(losses)} is {losses[-1]}: training diverged; "
                    f"try a smaller --lr than {lr:g}"
                )
            progress.step(len(losses), f"epoch {epoch} of {epochs}, loss {losses[-1]:.4f}")
        schedule.step()
        mean = sum(losses[-len(batches) :]) / len(batches)
        if epoch == 1 or epoch % 5 == 0 or epoch == epochs:
            progress.line(f"epoch {epoch:3d}: loss {mean:.4f}")
    progress.close()
    return losses


def predict(network: nn.Module, pixels: Any) -> Any:
    """The digits that the network sees, (N,) as NumPy."""
    network.eval()
    with flow.no_grad():
        return network(flow.tensor(pixels)).argmax(dim=1).numpy()


def load_network(path: str) -> tuple[nn.Module, int]:
    """The network of a checkpoint, and the seed of its split; UserError if it is none."""
    found = console.load_checkpoint(flow.load, path, KIND)
    network = make_network()
    try:
        network.load_state_dict(found["network"])
        return network, int(found["seed"])
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise UserError(f"the checkpoint {path!r} does not fit: {one_line(error)}") from None


def run_training(options: argparse.Namespace) -> float:
    """Trains, saves and draws; returns the accuracy on held-out digits."""
    console.make_folder(options.out)
    flow.manual_seed(options.seed)
    x, y, held_out_x, held_out_y = load_digits(options.seed)
    network = make_network()
    started = time.monotonic()
    losses = train(network, x, y, options.epochs, options.lr, options.seed)
    seconds = time.monotonic() - started
    predicted = predict(network, held_out_x)
    accuracy = float((predicted == held_out_y).mean())
    checkpoint = os.path.join(options.out, "digits.of")
    image = os.path.join(options.out, "digits.png")
    try:
        flow.save({"kind": KIND, "seed": options.seed, "network": network.state_dict()}, checkpoint)
        picture.draw(image, losses, held_out_x.reshape(-1, 8, 8), held_out_y, predicted)
    except OSError as error:
        raise UserError(f"cannot write to {options.out!r}: {one_line(error)}") from None
    print(f"{len(losses)} steps in {seconds:.1f} s")
    print(f"accuracy on {len(held_out_y)} held-out digits: {accuracy:.2%}")
    print(f"checkpoint: {checkpoint}\npicture:    {image}")
    return accuracy


def run_prediction(options: argparse.Namespace) -> float:
    """Names the held-out digits with a checkpoint; returns the accuracy."""
    network, seed = load_network(options.predict)
    _, _, pixels, labels = load_digits(seed)
    predicted = predict(network, pixels)
    accuracy = float((predicted == labels).mean())
    for start in range(0, min(len(labels), 60), 20):
        row = slice(start, start + 20)
        print("digit ", *labels[row])
        print("seen  ", *predicted[row], end="\n\n")
    print(f"accuracy on {len(labels)} held-out digits: {accuracy:.2%}")
    return accuracy


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options. Paths are relative to the folder in which the user called the program."""
    parser = argparse.ArgumentParser(prog="digits", description=(__doc__ or "").split("\n")[0])
    number = console.positive
    parser.add_argument("--epochs", type=number(int), default=30, help="passes over the data")
    parser.add_argument("--lr", type=number(float), default=0.002, help="learning rate")
    parser.add_argument("--seed", type=console.seed, default=0, help="of split, weights and order")
    parser.add_argument("--out", default=".", help="folder for digits.of and digits.png")
    parser.add_argument("--predict", metavar="FILE", help="use this checkpoint; do not train")
    options = parser.parse_args(arguments)
    options.out = console.from_users_folder(options.out)
    if options.predict is not None:
        options.predict = console.from_users_folder(options.predict)
    return options


def main(arguments: list[str] | None = None) -> int:
    """Runs the program; returns its status."""
    options = parse(arguments)
    run = run_training if options.predict is None else run_prediction
    return console.status_of("digits", lambda: run(options))


if __name__ == "__main__":
    sys.exit(main())
