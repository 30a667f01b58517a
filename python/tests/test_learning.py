"""The examples as people run them learn: accuracy, and a loss far below what counting gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples.bert import bert
from examples.resnet import resnet


def test_resnet_names_digits(tmp_path: Path) -> None:
    accuracy = resnet.run_training(resnet.parse(["--out", str(tmp_path)]))
    assert accuracy >= 0.97


@pytest.fixture(name="scores", scope="module")
def fixture_scores(tmp_path_factory: pytest.TempPathFactory) -> bert.Scores:
    """Of the whole run: some minutes on two cores."""
    folder = tmp_path_factory.mktemp("bert")
    return bert.run_training(bert.parse(["--out", str(folder)]))


def test_bert_is_far_below_counting(scores: bert.Scores) -> None:
    assert scores.by_word_before < scores.by_frequency - 0.5
    assert scores.loss < scores.by_word_before - 1.0
    assert scores.right > 1.7 * scores.right_before and scores.right > 0.35


def test_bert_tells_pairs(scores: bert.Scores) -> None:
    assert scores.pairs > 0.6
