"""Trains a small network on handwritten digits, and names digits with it.

    tools/bazel run //examples:digits                          leaves digits.of and digits.png
    tools/bazel run //examples:digits -- --predict digits.of   names the held-out digits

The data are scikit-learn's: 1,797 scans of 8 x 8 pixels, which its wheel brings. A quarter is held
out. The network is a perceptron 64-128-128-10 with rectifiers, trained by SGD with momentum in
batches of 32.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import tempfile
import time
from typing import Any

import numpy as np

import oneflow as flow
from examples.digits import picture
from examples.digits.progress import Progress
from oneflow import nn
from oneflow.utils.data import DataLoader, TensorDataset

SIZES = (64, 128, 128, 10)
HELD_OUT = 0.25
KIND = "digits: perceptron 64-128-128-10"


class DigitsError(Exception):
    """Something that the user can put right; the message is one line."""


def make_network() -> nn.Sequential:
    """The network with fresh weights: (N, 64) pixels from 0 to 1 in, (N, 10) scores out."""
    layers: list[nn.Module] = []
    for inputs, outputs in zip(SIZES, SIZES[1:]):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def load_digits(seed: int) -> tuple[Any, Any, Any, Any]:
    """(training pixels, training labels, held-out pixels, held-out labels), as NumPy arrays.

    The split depends on nothing but the seed. Pixels are float32 from 0 to 1, labels int64.
    """
    from sklearn.datasets import load_digits as load_from_wheel

    data = load_from_wheel()
    pixels = (data.data / 16.0).astype(np.float32)
    labels = data.target.astype(np.int64)
    order = np.random.default_rng(seed).permutation(len(labels))
    held_out, training = np.split(order, [int(len(order) * HELD_OUT)])
    return pixels[training], labels[training], pixels[held_out], labels[held_out]


def train(network: nn.Module, pixels: Any, labels: Any, epochs: int, lr: float) -> list[float]:
    """Trains the network; returns the loss of each step. DigitsError if the loss is no number."""
    data = TensorDataset(flow.tensor(pixels), flow.tensor(labels))
    batches = DataLoader(data, batch_size=32, shuffle=True)
    loss_of = nn.CrossEntropyLoss()
    optimizer = flow.optim.SGD(network.parameters(), lr=lr, momentum=0.9)
    progress = Progress(epochs * len(batches))
    losses: list[float] = []
    for epoch in range(1, epochs + 1):
        for x, y in batches:
            loss = loss_of(network(x), y)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            if not math.isfinite(losses[-1]):
                progress.close()
                raise DigitsError(
                    f"the loss of step {len(losses)} is {losses[-1]}: training diverged; "
                    f"try a smaller --lr than {lr:g}"
                )
            progress.step(len(losses), f"epoch {epoch} of {epochs}, loss {losses[-1]:.4f}")
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
    """The network of a checkpoint, and the seed of its split; DigitsError if it is none."""
    try:
        found = flow.load(path)
    except FileNotFoundError:
        raise DigitsError(f"there is no checkpoint {path!r}; train without --predict") from None
    except (OSError, RuntimeError) as error:
        raise DigitsError(f"cannot read the checkpoint {path!r}: {_one_line(error)}") from None
    if not isinstance(found, dict) or found.get("kind") != KIND:
        raise DigitsError(f"{path!r} is no checkpoint of this program")
    network = make_network()
    try:
        network.load_state_dict(found["network"])
        return network, int(found["seed"])
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise DigitsError(f"the checkpoint {path!r} does not fit: {_one_line(error)}") from None


def _make_folder(folder: str) -> None:
    """Before the training, which would be lost without a place for its result."""
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except FileExistsError:
        raise DigitsError(f"--out expects a folder, got {folder!r}, which is none") from None
    except OSError as error:
        raise DigitsError(f"cannot write to {folder!r}: {_one_line(error)}") from None


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def run_training(options: argparse.Namespace) -> float:
    """Trains, saves and draws; returns the accuracy on held-out digits."""
    _make_folder(options.out)
    flow.manual_seed(options.seed)
    x, y, held_out_x, held_out_y = load_digits(options.seed)
    network = make_network()
    started = time.monotonic()
    losses = train(network, x, y, options.epochs, options.lr)
    seconds = time.monotonic() - started
    predicted = predict(network, held_out_x)
    accuracy = float((predicted == held_out_y).mean())
    checkpoint = os.path.join(options.out, "digits.of")
    image = os.path.join(options.out, "digits.png")
    try:
        flow.save({"kind": KIND, "seed": options.seed, "network": network.state_dict()}, checkpoint)
        picture.draw(image, losses, held_out_x.reshape(-1, 8, 8), held_out_y, predicted)
    except OSError as error:
        raise DigitsError(f"cannot write to {options.out!r}: {_one_line(error)}") from None
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
    parser.add_argument("--epochs", type=_positive(int), default=20, help="passes over the data")
    parser.add_argument("--lr", type=_positive(float), default=0.05, help="learning rate")
    parser.add_argument("--seed", type=_seed, default=0, help="of the split, weights and order")
    parser.add_argument("--out", default=".", help="folder for digits.of and digits.png")
    parser.add_argument("--predict", metavar="FILE", help="use this checkpoint; do not train")
    options = parser.parse_args(arguments)
    # `bazel run` starts programs elsewhere, and says here where the user was.
    base = os.environ.get("BUILD_WORKING_DIRECTORY", os.getcwd())
    options.out = os.path.normpath(os.path.join(base, options.out))
    if options.predict is not None:
        options.predict = os.path.normpath(os.path.join(base, options.predict))
    return options


def _positive(kind: type) -> Any:
    def number(text: str) -> Any:
        value = kind(text)
        if not 0 < value < 1e6:
            raise argparse.ArgumentTypeError(f"expects a number above 0, got {text}")
        return value

    number.__name__ = kind.__name__
    return number


def _seed(text: str) -> int:
    value = int(text)
    if not 0 <= value < 2**63:
        raise argparse.ArgumentTypeError(f"expects a whole number of at least 0, got {text}")
    return value


# What argparse calls the type in "invalid int value".
_seed.__name__ = "int"


def main(arguments: list[str] | None = None) -> int:
    """Runs the program; returns its status."""
    options = parse(arguments)
    try:
        if options.predict is not None:
            run_prediction(options)
        else:
            run_training(options)
    except DigitsError as error:
        print(f"digits: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ndigits: interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
