"""Trains ResNet-18 on pictures of handwritten digits, as a graph.

    tools/bazel run //examples:resnet                 leaves resnet.of, resnet.csv and resnet.png
    tools/bazel run //examples:resnet -- --resume     goes on where a run was ended

The pictures are scikit-learn's: 1,797 scans of 8 x 8 pixels. A quarter is held out. The network has
a 3 x 3 convolution and no pooling at its entry, as it is usual for small pictures; SGD with
momentum trains it in batches of 64, with a learning rate that falls along a cosine. In training
each picture is shifted by up to one pixel, at random.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from typing import Any

import numpy as np

import oneflow as flow
from bench.models import resnet as network_module
from examples.console import options as console
from examples.console.options import UserError, one_line
from examples.console.training import Training, draw_curve, write_curve
from examples.digits.digits import load_digits
from oneflow import nn

BATCH = 64
STAGES = (2, 2, 2, 2)


def make_network(width: int) -> nn.Module:
    """ResNet-18 for one channel of 8 x 8: (N, 1, 8, 8) pixels in, (N, 10) scores out."""
    config = network_module.Config(
        STAGES, bottleneck=False, width=width, classes=10, channels=1, size=8, small=True
    )
    model: nn.Module = network_module.make(flow, config)
    return model


class Train(nn.Graph):
    """A step: forward, backward, the update and the schedule."""

    def __init__(self, network: nn.Module, lr: float, steps: int) -> None:
        super().__init__()
        self.network = network
        self.loss = nn.CrossEntropyLoss()
        sgd = flow.optim.SGD(network.parameters(), lr=lr, momentum=0.9, weight_decay=5e-4)
        schedule = flow.optim.lr_scheduler.CosineAnnealingLR(sgd, T_max=steps)
        self.add_optimizer(sgd, lr_sch=schedule)

    def build(self, pixels: Any, labels: Any) -> Any:
        """The loss of a batch."""
        loss = self.loss(self.network(pixels), labels)
        loss.backward()
        return loss


class Batches:
    """Which pictures a step sees, and how they are shifted: a function of its number.

    Args:
        pixels: (N, 1, 8, 8) float32, as NumPy
        labels: (N,) int64
        seed: of order and shifts
    """

    def __init__(self, pixels: Any, labels: Any, seed: int) -> None:
        self.padded = np.pad(pixels, ((0, 0), (0, 0), (1, 1), (1, 1)))
        self.labels, self.seed = labels, seed
        self.each = max(1, len(labels) // BATCH)  # steps of an epoch

    def __call__(self, step: int) -> tuple[Any, Any]:
        epoch, place = divmod(step, self.each)
        order = np.random.default_rng((self.seed, epoch)).permutation(len(self.labels))
        chosen = order[place * BATCH : (place + 1) * BATCH]
        shifts = np.random.default_rng((self.seed, epoch, place)).integers(0, 3, (len(chosen), 2))
        moved = [
            self.padded[index, :, down : down + 8, right : right + 8]
            for index, (down, right) in zip(chosen, shifts)
        ]
        return np.stack(moved), self.labels[chosen]


def accuracy_of(network: nn.Module, pixels: Any, labels: Any) -> float:
    """The share of pictures that are named right."""
    network.eval()
    with flow.no_grad():
        named = network(flow.tensor(pixels)).argmax(dim=1).numpy()
    return float((named == labels).mean())


def run_training(options: argparse.Namespace) -> float:
    """Trains, saves and draws; returns the accuracy on held-out pictures."""
    console.make_folder(options.out)
    flow.manual_seed(options.seed)
    x, y, held_out_x, held_out_y = load_digits(options.seed)
    batches = Batches(x, y, options.seed)
    steps = options.epochs * batches.each
    network = make_network(options.width)
    graph = Train(network.train(), options.lr, steps)
    path = os.path.join(options.out, "resnet")
    kind = f"resnet: width {options.width}, lr {options.lr:g}, seed {options.seed}"
    training = Training(kind, path + ".run.of", graph, batches, steps, options.save_every)
    if options.resume:
        training.resume()
    started, before = time.monotonic(), len(training.losses)
    training.run(batches.each)
    seconds = time.monotonic() - started
    accuracy = accuracy_of(network, held_out_x, held_out_y)
    try:
        flow.save({"kind": kind, "network": network.state_dict()}, path + ".of")
        write_curve(path + ".csv", training.losses)
        draw_curve(path + ".png", training.losses, f"held-out accuracy {accuracy:.2%}", {})
    except OSError as error:
        raise UserError(f"cannot write to {options.out!r}: {one_line(error)}") from None
    print(f"{len(training.losses) - before} steps in {seconds:.1f} s")
    print(f"accuracy on {len(held_out_y)} held-out pictures: {accuracy:.2%}")
    print(f"weights: {path}.of\ncurve:   {path}.csv, {path}.png")
    return accuracy


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options. Paths are relative to the folder in which the user called the program."""
    parser = argparse.ArgumentParser(prog="resnet", description=(__doc__ or "").split("\n")[0])
    number = console.positive
    parser.add_argument("--epochs", type=number(int), default=20, help="passes over the data")
    parser.add_argument("--width", type=number(int), default=64, help="channels of the first stage")
    parser.add_argument("--lr", type=number(float), default=0.05, help="learning rate at first")
    parser.add_argument("--seed", type=console.seed, default=0, help="of split, weights and order")
    parser.add_argument("--save-every", type=number(int), default=40, help="steps")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint")
    parser.add_argument("--out", default=".", help="folder for what it leaves")
    options = parser.parse_args(arguments)
    options.out = console.from_users_folder(options.out)
    return options


def main(arguments: list[str] | None = None) -> int:
    """Runs the program; returns its status."""
    options = parse(arguments)
    return console.status_of("resnet", lambda: run_training(options))


if __name__ == "__main__":
    sys.exit(main())
