"""English sentences that come with Python and with pinned packages, as what BERT reads.

The sources are the language reference (pydoc_data) and the documentation strings of NumPy, SciPy,
scikit-learn, Matplotlib and Python's own modules: about 250,000 words. A word is a row of letters,
a number, or a single other character; rare ones become UNKNOWN.
"""

from __future__ import annotations

import ast
import importlib
import re
import sysconfig
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

PADDING, UNKNOWN, START, END, MASK = range(5)
SPECIAL = 5
# The label of a position that the masked-LM loss leaves out.
IGNORED = -100
ASKED = 0.15
PACKAGES = ("numpy", "scipy", "sklearn", "matplotlib")
_WORD = re.compile(r"[a-z]+|[0-9]+|[^\sa-z0-9]")
_CODE = re.compile(r">>>|::|[\[\]{}=\\|<>]|https?:")
_SKIPPED = re.compile(r"test|(site|dist)-packages|idlelib|lib2to3|pydoc_data")
_WHOLE = re.compile(r"[A-Z].*[.!?]")


def texts() -> Iterator[str]:
    """Each documentation string, in an order that does not depend on the machine."""
    topics = importlib.import_module("pydoc_data.topics").topics
    for name in sorted(topics):
        yield topics[name]
    for package in PACKAGES:
        file = importlib.import_module(package).__file__
        yield from _package(Path(str(file)).parent)
    yield from _package(Path(sysconfig.get_paths()["stdlib"]))


def _package(folder: Path) -> Iterator[str]:
    """The documentation strings of a folder of modules, without its tests and what was installed
    into it.
    """
    paths = [path.relative_to(folder) for path in folder.rglob("*.py")]
    for path in sorted(path for path in paths if not _SKIPPED.search(str(path))):
        yield from _documentation(folder / path)


def _documentation(path: Path) -> Iterator[str]:
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError):
        return
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            text = ast.get_docstring(node)
            if text:
                yield text


def sentences_of(text: str, seen: set[str]) -> list[list[str]]:
    """The English sentences of a text as words; those seen before, and code, are left out.

    >>> sentences_of("Return the sum of all of the elements. X = 1.", set())
    [['return', 'the', 'sum', 'of', 'all', 'of', 'the', 'elements', '.']]
    """
    found = []
    for paragraph in re.split(r"\n\s*\n", text):
        line = re.sub(r"\s+", " ", paragraph).strip()
        for sentence in re.split(r"(?<=[.!?]) (?=[A-Z])", line):
            if sentence in seen or not _WHOLE.fullmatch(sentence) or _CODE.search(sentence):
                continue
            seen.add(sentence)
            words = _WORD.findall(sentence.lower())
            letters = sum(word.isalpha() for word in words)
            if 6 <= len(words) <= 60 and letters > 0.8 * len(words):
                found.append(words)
    return found


class Corpus:
    """The sentences as numbers.

    Args:
        least: how often a word must occur to be known
        limit: texts to read at most; 0 for all

    Attributes:
        words: the vocabulary; the first SPECIAL are no words
        texts: for each text with two sentences or more, its sentences as int64 arrays
    """

    def __init__(self, least: int = 8, limit: int = 0) -> None:
        seen: set[str] = set()
        found = []
        for number, text in enumerate(texts()):
            if limit and number >= limit:
                break
            several = sentences_of(text, seen)
            if len(several) >= 2:
                found.append(several)
        counts = Counter(word for several in found for words in several for word in words)
        known = sorted((word for word, n in counts.items() if n >= least), key=lambda w: -counts[w])
        self.words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *known]
        place = {word: i for i, word in enumerate(self.words)}
        self.texts = [
            [np.array([place.get(w, UNKNOWN) for w in words], np.int64) for words in several]
            for several in found
        ]

    def split(self, share: float, seed: int) -> tuple[list[Any], list[Any]]:
        """Texts to train on, and a share of them to hold out."""
        order = np.random.default_rng(seed).permutation(len(self.texts))
        cut = max(1, int(len(order) * share))
        return [self.texts[i] for i in order[cut:]], [self.texts[i] for i in order[:cut]]


class Counts:
    """What counting tells about the next word, which a model that understands must be far below.

    By frequency: p(w) = (n(w) + 1) / (N + known). By the word before, with Witten and Bell's
    weights: p(w | v) = (n(v, w) + t(v) p(w)) / (n(v) + t(v)), where t(v) different words follow v.

    Args:
        texts: to count in; of a Corpus
        known: size of the vocabulary
    """

    def __init__(self, texts: list[Any], known: int) -> None:
        lines = [np.concatenate([[START], words, [END]]) for several in texts for words in several]
        self.known = known
        words = np.concatenate([line[1:] for line in lines])
        before = np.concatenate([line[:-1] for line in lines])
        self.share = (np.bincount(words, minlength=known) + 1.0) / (len(words) + known)
        self.pairs, self.often = np.unique(before * known + words, return_counts=True)
        first = self.pairs // known
        self.follow = np.bincount(first, weights=self.often, minlength=known)
        self.kinds = np.bincount(first, minlength=known)
        # The last of several equal ones is kept: the most frequent word after each.
        self.usual = np.full(known, int(self.share[SPECIAL:].argmax()) + SPECIAL)
        order = np.argsort(self.often, kind="stable")
        self.usual[first[order]] = self.pairs[order] % known

    def losses(self, before: Any, words: Any) -> tuple[float, float]:
        """The mean of -ln p of words (n,), by how often they occur and by those before (n,)."""
        share, pair = self.share[words], before * self.known + words
        place = np.minimum(np.searchsorted(self.pairs, pair), len(self.pairs) - 1)
        seen = np.where(self.pairs[place] == pair, self.often[place], 0)
        follow, kinds = self.follow[before], self.kinds[before]
        both = np.where(kinds > 0, (seen + kinds * share) / np.maximum(follow + kinds, 1), share)
        return float(-np.log(share).mean()), float(-np.log(both).mean())

    def right(self, before: Any, words: Any) -> float:
        """The share of words that are the most frequent one after those before."""
        return float((self.usual[before] == words).mean())


def asked_places(labels: Any, most: int) -> tuple[Any, Any]:
    """Where words are asked for, and which; always `most` of them, so that shapes do not change.

    >>> asked_places(np.array([[IGNORED, 7], [9, IGNORED]]), 3)
    (array([1, 2, 0]), array([   7,    9, -100]))
    """
    flat = labels.reshape(-1)
    found = np.flatnonzero(flat != IGNORED)[:most]
    places, targets = np.zeros(most, np.int64), np.full(most, IGNORED, np.int64)
    places[: len(found)], targets[: len(found)] = found, flat[found]
    return places, targets


def batch(
    texts: list[Any], count: int, length: int, known: int, seed: Any, asked: float = ASKED
) -> tuple[Any, ...]:
    """Pairs of rows of sentences with words masked.

    A text is cut between two of its sentences. In half of the cases the second row is what follows
    there, else what follows a cut of another text. Of the positions a share is asked for: eight of
    ten of them are masked, one shows another word, one stays.

    Args:
        texts: of a Corpus
        count, length: of the batch; longer rows lose what is far from the cut
        known: size of the vocabulary
        seed: of all that is drawn
        asked: the share

    Returns:
        words, kinds, labels (count, length), follows (count,), int64
    """
    rng = np.random.default_rng(seed)
    words = np.full((count, length), PADDING, np.int64)
    kinds = np.zeros_like(words)
    labels = np.full_like(words, IGNORED)
    follows = rng.integers(0, 2, count)
    room = length - 3
    for row in range(count):
        first, second = _cut(texts[rng.integers(len(texts))], rng)
        if not follows[row]:
            second = _cut(texts[rng.integers(len(texts))], rng)[1]
        # Each has half of the room, and what the other one leaves of it.
        first = first[-max(room - room // 2, room - len(second)) :]
        second = second[: room - len(first)]
        line = np.concatenate([[START], first, [END], second, [END]])
        words[row, : len(line)] = line
        kinds[row, len(first) + 2 : len(line)] = 1
    _mask(words, labels, known, asked, rng)
    return words, kinds, labels, follows


def _cut(text: list[Any], rng: np.random.Generator) -> tuple[Any, Any]:
    """What stands before and after a place between two sentences."""
    place = int(rng.integers(1, len(text)))
    return np.concatenate(text[:place]), np.concatenate(text[place:])


def _mask(words: Any, labels: Any, known: int, share: float, rng: np.random.Generator) -> None:
    asked = (rng.random(words.shape) < share) & (words >= SPECIAL)
    asked[0, 1] |= not asked.any()
    labels[asked] = words[asked]
    fate = rng.random(words.shape)
    words[asked & (fate < 0.8)] = MASK
    other = asked & (fate >= 0.9)
    words[other] = rng.integers(SPECIAL, known, int(other.sum()))
