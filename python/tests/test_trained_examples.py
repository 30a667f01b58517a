"""ResNet-18 and BERT as examples: they learn; a run that was killed goes on to the same numbers."""

from __future__ import annotations

import csv
import doctest
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support import must_fail

import oneflow as flow
from examples.bert import bert, sentences
from examples.console import training
from examples.console.options import UserError
from examples.resnet import resnet

# Small enough for seconds; the examples' own sizes are for people.
RESNET = ["--width", "8", "--epochs", "4", "--save-every", "5"]
BERT = ["--width", "32", "--lr", "3e-3", "--steps", "60", "--texts", "150", "--save-every", "5"]
PROGRAMS: dict[str, tuple[Any, list[str]]] = {"resnet": (resnet, RESNET), "bert": (bert, BERT)}


def command(name: str, *words: str) -> list[str]:
    module, usual = PROGRAMS[name]
    return [sys.executable, module.__file__, *usual, *words]


def environment(folder: Path) -> dict[str, str]:
    search = os.pathsep.join(sys.path)
    return {**os.environ, "PYTHONPATH": search, "BUILD_WORKING_DIRECTORY": str(folder)}


def run(name: str, folder: Path, *words: str) -> str:
    """What the program prints, called in a folder."""
    done = subprocess.run(
        command(name, *words), capture_output=True, text=True, env=environment(folder), timeout=250
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def killed(name: str, folder: Path) -> None:
    """Starts the program and kills it once it has saved something."""
    process = subprocess.Popen(
        command(name), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(folder)
    )
    checkpoint = folder / f"{name}.run.of"
    end = time.monotonic() + 200.0
    while not checkpoint.exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert checkpoint.exists() and not (folder / f"{name}.csv").exists()


def losses(folder: Path, name: str) -> list[float]:
    with open(folder / f"{name}.csv", encoding="ascii") as file:
        return [float(row["loss"]) for row in csv.DictReader(file)]


@pytest.fixture(name="trained", scope="module", params=list(PROGRAMS))
def fixture_trained(
    request: Any, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path, str]:
    """(program, folder, what was printed) of a run that nobody disturbed."""
    folder = tmp_path_factory.mktemp(request.param)
    return request.param, folder, run(request.param, folder)


def test_it_learns(trained: tuple[str, Path, str]) -> None:
    name, folder, output = trained
    curve = losses(folder, name)
    assert np.mean(curve[-10:]) < 0.9 * np.mean(curve[:5])
    assert (folder / f"{name}.png").stat().st_size > 5000
    if name == "resnet":
        found = re.search(r"accuracy on 449 held-out pictures: ([\d.]+)%", output)
        assert found and float(found[1]) > 60.0
    else:
        assert "held-out text, masked words: loss" in output


def check_same(name: str, folder: Path, undisturbed: Path) -> None:
    """The curve and the weights of a run are those of another."""
    assert losses(folder, name) == losses(undisturbed, name)
    key = "network" if name == "resnet" else "model"
    mine, theirs = (flow.load(str(f / f"{name}.of"))[key] for f in (folder, undisturbed))
    for parameter, value in theirs.items():
        np.testing.assert_array_equal(mine[parameter].numpy(), value.numpy(), parameter)


def test_a_killed_run_goes_on_to_the_same_numbers(
    trained: tuple[str, Path, str], tmp_path: Path
) -> None:
    name, undisturbed, _ = trained
    killed(name, tmp_path)
    output = run(name, tmp_path, "--resume")
    done = re.search(r"(\d+) steps in", output)
    assert done and 0 < int(done[1]) < len(losses(undisturbed, name))
    check_same(name, tmp_path, undisturbed)


def test_control_of_the_same_numbers(trained: tuple[str, Path, str], tmp_path: Path) -> None:
    """A checkpoint whose moments were lost, and for text one whose random numbers were."""
    name, undisturbed, _ = trained
    killed(name, tmp_path)
    path = str(tmp_path / f"{name}.run.of")
    state = flow.load(path)
    if name == "bert":
        flow.manual_seed(1)
        state["random"] = flow.get_rng_state()
    else:
        for key, value in state["graph"].items():
            if key.endswith("momentum_buf"):
                value.zero_()
    flow.save(state, path)
    run(name, tmp_path, "--resume")
    must_fail(check_same, name, tmp_path, undisturbed)


def test_what_cannot_be_resumed(trained: tuple[str, Path, str], tmp_path: Path, capfd: Any) -> None:
    name, undisturbed, _ = trained
    module, usual = PROGRAMS[name]
    for words, said in (
        (["--out", str(tmp_path)], "there is no checkpoint"),
        (["--out", str(undisturbed), "--seed", "1"], "is no checkpoint of this program"),
    ):
        assert module.main([*usual, "--resume", *words]) == 1
        assert said in capfd.readouterr().err
    longer = ["--epochs", "5"] if name == "resnet" else ["--steps", "61"]
    assert module.main([*usual, *longer, "--resume", "--out", str(undisturbed)]) == 1
    assert "is of a run of" in capfd.readouterr().err
    for wrong in (["--width", "0"], ["--lr", "-1"], ["--width", "x"]):
        with pytest.raises(SystemExit):
            module.parse(wrong)


def test_a_checkpoint_that_is_another_models_is_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "x.of")
    graph = resnet.Train(resnet.make_network(8), 0.1, 2)
    made = training.Training("k", path, graph, lambda step: (), 2, 0)
    flow.save({"kind": "k", "steps": 2, "graph": {}, "losses": []}, path)
    with pytest.raises(UserError, match="does not fit"):
        made.resume()
    with pytest.raises(UserError, match="cannot write"):
        training.Training("k", str(tmp_path / "x.of" / "y"), graph, lambda step: (), 2, 1).save()


def test_a_loss_that_is_no_number_ends_the_run(tmp_path: Path) -> None:
    def graph(x: Any) -> Any:
        return x.sum() * float("nan")

    made = training.Training("k", str(tmp_path / "x"), graph, lambda step: (np.ones(2),), 3, 0)
    with pytest.raises(UserError, match="loss of step 1 is nan"):
        made.run(1)


def test_batches_depend_on_their_number_only() -> None:
    rng = np.random.default_rng(0)
    pixels = rng.random((200, 1, 8, 8), dtype=np.float32)
    batches = resnet.Batches(pixels, np.arange(200), seed=3)
    first, again = batches(7), batches(7)
    np.testing.assert_array_equal(first[0], again[0])
    assert batches.each == 3 and first[0].shape == (64, 1, 8, 8)
    seen = np.concatenate([batches(step)[1] for step in range(3)])
    assert len(set(seen.tolist())) == len(seen) == 192


def test_sentences() -> None:
    first = "The first sentence has a number of words. x = 3"
    text = f"{first}\n\nThe second one has as many of them as the first one has."
    seen: set[str] = set()
    found = sentences.sentences_of(text, seen)
    assert [words[1] for words in found] == ["second"]
    assert sentences.sentences_of(text, seen) == []


def test_masked_pairs() -> None:
    corpus = sentences.Corpus(least=2, limit=60)
    train, held_out = corpus.split(0.1, 0)
    assert len(held_out) == len(corpus.texts) // 10 and len(train) + len(held_out) == len(
        corpus.texts
    )
    known = len(corpus.words)
    words, kinds, labels, follows = sentences.batch(train, 64, 64, known, 0)
    again = sentences.batch(train, 64, 64, known, 0)
    for one, other in zip((words, kinds, labels, follows), again):
        np.testing.assert_array_equal(one, other)
    asked = labels != sentences.IGNORED
    assert 0.10 < asked.sum() / (words >= sentences.SPECIAL).sum() < 0.20
    assert 0.7 < (words[asked] == sentences.MASK).mean() < 0.9
    assert (words[:, 0] == sentences.START).all() and words.max() < known
    assert 0.3 < follows.mean() < 0.7 and set(kinds.ravel()) == {0, 1}


def test_counting_words() -> None:
    """Of a chain of words whose next one is known, and what it says of words that never met."""
    chain = np.arange(5, 25)
    texts = [[chain, chain[::-1]] * 50]
    counts = sentences.Counts(texts, 30)
    assert counts.share.sum() == pytest.approx(1.0)
    every = np.arange(30)
    for before in (5, sentences.START, 29):
        sums = sum(np.exp(-counts.losses(np.array([before]), every[w : w + 1])[1]) for w in every)
        assert sums == pytest.approx(1.0)
    # Each word is followed by one of two in turn: ln 2, and a little for what was never seen.
    by_frequency, by_word_before = counts.losses(chain[1:-1], chain[2:])
    assert by_frequency == pytest.approx(np.log(21.0), rel=0.05)
    assert np.log(2.0) < by_word_before < np.log(2.0) + 0.05
    assert counts.right(np.array([sentences.START]), np.array([5])) in (0.0, 1.0)
    # Words that never met are as unlikely as they should be.
    assert counts.losses(chain, chain)[1] > 5.0


def test_asked_places() -> None:
    assert doctest.testmod(sentences).failed == 0
    labels = np.full((4, 8), sentences.IGNORED)
    labels[1, 3], labels[3, 7] = 11, 12
    places, targets = sentences.asked_places(labels, 5)
    assert places.tolist() == [11, 31, 0, 0, 0] and targets.tolist() == [11, 12, -100, -100, -100]
    assert sentences.asked_places(labels, 1)[1].tolist() == [11]


def test_the_loss_of_asked_places_is_that_of_all_places() -> None:
    """The graph names words where they are asked for; bench's model does so everywhere."""
    corpus = sentences.Corpus(least=2, limit=60)
    known = len(corpus.words)
    model = bert.make_model(known, 32).eval()
    words, kinds, labels, follows = sentences.batch(corpus.texts, 4, 64, known, 1)
    want = float(model(*map(flow.tensor, (words, kinds, labels, follows))).item())
    graph = bert.Pretrain(model, 1e-9, 10)
    arrays = (words, kinds, *sentences.asked_places(labels, 128), follows)
    assert float(graph(*map(flow.tensor, arrays)).item()) == pytest.approx(want, rel=1e-5)


def test_places_start_as_waves() -> None:
    waves = bert.waves(64, 32)
    assert waves.shape == (64, 32) and np.abs(waves).max() <= 1.0
    near, far = (waves[:-k] * waves[k:] for k in (1, 20))
    assert near.sum(1).min() > far.sum(1).max()
