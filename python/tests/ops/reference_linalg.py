"""Products, recurrent layers, attention, fused ops: for the `numpy` column of the op table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

Arrays = Sequence[np.ndarray]


def matmul(
    a: np.ndarray, b: np.ndarray, transpose_a: bool, transpose_b: bool, alpha: float
) -> np.ndarray:
    """numpy's, with operands transposed and a factor."""
    a = np.swapaxes(a, -1, -2) if transpose_a else a
    b = np.swapaxes(b, -1, -2) if transpose_b else b
    product = np.matmul(a, b)
    return product if alpha == 1 else np.asarray(alpha * product).astype(product.dtype)


def mlp(
    x: np.ndarray, weights: Sequence[np.ndarray], biases: Sequence[np.ndarray], skip: bool
) -> np.ndarray:
    """Linear layers, each followed by relu, but for the last if `skip`."""
    for i, (weight, bias) in enumerate(zip(weights, biases)):
        x = x @ weight.T + bias
        if i + 1 < len(weights) or not skip:
            x = np.maximum(x, 0)
    return x


def einsum(equation: str, operands: Sequence[np.ndarray]) -> np.ndarray:
    """numpy's, which wants no spaces."""
    return np.asarray(np.einsum(equation.replace(" ", ""), *operands))


def sigmoid(x: np.ndarray) -> np.ndarray:
    """The logistic function."""
    return np.asarray(1 / (1 + np.exp(-x)))


def _step(
    kind: str, x: np.ndarray, state: Arrays, params: Arrays, biases: Arrays
) -> list[np.ndarray]:
    """One step of one layer; the states before it, and after."""
    h = state[0]
    gx = x @ params[0].T + biases[0]
    gh = h @ params[1].T + biases[1]
    if kind == "lstm":
        i, f, g, o = np.split(gx + gh, 4, axis=1)
        c = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
        return [sigmoid(o) * np.tanh(c), c]
    if kind == "gru":
        (xr, xz, xn), (hr, hz, hn) = np.split(gx, 3, axis=1), np.split(gh, 3, axis=1)
        z = sigmoid(xz + hz)
        return [(1 - z) * np.tanh(xn + sigmoid(xr + hr) * hn) + z * h]
    return [np.tanh(gx + gh) if kind == "rnn_tanh" else np.maximum(gx + gh, 0)]


def _layer(
    kind: str, rows: np.ndarray, sizes: Sequence[int], state: Arrays, params: Arrays, reverse: bool
) -> tuple[np.ndarray, list[np.ndarray]]:
    """All steps of one direction: the states of all rows, and the last ones."""
    biases = params[2:] or [np.zeros(len(params[0]))] * 2
    ends = np.cumsum(sizes)
    now = [s.copy() for s in state]
    y = np.zeros((len(rows), state[0].shape[1]))
    for t in reversed(range(len(sizes))) if reverse else range(len(sizes)):
        n, at = sizes[t], slice(ends[t] - sizes[t], ends[t])
        after = _step(kind, rows[at], [s[:n] for s in now], params, biases)
        for s, value in zip(now, after):
            s[:n] = value
        y[at] = after[0]
    return y, now


def rnn(
    kind: str,
    x: np.ndarray,
    sizes: np.ndarray | None,
    hx: Any,
    params: Arrays,
    has_biases: bool,
    num_layers: int,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[np.ndarray, ...]:
    """Layers over sequences, or over a packed sequence with the sizes of its steps."""
    steps = x.swapaxes(0, 1) if batch_first else x
    rows = x if sizes is not None else steps.reshape(-1, x.shape[2])
    counts = [int(n) for n in sizes] if sizes is not None else [steps.shape[1]] * len(steps)
    states = list(hx) if isinstance(hx, (list, tuple)) else [hx]
    each, directions = (4 if has_biases else 2), (2 if bidirectional else 1)
    last: list[list[np.ndarray]] = []
    for layer in range(num_layers):
        outs = []
        for direction in range(directions):
            part = layer * directions + direction
            own = params[part * each : (part + 1) * each]
            y, now = _layer(kind, rows, counts, [s[part] for s in states], own, direction == 1)
            outs.append(y)
            last.append(now)
        rows = np.concatenate(outs, axis=1)
    if sizes is None:
        rows = rows.reshape(len(counts), -1, rows.shape[1])
        rows = rows.swapaxes(0, 1) if batch_first else rows
    return (rows, *(np.stack([part[i] for part in last]) for i in range(len(states))))


def rnn_cell(
    kind: str,
    x: np.ndarray,
    hx: Any,
    w_ih: np.ndarray,
    w_hh: np.ndarray,
    b_ih: np.ndarray | None,
    b_hh: np.ndarray | None,
) -> tuple[np.ndarray, ...]:
    """One step."""
    states = list(hx) if isinstance(hx, (list, tuple)) else [hx]
    zeros = np.zeros(len(w_ih))
    biases = [zeros if b is None else b for b in (b_ih, b_hh)]
    return tuple(_step(kind, x, states, [w_ih, w_hh], biases))


def packed(x: np.ndarray, lengths: np.ndarray, batch_first: bool) -> tuple[np.ndarray, np.ndarray]:
    """The rows that are no padding, step by step, and how many there are."""
    steps = x.swapaxes(0, 1) if batch_first else x
    sizes = np.array([int((lengths > t).sum()) for t in range(int(lengths.max()))])
    return np.concatenate([steps[t, :n] for t, n in enumerate(sizes)]), sizes


def attention(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    mask: np.ndarray | None,
    is_causal: bool,
    scale: float | None,
    kept: np.ndarray | None = None,
    dropout: float = 0.0,
) -> np.ndarray:
    """With the whole matrix of scores; a query that sees nothing gives 0."""
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    scores = factor * (query @ np.swapaxes(key, -1, -2))
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:]) > 0, scores, -np.inf)
    top = np.max(scores, axis=-1, keepdims=True, initial=-1e300)
    weights = np.exp(scores - top)
    total = weights.sum(axis=-1, keepdims=True)
    weights = np.asarray(weights / np.where(total == 0, 1, total))
    if kept is not None:
        weights = np.where(kept, weights / (1 - dropout) if dropout < 1 else 0, 0)
    return np.asarray(weights @ value)


def cross(a: np.ndarray, b: np.ndarray, dim: int | None) -> np.ndarray:
    """Cross products along `dim`, or the first axis of three entries."""
    a, b = np.broadcast_arrays(a, b)
    axis = a.shape.index(3) if dim is None else dim
    return np.cross(a, b, axis=axis)


def softmax_last(x: np.ndarray) -> np.ndarray:
    """Softmax over the last axis."""
    weights = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def masked_softmax(x: np.ndarray, mask: np.ndarray, fill: float, scale: float) -> np.ndarray:
    """Softmax over the last axis of scaled and masked scores."""
    return softmax_last(np.where(mask, scale * x, fill))


def scale_tril(x: np.ndarray, diagonal: int, fill: float, scale: float) -> np.ndarray:
    """The lower triangle scaled, the rest filled."""
    return np.tril(x, diagonal) * scale + np.triu(np.full(x.shape, fill), diagonal + 1)


def self_attention(x: np.ndarray, size: int, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Scores and values."""
    heads = x.reshape(*x.shape[:2], -1, 3 * size).transpose(1, 2, 0, 3)
    q, k, v = np.split(heads, 3, axis=3)
    return alpha * q @ k.swapaxes(2, 3), v


def multi_head_attention(
    query: np.ndarray, key: np.ndarray, value: np.ndarray, heads: int, causal: bool
) -> np.ndarray:
    """Attention of heads that lie side by side."""
    q, k, v = (x.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2) for x in (query, key, value))
    out = attention(q, k, v, None, causal, None).swapaxes(1, 2)
    return out.reshape(*out.shape[:2], -1)


def dot_features(
    features: Arrays, before: np.ndarray | None, with_itself: bool, padding: int, pooling: str
) -> np.ndarray:
    """Inner products of all pairs of features."""
    x = np.concatenate([f if f.ndim == 3 else f[:, None] for f in features], axis=1)
    products = x @ x.swapaxes(1, 2)
    rows, cols = np.tril_indices(x.shape[1], 0 if with_itself else -1)
    pairs = products[:, rows, cols]
    if pooling == "sum":
        return pairs.sum(axis=1, keepdims=True)
    parts = ([] if before is None else [before]) + [pairs, np.zeros((len(x), padding))]
    return np.concatenate(parts, axis=1)


def stft(
    x: np.ndarray,
    n_fft: int,
    hop: int | None,
    win: int | None,
    window: np.ndarray | None,
    center: bool,
    pad_mode: str,
    normalized: bool,
    onesided: bool,
) -> np.ndarray:
    """Frame by frame with numpy's transform."""
    hop, win = hop or n_fft // 4, win or n_fft
    left = (n_fft - win) // 2
    shape = np.zeros(n_fft)
    shape[left : left + win] = 1.0 if window is None else window
    rows = np.atleast_2d(x)
    if center:
        mode = {"replicate": "edge", "circular": "wrap"}.get(pad_mode, pad_mode)
        rows = np.pad(rows, ((0, 0), (n_fft // 2, n_fft // 2)), mode)  # type: ignore[call-overload]
    starts = range(0, rows.shape[1] - n_fft + 1, hop)
    frames = np.stack([rows[:, s : s + n_fft] * shape for s in starts], axis=1)
    spectrum = np.fft.rfft(frames) if onesided else np.fft.fft(frames)
    spectrum = spectrum.swapaxes(1, 2) / (np.sqrt(n_fft) if normalized else 1.0)
    out = np.stack([spectrum.real, spectrum.imag], axis=-1)
    return out if x.ndim == 2 else out[0]


def gelu_exact(x: np.ndarray) -> np.ndarray:
    """gelu by the error function."""
    return x * 0.5 * (1 + np.vectorize(math.erf, otypes=[float])(x / np.sqrt(2)))


def glu_layer(
    x: np.ndarray, w: np.ndarray, b: np.ndarray, v: Any, c: Any, activation: str
) -> np.ndarray:
    """A linear layer whose one half gates the other."""
    hidden = x @ w.T + b
    gate = x @ v.T + c if v is not None else None
    if gate is None:
        hidden, gate = np.split(hidden, 2, axis=-1)
    bent = np.tanh(np.sqrt(2 / np.pi) * (gate + 0.044715 * gate**3))
    applied = {
        "none": gate,
        "sigmoid": sigmoid(gate),
        "relu": np.maximum(gate, 0),
        "gelu": gelu_exact(gate),
        "fast_gelu": 0.5 * gate * (1 + bent),
        "silu": gate * sigmoid(gate),
    }
    return np.asarray(hidden * applied[activation])


NAMES: dict[str, Any] = {
    "attention": attention,
    "cross": cross,
    "dot_features": dot_features,
    "gelu_exact": gelu_exact,
    "glu_layer": glu_layer,
    "masked_softmax": masked_softmax,
    "multi_head_attention": multi_head_attention,
    "scale_tril": scale_tril,
    "self_attention": self_attention,
    "softmax_last": softmax_last,
    "stft": stft,
    "einsum": einsum,
    "matmul": matmul,
    "mlp": mlp,
    "packed": packed,
    "rnn": rnn,
    "rnn_cell": rnn_cell,
}
