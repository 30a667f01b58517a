"""Pre-trains a small BERT on English text, as a graph: masked words, and pairs of sentences.

    tools/bazel run //examples:bert                 leaves bert.of, bert.csv and bert.png
    tools/bazel run //examples:bert -- --resume     goes on where a run was ended

The text is English that comes with Python and with pinned packages (sentences.py). A tenth is held
out. The loss is -ln p of the masked words, in nats, plus that of the sentence pair. What counting
gives for the same words, by how often they occur and by the word before, is printed beside it: the
model sees the words on both sides, and is far below: about 3.4 nats and 40 % right, against 4.9 and
19 % by the word before, after two minutes on two cores. It has 2 layers of width 128; AdamW trains
it with a rate that rises and falls.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

import oneflow as flow
from bench.models import bert as model_module
from examples.bert import sentences
from examples.bert.sentences import Corpus, Counts
from examples.console import options as console
from examples.console.options import UserError, one_line
from examples.console.training import Training, draw_curve, write_curve
from oneflow import nn

BATCH = 32
LENGTH = 64
HELD_OUT = 0.1
LAYERS, HEADS = 2, 4
HELD_OUT_BATCHES = 16
DROPOUT = 0.05
# In training twice as many words are asked for as on held-out text, which is BERT's share: each is
# a thing to learn from, and of so little text there are few. More than the bound are left out.
ASKED, MOST_ASKED = 0.3, 800


def make_model(words: int, width: int) -> nn.Module:
    """The model for a vocabulary."""
    config = model_module.Config(LAYERS, HEADS, width, words, LENGTH, dropout=DROPOUT)
    model: nn.Module = model_module.make(flow, config)
    # BERT's 0.02 is for a width of 768; products keep their size with 1 / sqrt(width).
    size = 0.02 * (768 / width) ** 0.5
    with flow.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim == 2:
                nn.init.normal_(parameter, 0.0, size)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)
        places = model.bert.embeddings.position_embeddings.weight
        places.copy_(flow.tensor(waves(LENGTH, width) * np.float32(size * 2**0.5)))
    return model


def waves(length: int, width: int) -> Any:
    """Sines and cosines of places, (length, width): neighbours are alike from the first step, so
    that attention need not learn first which places are near. They are trained like all the rest.
    """
    rates = 1.0 / 1000.0 ** (np.arange(0, width, 2) / width)
    angles = np.arange(length)[:, None] * rates
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(length, width).astype(np.float32)


class Pretrain(nn.Graph):
    """A step: forward, backward, the update and the schedule."""

    def __init__(self, model: nn.Module, lr: float, steps: int) -> None:
        super().__init__()
        self.model = model
        adamw = flow.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.01)

        def rate(step: int) -> float:
            rise = max(1, steps // 10)
            return min((step + 1) / rise, (steps - step) / max(1, steps - rise))

        self.add_optimizer(adamw, lr_sch=flow.optim.lr_scheduler.LambdaLR(adamw, rate))

    def build(self, words: Any, kinds: Any, places: Any, targets: Any, follows: Any) -> Any:
        """The loss of a batch; words are named where they are asked for, and nowhere else."""
        x, pooled = self.model.bert(words, kinds)
        named = self.model.named(x.reshape(-1, x.shape[2]).index_select(0, places))
        loss_of = nn.functional.cross_entropy
        loss = loss_of(named, targets, ignore_index=sentences.IGNORED)
        loss = loss + loss_of(self.model.cls.seq_relationship(pooled), follows)
        loss.backward()
        return loss


@dataclass(frozen=True)
class Scores:
    """On held-out text.

    Attributes:
        loss, right: of masked words, in nats, and the share that is named right
        pairs: the share of sentence pairs that is right
        by_frequency, by_word_before: the loss of counting, for the same words
        right_before: the share that is the most frequent word after the one before
    """

    loss: float
    right: float
    pairs: float
    by_frequency: float
    by_word_before: float
    right_before: float


def evaluate(model: Any, texts: list[Any], counts: Counts) -> Scores:
    """Of masked words and of pairs in a fixed sample of held-out text."""
    model.eval()
    known = counts.known
    losses, right, pairs = 0.0, 0, 0
    before, words_asked = [], []
    with flow.no_grad():
        for number in range(HELD_OUT_BATCHES):
            seed = (0, 1 << 20, number)
            words, kinds, labels, follows = sentences.batch(texts, BATCH, LENGTH, known, seed)
            named, related = model.scores(flow.tensor(words), flow.tensor(kinds))
            flat = named.reshape(-1, known)
            loss = nn.functional.cross_entropy(
                flat, flow.tensor(labels.reshape(-1)), ignore_index=sentences.IGNORED
            )
            here = labels != sentences.IGNORED
            losses += float(loss.item()) * int(here.sum())
            right += int((named.argmax(dim=-1).numpy() == labels)[here].sum())
            pairs += int((related.argmax(dim=-1).numpy() == follows).sum())
            shown = np.where(here, labels, words)
            before.append(shown[:, :-1][here[:, 1:]])
            words_asked.append(labels[here])
    last, asked = np.concatenate(before), np.concatenate(words_asked)
    last[last == sentences.END] = sentences.START  # counted as the beginning of a sentence
    by_frequency, by_word_before = counts.losses(last, asked)
    return Scores(
        losses / len(asked),
        right / len(asked),
        pairs / (HELD_OUT_BATCHES * BATCH),
        by_frequency,
        by_word_before,
        counts.right(last, asked),
    )


def run_training(options: argparse.Namespace) -> Scores:
    """Trains, saves and draws; returns what it reached on held-out text."""
    console.make_folder(options.out)
    flow.manual_seed(options.seed)
    corpus = Corpus(limit=options.texts)
    known = len(corpus.words)
    train, held_out = corpus.split(HELD_OUT, options.seed)
    model = make_model(known, options.width)
    graph = Pretrain(model.train(), options.lr, options.steps)
    path = os.path.join(options.out, "bert")
    kind = f"bert: width {options.width}, {known} words, lr {options.lr:g}, seed {options.seed}"

    def batch(step: int) -> tuple[Any, ...]:
        words, kinds, labels, follows = sentences.batch(
            train, BATCH, LENGTH, known, (options.seed, step), ASKED
        )
        return words, kinds, *sentences.asked_places(labels, MOST_ASKED), follows

    training = Training(kind, path + ".run.of", graph, batch, options.steps, options.save_every)
    if options.resume:
        training.resume()
    started, before = time.monotonic(), len(training.losses)
    training.run(100)
    seconds = time.monotonic() - started
    found = evaluate(model, held_out, Counts(train, known))
    levels = {
        f"held out, masked words {found.loss:.2f}": found.loss,
        f"by the word before {found.by_word_before:.2f}": found.by_word_before,
        f"by frequency {found.by_frequency:.2f}": found.by_frequency,
    }
    try:
        flow.save({"kind": kind, "words": corpus.words, "model": model.state_dict()}, path + ".of")
        write_curve(path + ".csv", training.losses)
        draw_curve(path + ".png", training.losses, "masked words and sentence pairs", levels)
    except OSError as error:
        raise UserError(f"cannot write to {options.out!r}: {one_line(error)}") from None
    print(f"{len(training.losses) - before} steps in {seconds:.1f} s")
    print(f"held-out text, masked words: loss {found.loss:.3f} nats, {found.right:.1%} right")
    print(
        f"counting gives by the word before {found.by_word_before:.3f} nats, "
        f"{found.right_before:.1%} right; by how often words occur {found.by_frequency:.3f} nats"
    )
    print(f"sentence pairs: {found.pairs:.1%} right")
    print(f"weights: {path}.of\ncurve:   {path}.csv, {path}.png")
    return found


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options. Paths are relative to the folder in which the user called the program."""
    parser = argparse.ArgumentParser(prog="bert", description=(__doc__ or "").split("\n")[0])
    number = console.positive
    parser.add_argument("--steps", type=number(int), default=4000, help="batches to train on")
    parser.add_argument("--width", type=number(int), default=128, help="of the encoder")
    parser.add_argument("--lr", type=number(float), default=2e-3, help="highest learning rate")
    parser.add_argument("--seed", type=console.seed, default=0, help="of weights, order and masks")
    parser.add_argument("--texts", type=console.seed, default=0, help="texts to read; 0 for all")
    parser.add_argument("--save-every", type=number(int), default=200, help="steps")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint")
    parser.add_argument("--out", default=".", help="folder for what it leaves")
    options = parser.parse_args(arguments)
    if options.width % HEADS:
        parser.error(f"--width expects a multiple of {HEADS}, got {options.width}")
    options.out = console.from_users_folder(options.out)
    return options


def main(arguments: list[str] | None = None) -> int:
    """Runs the program; returns its status."""
    options = parse(arguments)
    return console.status_of("bert", lambda: run_training(options))


if __name__ == "__main__":
    sys.exit(main())
