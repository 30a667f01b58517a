"""Pre-trains a small BERT on English text, as a graph: masked words, and pairs of sentences.

    tools/bazel run //examples:bert                 leaves bert.of, bert.csv and bert.png
    tools/bazel run //examples:bert -- --resume     goes on where a run was ended

The text is English that comes with Python and with NumPy, SciPy and scikit-learn (sentences.py). A
tenth is held out. The loss is -ln p of the masked words, in nats, plus that of the sentence pair;
guessing words by how often they occur gives about 6. The model has 4 layers of width 128; AdamW
trains it with a rate that rises and falls.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from typing import Any

import oneflow as flow
from bench.models import bert as model_module
from examples.bert import sentences
from examples.bert.sentences import Corpus
from examples.console import options as console
from examples.console.options import UserError, one_line
from examples.console.training import Training, draw_curve, write_curve
from oneflow import nn

BATCH = 32
LENGTH = 64
HELD_OUT = 0.1
LAYERS, HEADS = 4, 4
HELD_OUT_BATCHES = 16


def make_model(words: int, width: int) -> nn.Module:
    """The model for a vocabulary."""
    config = model_module.Config(LAYERS, HEADS, width, words=words, places=LENGTH)
    model: nn.Module = model_module.make(flow, config)
    with flow.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim == 2:
                nn.init.normal_(parameter, 0.0, 0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)
    return model


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

    def build(self, words: Any, kinds: Any, labels: Any, follows: Any) -> Any:
        """The loss of a batch."""
        loss = self.model(words, kinds, labels, follows)
        loss.backward()
        return loss


def evaluate(model: Any, texts: list[Any], known: int) -> tuple[float, float, float]:
    """On held-out text: the loss of masked words, the shares of them and of pairs right."""
    model.eval()
    losses, right, asked, pairs = 0.0, 0, 0, 0
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
            asked += int(here.sum())
            pairs += int((related.argmax(dim=-1).numpy() == follows).sum())
    return losses / asked, right / asked, pairs / (HELD_OUT_BATCHES * BATCH)


def run_training(options: argparse.Namespace) -> float:
    """Trains, saves and draws; returns the loss of masked words on held-out text."""
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
        return sentences.batch(train, BATCH, LENGTH, known, (options.seed, step))

    training = Training(kind, path + ".run.of", graph, batch, options.steps, options.save_every)
    if options.resume:
        training.resume()
    started, before = time.monotonic(), len(training.losses)
    training.run(100)
    seconds = time.monotonic() - started
    loss, right, pairs = evaluate(model, held_out, known)
    levels = {f"held out, masked words {loss:.2f}": loss, "by frequency": corpus.entropy}
    try:
        flow.save({"kind": kind, "words": corpus.words, "model": model.state_dict()}, path + ".of")
        write_curve(path + ".csv", training.losses)
        draw_curve(path + ".png", training.losses, "masked words and sentence pairs", levels)
    except OSError as error:
        raise UserError(f"cannot write to {options.out!r}: {one_line(error)}") from None
    print(f"{len(training.losses) - before} steps in {seconds:.1f} s")
    print(f"held-out text, masked words: loss {loss:.3f} nats, {right:.1%} right")
    print(f"by how often words occur: {corpus.entropy:.3f} nats; sentence pairs: {pairs:.1%} right")
    print(f"weights: {path}.of\ncurve:   {path}.csv, {path}.png")
    return loss


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options. Paths are relative to the folder in which the user called the program."""
    parser = argparse.ArgumentParser(prog="bert", description=(__doc__ or "").split("\n")[0])
    number = console.positive
    parser.add_argument("--steps", type=number(int), default=2000, help="batches to train on")
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
