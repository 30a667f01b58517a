"""A training by a graph that can be killed and resumed, and gives the same curve.

Everything that a step depends on is either a function of its number (which samples, how they are
changed), or in the checkpoint: parameters, buffers, the optimizer's state, the schedule, the state
of the random numbers.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Callable, Sequence
from typing import Any

import oneflow as flow
from examples.console import options as console
from examples.console.options import UserError
from examples.console.progress import Progress


class Training:
    """Steps of a graph with checkpoints.

    Args:
        kind: names the program and its shape; a checkpoint of another kind is refused
        path: of the checkpoint
        graph: called with the tensors of a batch, gives the loss; not called yet
        batch: the NumPy arrays of a step, by its number from 0
        steps: how many
        every: steps between checkpoints; 0 for none

    Attributes:
        losses: of all steps so far, those before a resumption included

    Thread safety: none.
    """

    def __init__(
        self,
        kind: str,
        path: str,
        graph: Any,
        batch: Callable[[int], Sequence[Any]],
        steps: int,
        every: int,
    ) -> None:
        self.kind, self.path, self.graph, self.batch = kind, path, graph, batch
        self.steps, self.every = steps, every
        self.losses: list[float] = []

    def resume(self) -> None:
        """Goes to where the checkpoint was written. UserError if there is none that fits."""
        found = console.load_checkpoint(flow.load, self.path, self.kind)
        try:
            if found["steps"] != self.steps:
                raise UserError(
                    f"{self.path!r} is of a run of {found['steps']} steps, not of {self.steps}"
                )
            self.graph.load_state_dict(found["graph"])
            flow.set_rng_state(found["random"])
            self.losses = [float(loss) for loss in found["losses"]]
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            words = console.one_line(error)
            raise UserError(f"the checkpoint {self.path!r} does not fit: {words}") from None

    def save(self) -> None:
        """Writes the checkpoint; who is killed meanwhile leaves the one before. UserError if it
        cannot be written.
        """
        state = {
            "kind": self.kind,
            "steps": self.steps,
            "graph": self.graph.state_dict(),
            "random": flow.get_rng_state(),
            "losses": self.losses,
        }
        try:
            flow.save(state, self.path + ".part")
            os.replace(self.path + ".part", self.path)
        except OSError as error:
            words = console.one_line(error)
            raise UserError(f"cannot write to {self.path!r}: {words}") from None

    def run(self, say_every: int) -> None:
        """Runs the steps that are left. UserError if a loss is no number."""
        progress = Progress(self.steps)
        try:
            while len(self.losses) < self.steps:
                arrays = self.batch(len(self.losses))
                self.losses.append(float(self.graph(*map(flow.tensor, arrays)).item()))
                self._look(progress, say_every)
        finally:
            progress.close()

    def _look(self, progress: Progress, say_every: int) -> None:
        """After each step: is it still a number, is it time to save, to print."""
        done, loss = len(self.losses), self.losses[-1]
        if not math.isfinite(loss):
            raise UserError(f"the loss of step {done} is {loss}: try a smaller --lr")
        if self.every and (done % self.every == 0 or done == self.steps):
            self.save()
        progress.step(done, f"step {done} of {self.steps}, loss {loss:.3f}")
        if done == 1 or done % say_every == 0 or done == self.steps:
            last = self.losses[-say_every:]
            progress.line(f"step {done:5d}: loss {sum(last) / len(last):.3f}")


def write_curve(path: str, losses: Sequence[float]) -> None:
    """A CSV file with the loss of each step, in full digits."""
    with open(path, "w", newline="", encoding="ascii") as file:
        table = csv.writer(file)
        table.writerow(["step", "loss"])
        table.writerows((step, repr(loss)) for step, loss in enumerate(losses, 1))


def draw_curve(path: str, losses: Sequence[float], title: str, levels: dict[str, float]) -> None:
    """A picture of the losses with their moving average, and of levels to compare them with.

    Args:
        path: where to; PNG or SVG by its ending
        losses: of each step
        title: of the picture
        levels: named horizontal lines
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    width = max(1, len(losses) // 40)
    mean = [
        sum(losses[max(0, i - width) : i + 1]) / len(losses[max(0, i - width) : i + 1])
        for i in range(len(losses))
    ]
    figure, axes = pyplot.subplots(figsize=(8.0, 4.5), layout="constrained")
    axes.plot(losses, color="lightsteelblue", linewidth=0.8, label="each step")
    axes.plot(mean, color="navy", label="average")
    for number, (name, level) in enumerate(levels.items()):
        color = ("firebrick", "darkgreen", "darkorange")[number % 3]
        axes.axhline(level, color=color, linewidth=0.9, label=name)
    axes.set_title(title)
    axes.set_xlabel("step")
    axes.set_ylabel("loss")
    axes.legend()
    figure.savefig(path)
    pyplot.close(figure)
