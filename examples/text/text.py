"""Trains a character language model on English text, and writes with it.

    tools/bazel run //examples:text                      trains; leaves text.of, prints a sample
    tools/bazel run //examples:text -- --write text.of   writes with what was saved

The text is the reference of the Python language, which comes with Python itself (pydoc_data, about
half a million characters). An LSTM reads windows of 64 characters and names the next one at each
place. The last tenth of the text is held out. A loss is the mean of -ln p, in nats for each
character; guessing among 96 characters gives 4.56, counting how often each occurs about 3.2.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from typing import Any

import numpy as np

import oneflow as flow
from examples.console import options as console
from examples.console.options import UserError, one_line
from examples.console.progress import Progress
from oneflow import nn

WINDOW = 64
BATCH = 32
HELD_OUT = 0.1
KIND = "text: LSTM 128"
# Printable ASCII and the line break; other characters of the text are left out.
LETTERS = "\n" + "".join(chr(i) for i in range(32, 127))


class Writer(nn.Module):
    """(N, T) letters as int64 in, (N, T, letters) scores of the next letter out, and the state."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(LETTERS), 64)
        self.lstm = nn.LSTM(64, 128, batch_first=True)
        self.head = nn.Linear(128, len(LETTERS))

    def forward(self, letters: Any, state: Any = None) -> tuple[Any, Any]:
        hidden, state = self.lstm(self.embedding(letters), state)
        return self.head(hidden), state


def encode(text: str) -> Any:
    """The text as indices into LETTERS, int64."""
    places = {letter: i for i, letter in enumerate(LETTERS)}
    return np.array([places[letter] for letter in text if letter in places], np.int64)


def decode(indices: Any) -> str:
    """The text of indices."""
    return "".join(LETTERS[int(i)] for i in indices)


def load_text() -> tuple[Any, Any]:
    """(training letters, held-out letters). UserError where Python came without its reference."""
    try:
        from pydoc_data.topics import topics
    except ImportError:
        raise UserError("this Python came without pydoc_data, which has the text") from None
    letters = encode("\n".join(topics[name] for name in sorted(topics)))
    cut = int(len(letters) * (1.0 - HELD_OUT))
    return letters[:cut], letters[cut:]


def windows(letters: Any, starts: Any) -> tuple[Any, Any]:
    """Windows that begin at `starts`, and the letters that follow each place."""
    places = np.asarray(starts)[:, None] + np.arange(WINDOW)[None, :]
    return flow.tensor(letters[places]), flow.tensor(letters[places + 1])


def loss_of(writer: Writer, x: Any, y: Any) -> Any:
    """The mean cross-entropy of the next letter, in nats."""
    scores, _ = writer(x)
    return nn.functional.cross_entropy(scores.reshape(-1, len(LETTERS)), y.reshape(-1))


def train(writer: Writer, letters: Any, steps: int, lr: float, seed: int) -> list[float]:
    """Trains the model; returns the loss of each step. UserError if the loss is no number."""
    rng = np.random.default_rng(seed)
    optimizer = flow.optim.AdamW(writer.parameters(), lr=lr)
    schedule = flow.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps)
    progress = Progress(steps)
    losses: list[float] = []
    writer.train()
    for step in range(1, steps + 1):
        x, y = windows(letters, rng.integers(0, len(letters) - WINDOW - 1, BATCH))
        loss = loss_of(writer, x, y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(writer.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        if not math.isfinite(losses[-1]):
            progress.close()
            raise UserError(
                f"the loss of step {step} is {losses[-1]}: try a smaller --lr than {lr:g}"
            )
        progress.step(step, f"step {step} of {steps}, loss {losses[-1]:.3f}")
        if step == 1 or step % 100 == 0 or step == steps:
            mean = sum(losses[-100:]) / len(losses[-100:])
            progress.line(f"step {step:5d}: loss {mean:.3f}")
    progress.close()
    return losses


def evaluate(writer: Writer, letters: Any) -> float:
    """The loss on held-out text, over windows that do not overlap."""
    starts = np.arange(0, len(letters) - WINDOW - 1, WINDOW)
    total = 0.0
    writer.eval()
    with flow.no_grad():
        for part in np.array_split(starts, max(1, len(starts) // 256)):
            total += loss_of(writer, *windows(letters, part)).item() * len(part)
    return total / len(starts)


def write(writer: Writer, start: str, length: int, temperature: float, seed: int) -> str:
    """Continues a text: letters are drawn from softmax(scores / temperature).

    Args:
        writer: the model
        start: what is continued; at least one letter
        length: letters to add
        temperature: above 0; small writes what is likely, large what is not
        seed: of the draws
    """
    if not len(encode(start)):
        raise UserError(f"--start expects at least one letter of English text, got {start!r}")
    generator = flow.Generator("cpu")
    generator.manual_seed(seed)
    writer.eval()
    written = list(encode(start))
    with flow.no_grad():
        scores, state = writer(flow.tensor([written]))
        for _ in range(length):
            chances = flow.softmax(scores[0, -1] / temperature, dim=0)
            letter = int(flow.multinomial(chances, 1, generator=generator).item())
            written.append(letter)
            scores, state = writer(flow.tensor([[letter]]), state)
    return decode(written)


def load_writer(path: str) -> Writer:
    """The model of a checkpoint; UserError if it is none."""
    found = console.load_checkpoint(flow.load, path, KIND)
    writer = Writer()
    try:
        writer.load_state_dict(found["writer"])
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise UserError(f"the checkpoint {path!r} does not fit: {one_line(error)}") from None
    return writer


def run_training(options: argparse.Namespace) -> float:
    """Trains, saves, and writes; returns the loss on held-out text."""
    console.make_folder(options.out)
    flow.manual_seed(options.seed)
    letters, held_out = load_text()
    writer = Writer()
    started = time.monotonic()
    train(writer, letters, options.steps, options.lr, options.seed)
    seconds = time.monotonic() - started
    loss = evaluate(writer, held_out)
    checkpoint = os.path.join(options.out, "text.of")
    try:
        flow.save({"kind": KIND, "writer": writer.state_dict()}, checkpoint)
    except OSError as error:
        raise UserError(f"cannot write to {options.out!r}: {one_line(error)}") from None
    print(f"{options.steps} steps in {seconds:.1f} s")
    print(f"held-out text: loss {loss:.3f} nats, {loss / math.log(2):.3f} bits for each character")
    print(f"checkpoint: {checkpoint}\n")
    _print_sample(writer, options)
    return loss


def _print_sample(writer: Writer, options: argparse.Namespace) -> None:
    text = write(writer, options.start, options.length, options.temperature, options.seed)
    print("\n".join(f"| {line}" for line in text.split("\n")))


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options. Paths are relative to the folder in which the user called the program."""
    parser = argparse.ArgumentParser(prog="text", description=(__doc__ or "").split("\n")[0])
    number = console.positive
    parser.add_argument("--steps", type=number(int), default=600, help="batches to train on")
    parser.add_argument("--lr", type=number(float), default=0.01, help="learning rate")
    parser.add_argument("--seed", type=console.seed, default=0, help="of weights, order and draws")
    parser.add_argument("--out", default=".", help="folder for text.of")
    parser.add_argument("--write", metavar="FILE", help="use this checkpoint; do not train")
    parser.add_argument("--start", default="The ", help="what the sample continues")
    parser.add_argument("--length", type=number(int), default=300, help="letters of the sample")
    parser.add_argument("--temperature", type=number(float), default=0.7, help="of the draws")
    options = parser.parse_args(arguments)
    options.out = console.from_users_folder(options.out)
    if options.write is not None:
        options.write = console.from_users_folder(options.write)
    return options


def main(arguments: list[str] | None = None) -> int:
    """Runs the program; returns its status."""
    options = parse(arguments)
    if options.write is None:
        return console.status_of("text", lambda: run_training(options))
    return console.status_of("text", lambda: _print_sample(load_writer(options.write), options))


if __name__ == "__main__":
    sys.exit(main())
