"""The reference against finite differences, and against what training must do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench import digits_reference as reference


@pytest.fixture(name="task")
def fixture_task() -> reference.Task:
    """Digits that are blobs: each label has its own pattern, with noise."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 10, 200)
    patterns = rng.uniform(0.0, 16.0, (10, 64))
    return reference.make_task(patterns[labels] + rng.normal(0.0, 1.0, (200, 64)), labels)


def test_a_task_is_whole_batches_of_scaled_digits(task: reference.Task) -> None:
    assert task.images.shape == (6, 32, 64) and task.images.dtype == np.float32
    assert task.labels.shape == (6, 32) and task.labels.dtype == np.int64
    assert [w.shape for w in task.weights] == [(128, 64), (128, 128), (10, 128)]
    assert task.images.min() > -0.5 and task.images.max() < 1.5


def test_gradients_are_those_of_finite_differences(task: reference.Task) -> None:
    weights = [w.astype(np.float64) for w in task.weights]
    biases = [b.astype(np.float64) for b in task.biases]
    _, gradients = reference._gradients(task, 0, weights, biases)
    parameters = weights + biases
    for parameter, gradient in zip(parameters, gradients):
        place = np.unravel_index(np.abs(gradient).argmax(), gradient.shape)
        values = []
        for shift in (1e-6, -2e-6):
            parameter[place] += shift
            values.append(reference._gradients(task, 0, weights, biases)[0])
        parameter[place] += 1e-6
        assert (values[0] - values[1]) / 2e-6 == pytest.approx(gradient[place], rel=1e-4)


def test_the_first_loss_is_that_of_guessing_and_training_lowers_it(task: reference.Task) -> None:
    losses = reference.reference_losses(task, 120)
    assert losses[0] == pytest.approx(np.log(10.0), rel=0.05)
    assert losses[-1] < 0.1 * losses[0]


def test_a_task_survives_its_file(task: reference.Task, tmp_path: Path) -> None:
    task.save(tmp_path / "task.npz")
    again = reference.load(tmp_path / "task.npz")
    assert reference.reference_losses(again, 3) == reference.reference_losses(task, 3)


def test_a_file_with_code_in_it_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "task.npz", images=np.array([object()], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle"):
        reference.load(tmp_path / "task.npz")
