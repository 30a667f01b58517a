"""BERT with both of its heads, for any library with PyTorch's API: `make(library, config)`.

Parameters have the names of the `transformers` package's BertForPreTraining. The masked-LM head
gives scores for every position; its decoder shares the weight of the word embedding.

Source: Devlin et al., "BERT: pre-training of deep bidirectional transformers", NAACL 2019.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# The label of a position that the masked-LM loss leaves out.
IGNORED = -100


@dataclass(frozen=True)
class Config:
    """The shape of a model.

    Attributes:
        layers, heads, width: of the encoder; the feed-forward part is 4 widths wide.
        words: size of the vocabulary.
        places: the longest sequence.
        dropout: chance of each dropout, that of attention included.
    """

    layers: int
    heads: int
    width: int
    words: int = 30522
    places: int = 512
    dropout: float = 0.1


BASE = Config(layers=12, heads=12, width=768)
LARGE = Config(layers=24, heads=16, width=1024)
# The same kinds of layers, small enough for a test of seconds.
TINY = Config(layers=2, heads=2, width=32, words=97, places=32)


def make(library: Any, config: Config) -> Any:
    """The model with the library's own fresh weights.

    Args:
        library: the module `oneflow` or `torch`.
        config: its shape.

    Returns:
        A module. In: words and kinds (n, length), labels (n, length) with IGNORED where no word is
        asked for, follows (n,), all int64. Out: the loss, the mean over the labelled positions plus
        the mean over the pairs.
    """
    nn, encoder = library.nn, _encoder(library, config)
    transform = _transform(library, config)

    class PreTraining(nn.Module):  # type: ignore[name-defined]
        """The model with its heads and the sum of their losses."""

        def __init__(self) -> None:
            super().__init__()
            self.bert = encoder()
            self.cls = nn.Module()
            self.cls.predictions = nn.Module()
            self.cls.predictions.bias = nn.Parameter(library.zeros(config.words))
            self.cls.predictions.transform = transform()
            self.cls.seq_relationship = nn.Linear(config.width, 2)

        def scores(self, words: Any, kinds: Any) -> Any:
            """Of the words (n, length, words), and of the pairs (n, 2)."""
            x, pooled = self.bert(words, kinds)
            return self.named(x), self.cls.seq_relationship(pooled)

        def named(self, x: Any) -> Any:
            """Scores of words from what the encoder gives for places (..., width)."""
            head, shared = self.cls.predictions, self.bert.embeddings.word_embeddings.weight
            return nn.functional.linear(head.transform(x), shared, head.bias)

        def forward(self, words: Any, kinds: Any, labels: Any, follows: Any) -> Any:
            named, related = self.scores(words, kinds)
            loss_of = nn.functional.cross_entropy
            masked = loss_of(
                named.reshape(-1, config.words), labels.reshape(-1), ignore_index=IGNORED
            )
            return masked + loss_of(related, follows)

    return PreTraining()


def _transform(library: Any, config: Config) -> Any:
    nn = library.nn

    class Transform(nn.Module):  # type: ignore[name-defined]
        """Before the decoder."""

        def __init__(self) -> None:
            super().__init__()
            self.dense = nn.Linear(config.width, config.width)
            self.LayerNorm = nn.LayerNorm(config.width, eps=1e-12)
            self.gelu = nn.GELU()

        def forward(self, x: Any) -> Any:
            return self.LayerNorm(self.gelu(self.dense(x)))

    return Transform


def _encoder(library: Any, config: Config) -> Any:
    nn = library.nn
    layer, embeddings = _layer(library, config), _embeddings(library, config)

    class Bert(nn.Module):  # type: ignore[name-defined]
        """Embeddings, encoder, and the pooled first place."""

        def __init__(self) -> None:
            super().__init__()
            self.embeddings = embeddings()
            self.encoder = nn.Module()
            self.encoder.layer = nn.ModuleList([layer() for _ in range(config.layers)])
            self.pooler = nn.Module()
            self.pooler.dense = nn.Linear(config.width, config.width)

        def forward(self, words: Any, kinds: Any) -> Any:
            x = self.embeddings(words, kinds)
            for one in self.encoder.layer:
                x = one(x)
            return x, library.tanh(self.pooler.dense(x[:, 0]))

    return Bert


def _embeddings(library: Any, config: Config) -> Any:
    nn = library.nn

    class Embeddings(nn.Module):  # type: ignore[name-defined]
        """The sum of word, place and kind, normalised."""

        def __init__(self) -> None:
            super().__init__()
            self.word_embeddings = nn.Embedding(config.words, config.width)
            self.position_embeddings = nn.Embedding(config.places, config.width)
            self.token_type_embeddings = nn.Embedding(2, config.width)
            self.LayerNorm = nn.LayerNorm(config.width, eps=1e-12)
            self.dropout = nn.Dropout(config.dropout)

        def forward(self, words: Any, kinds: Any) -> Any:
            places = self.position_embeddings.weight[: words.shape[1]]
            x = self.word_embeddings(words) + self.token_type_embeddings(kinds) + places
            return self.dropout(self.LayerNorm(x))

    return Embeddings


def _layer(library: Any, config: Config) -> Any:
    nn, width, heads = library.nn, config.width, config.heads
    attention = nn.functional.scaled_dot_product_attention

    class Self(nn.Module):  # type: ignore[name-defined]
        """Attention of every place to every place."""

        def __init__(self) -> None:
            super().__init__()
            self.query = nn.Linear(width, width)
            self.key = nn.Linear(width, width)
            self.value = nn.Linear(width, width)

        def forward(self, x: Any) -> Any:
            parts = (x.shape[0], x.shape[1], heads, width // heads)
            q, k, v = (
                of(x).reshape(*parts).transpose(1, 2) for of in (self.query, self.key, self.value)
            )
            mixed = attention(q, k, v, dropout_p=config.dropout if self.training else 0.0)
            return mixed.transpose(1, 2).reshape(x.shape[0], x.shape[1], width)

    class Output(nn.Module):  # type: ignore[name-defined]
        """Back to the width, and the sum with what went past, normalised."""

        def __init__(self, inputs: int) -> None:
            super().__init__()
            self.dense = nn.Linear(inputs, width)
            self.LayerNorm = nn.LayerNorm(width, eps=1e-12)
            self.dropout = nn.Dropout(config.dropout)

        def forward(self, x: Any, past: Any) -> Any:
            return self.LayerNorm(self.dropout(self.dense(x)) + past)

    class Layer(nn.Module):  # type: ignore[name-defined]
        """Attention, then the feed-forward part."""

        def __init__(self) -> None:
            super().__init__()
            self.attention = nn.Module()
            self.attention.self = Self()
            self.attention.output = Output(width)
            self.intermediate = nn.Module()
            self.intermediate.dense = nn.Linear(width, 4 * width)
            self.gelu = nn.GELU()
            self.output = Output(4 * width)

        def forward(self, x: Any) -> Any:
            x = self.attention.output(self.attention.self(x), x)
            return self.output(self.gelu(self.intermediate.dense(x)), x)

    return Layer
