"""Whether the weights of real packages fit bench's ResNet-50: `real_weights.py save|load ...`.

    python -m bench.models.real_weights save torchvision FILE     with a Python that has torchvision
    python -m bench.models.real_weights load oneflow FILE         with a Python that has OneFlow

`save` makes the package's own resnet50, gives it the weights of weights.py and running means and
variances, loads its state dict into bench's model of the same library, names and shapes strictly,
and compares the scores of two pictures. FILE (.npz) keeps the state, the pictures and the scores.
`load` loads that state into the model of a library, and compares its scores with the package's.

Exit status: 0 the same; 1 not; 2 usage.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.models import resnet, weights
from bench.models.task import SETTINGS

Array = npt.NDArray[Any]
# The package that defines a model, and the library below it.
PACKAGES = {"torchvision": "torch", "flowvision": "oneflow"}
PICTURES, SCORES, STATE = "pictures", "scores", "state/"
# Of the largest score. The same operations in another order differ by some 1e-6.
TOLERANCE = 2e-5


class Misfit(Exception):
    """A state dict has other names or shapes than bench's model."""


def pictures() -> Array:
    """(2, 3, 224, 224) float32."""
    rng = weights.rng_of("real weights")
    return rng.standard_normal((2, 3, 224, 224), dtype=np.float32)


def make_theirs(package: str, library: Any) -> Any:
    """The package's own resnet50 with known weights, in evaluation mode."""
    model = importlib.import_module(f"{package}.models").resnet50()
    weights.fill(library, model.named_parameters())
    with library.no_grad():
        for name, buffer in model.named_buffers():
            if buffer.ndim == 1:
                rng, shape = weights.rng_of(name), tuple(buffer.shape)
                mean = name.endswith("running_mean")
                # Means near 0: else so few pixels pass the first relus that nothing is left to see.
                values = rng.normal(0, 0.1, shape) if mean else rng.uniform(0.5, 1.5, shape)
                buffer.copy_(library.tensor(values.astype(np.float32)))
    return model.eval()


def make_ours(library: Any, state: Mapping[str, Any]) -> Any:
    """Bench's model with a state dict, in evaluation mode.

    Raises:
        Misfit: names or shapes differ.
    """
    model = resnet.make(library, resnet.RESNET50)
    try:
        model.load_state_dict(dict(state), strict=True)
    except RuntimeError as error:
        raise Misfit(str(error)) from None
    return model.eval()


def scores_of(library: Any, model: Any, batch: Array) -> Array:
    """The result of a forward."""
    with library.no_grad():
        return np.asarray(model(library.tensor(batch)).numpy())


def distance(got: Array, want: Array) -> float:
    """The largest difference, as a share of the largest score."""
    return float(np.abs(got - want).max() / np.abs(want).max())


def save(package: str, file: Path) -> float:
    """Compares the package's model with bench's, and writes the file; returns the distance."""
    library = importlib.import_module(PACKAGES[package])
    theirs, batch = make_theirs(package, library), pictures()
    want, state = scores_of(library, theirs, batch), theirs.state_dict()
    arrays: dict[str, Any] = {PICTURES: batch, SCORES: want}
    arrays |= {STATE + name: np.asarray(tensor.numpy()) for name, tensor in state.items()}
    np.savez(file, **arrays)
    return distance(scores_of(library, make_ours(library, state), batch), want)


def load(name: str, file: Path) -> float:
    """Compares a library's model with the file's scores; returns the distance."""
    library = importlib.import_module(name)
    with np.load(file) as found:
        state = {
            key.removeprefix(STATE): library.tensor(found[key])
            for key in found.files
            if key.startswith(STATE)
        }
        batch, want = found[PICTURES], found[SCORES]
    return distance(scores_of(library, make_ours(library, state), batch), want)


def main(argv: Sequence[str] | None = None) -> int:
    """Compares, says so, and returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="real_weights",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=("save", "load"))
    parser.add_argument("name", choices=(*PACKAGES, *SETTINGS), metavar="PACKAGE|LIBRARY")
    parser.add_argument("file", type=Path, metavar="FILE")
    args = parser.parse_args(argv)
    if (args.name in PACKAGES) != (args.what == "save"):
        parser.error(f"save expects one of {[*PACKAGES]}, load one of {[*SETTINGS]}")
    try:
        apart = (save if args.what == "save" else load)(args.name, args.file)
    except Misfit as error:
        print(f"real_weights: {args.name}: the state dict does not load: {error}", file=sys.stderr)
        return 1
    agrees = apart <= TOLERANCE
    words = "as" if agrees else "NOT as"
    print(f"{args.what} {args.name}: the state dict loads strictly; scores {words} the package's")
    print(f"largest difference: {apart:.1e} of the largest score, allowed {TOLERANCE:.0e}")
    return 0 if agrees else 1


if __name__ == "__main__":
    sys.exit(main())
