"""The picture: the loss while training, and some held-out digits with what the network says."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

_COLUMNS = 8
_SMOOTH = 45  # steps in the moving average: one pass over the data


def draw(
    path: str,
    losses: Sequence[float],
    images: np.ndarray[Any, Any],
    labels: np.ndarray[Any, Any],
    predicted: np.ndarray[Any, Any],
) -> None:
    """Writes a PNG file; no display is needed.

    Args:
        path: where to
        losses: the loss of each training step
        images: (N, 8, 8), the held-out digits; wrong ones are shown first
        labels: (N,), what they are
        predicted: (N,), what the network says
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(11, 4.5), constrained_layout=True)
    left, right = figure.subfigures(1, 2, width_ratios=[1, 1.3])
    _draw_losses(left.subplots(), losses)
    wrong = predicted != labels
    order = np.concatenate([np.flatnonzero(wrong), np.flatnonzero(~wrong)])[: 4 * _COLUMNS]
    right.suptitle(f"held-out digits: {len(labels) - int(wrong.sum())} of {len(labels)} right")
    axes = right.subplots(4, _COLUMNS)
    for axis in axes.flat:
        axis.set_axis_off()
    for axis, index in zip(axes.flat, order):
        axis.imshow(images[index], cmap="gray_r")
        text = f"{predicted[index]}" + (f", is {labels[index]}" if wrong[index] else "")
        axis.set_title(text, fontsize=9, color="firebrick" if wrong[index] else "black")
    _save(figure, path)
    pyplot.close(figure)


def _draw_losses(axis: Any, losses: Sequence[float]) -> None:
    axis.plot(losses, color="lightsteelblue", linewidth=0.8, label="each step")
    if len(losses) > _SMOOTH:
        mean = np.convolve(losses, np.ones(_SMOOTH) / _SMOOTH, mode="valid")
        axis.plot(np.arange(_SMOOTH - 1, len(losses)), mean, color="navy", label="average")
    axis.set_yscale("log")
    axis.set_xlabel("step")
    axis.set_ylabel("cross-entropy (nats)")
    axis.set_title("loss while training")
    axis.legend()


def _save(figure: Any, path: str) -> None:
    """Complete or not there."""
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        figure.savefig(temporary, format="png", dpi=120)
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise
