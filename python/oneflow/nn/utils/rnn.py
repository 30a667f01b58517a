"""Sequences of several lengths: padded, and packed for recurrent layers.

Source: the names and layouts follow PyTorch's torch.nn.utils.rnn, as OneFlow's do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneflow import _oneflow_internal
from oneflow.framework import creation
from oneflow.framework import dtype as dtypes

_C = _oneflow_internal._C
Tensor = _oneflow_internal.Tensor
_tensor = _oneflow_internal.tensor

__all__ = [
    "PackedSequence",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


def invert_permutation(permutation: Any) -> Any:
    """The permutation that undoes another; None for None.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.nn.utils.rnn import invert_permutation
        >>> invert_permutation(flow.tensor([2, 0, 1]))
        tensor([1, 2, 0], dtype=oneflow.int64)
    """
    if permutation is None:
        return None
    places = [0] * permutation.numel()
    for i, place in enumerate(permutation.tolist()):
        places[place] = i
    return _tensor(places, dtype=permutation.dtype, device=permutation.device)


def reordered(tensor: Any, dim: int, places: Sequence[int]) -> Any:
    """The entries of one axis in another order.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.nn.utils.rnn import reordered
        >>> reordered(flow.tensor([[1, 2]]), 1, [1, 0]).tolist()
        [[2, 1]]
    """
    if list(places) == list(range(tensor.shape[dim])):
        return tensor
    return _C.cat([_C.narrow(tensor, dim, i, 1) for i in places], dim)


class PackedSequence:
    """The rows of sequences of several lengths, step by step, without padding.

    Made by `pack_padded_sequence` and `pack_sequence`; recurrent layers take it and give one back.

    Attributes:
        data: Tensor (rows, ...): first the first row of each sequence, then the second, ...
        batch_sizes: int64 Tensor on the CPU: how many rows each step has; they never grow
        sorted_indices: int64 Tensor, the order in which the sequences were taken, or None
        unsorted_indices: int64 Tensor, the order that undoes it, or None

    Raises:
        ValueError: batch_sizes are not on the CPU.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.nn.utils.rnn import pack_sequence
        >>> packed = pack_sequence([flow.tensor([1, 2, 3]), flow.tensor([4])])
        >>> packed.data.tolist(), packed.batch_sizes.tolist()
        ([1, 4, 2, 3], [2, 1, 1])
    """

    def __init__(
        self,
        data: Any,
        batch_sizes: Any = None,
        sorted_indices: Any = None,
        unsorted_indices: Any = None,
    ) -> None:
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise ValueError("[PackedSequence] expects data and batch_sizes, got data alone")
            data, batch_sizes = data
        if batch_sizes.device.type != "cpu":
            raise ValueError(
                f"[PackedSequence] expects batch_sizes on the CPU, got {batch_sizes.device}"
            )
        self.data = data
        self.batch_sizes = batch_sizes
        self.sorted_indices = sorted_indices
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        self.unsorted_indices = unsorted_indices

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """With `data` converted as `Tensor.to` does; itself where nothing changes."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        indices = [
            None if t is None else t.to(data.device)
            for t in (self.sorted_indices, self.unsorted_indices)
        ]
        return PackedSequence(data, self.batch_sizes, *indices)

    def cpu(self) -> PackedSequence:
        """On the CPU."""
        return self.to("cpu")

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """On a GPU."""
        return self.to(*args, **{"device": "cuda", **kwargs})

    def double(self) -> PackedSequence:
        """As float64."""
        return self.to(dtype=dtypes.DTYPES["float64"])

    def float(self) -> PackedSequence:
        """As float32."""
        return self.to(dtype=dtypes.DTYPES["float32"])

    def half(self) -> PackedSequence:
        """As float16."""
        return self.to(dtype=dtypes.DTYPES["float16"])

    def long(self) -> PackedSequence:
        """As int64."""
        return self.to(dtype=dtypes.DTYPES["int64"])

    def int(self) -> PackedSequence:
        """As int32."""
        return self.to(dtype=dtypes.DTYPES["int32"])

    def short(self) -> PackedSequence:
        """As int16."""
        return self.to(dtype=dtypes.DTYPES["int16"])

    def char(self) -> PackedSequence:
        """As int8."""
        return self.to(dtype=dtypes.DTYPES["int8"])

    def byte(self) -> PackedSequence:
        """As uint8."""
        return self.to(dtype=dtypes.DTYPES["uint8"])

    def pin_memory(self) -> PackedSequence:
        """Itself: memory of the CPU is ready for transfers as it is."""
        return self

    def is_pinned(self) -> bool:
        """Whether `data` lies in pinned memory."""
        return bool(self.data.is_pinned())

    @property
    def is_cuda(self) -> bool:
        """Whether `data` is on a GPU."""
        return bool(self.data.is_cuda)

    def __repr__(self) -> str:
        return (
            f"PackedSequence(data={self.data!r}, batch_sizes={self.batch_sizes!r}, "
            f"sorted_indices={self.sorted_indices!r}, unsorted_indices={self.unsorted_indices!r})"
        )


def _lengths(lengths: Any) -> list[int]:
    return [int(n) for n in (lengths.tolist() if isinstance(lengths, Tensor) else lengths)]


def pack_padded_sequence(
    input: Any, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Packs padded sequences.

    Args:
        input: Tensor (steps, batch, ...), or with `batch_first` (batch, steps, ...)
        lengths: the length of each sequence, a Tensor or a list
        batch_first: whether the batch is the first axis; default False
        enforce_sorted: True, the default, expects lengths that never grow; with False the sequences
            are sorted, and put back by `pad_packed_sequence`

    Returns:
        PackedSequence

    Raises:
        RuntimeError: the lengths do not fit, or grow.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.nn.utils.rnn import pack_padded_sequence
        >>> x = flow.tensor([[4, 5, 6], [1, 2, 0], [3, 0, 0]])
        >>> pack_padded_sequence(x, [3, 2, 1], batch_first=True).data.tolist()
        [4, 1, 3, 5, 2, 6]
    """
    counts = _lengths(lengths)
    order = None
    if not enforce_sorted:
        places = sorted(range(len(counts)), key=lambda i: -counts[i])
        counts = [counts[i] for i in places]
        order = _tensor(places, dtype=dtypes.DTYPES["int64"], device=input.device)
        input = reordered(input, 0 if batch_first else 1, places)
    sizes = _tensor(counts, dtype=dtypes.DTYPES["int64"])
    data, batch_sizes = _C.pack_padded_sequence(input, sizes, batch_first)
    return PackedSequence(data, batch_sizes, order, None)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Any, Any]:
    """Pads a packed sequence; undoes `pack_padded_sequence`.

    Args:
        sequence: PackedSequence
        batch_first: whether the batch becomes the first axis; default False
        padding_value: what fills the shorter sequences; default 0
        total_length: number of steps of the result; default, those of the longest sequence

    Returns:
        Tensor (steps, batch, ...) or (batch, steps, ...), and the lengths, an int64 Tensor (batch,)

    Raises:
        TypeError: `sequence` is no PackedSequence.
        ValueError: total_length is smaller than the longest sequence.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.nn.utils.rnn import pack_sequence, pad_packed_sequence
        >>> packed = pack_sequence([flow.tensor([1, 2]), flow.tensor([3])])
        >>> padded, lengths = pad_packed_sequence(packed, batch_first=True)
        >>> padded.tolist(), lengths.tolist()
        ([[1, 2], [3, 0]], [2, 1])
    """
    if not isinstance(sequence, PackedSequence):
        raise TypeError(
            f"[pad_packed_sequence] expects a PackedSequence, got {type(sequence).__name__}"
        )
    sizes = _lengths(sequence.batch_sizes)
    steps = len(sizes) if total_length is None else total_length
    if steps < len(sizes):
        raise ValueError(
            f"[pad_packed_sequence] expects total_length of at least the longest sequence, "
            f"{len(sizes)}, got {total_length}"
        )
    batch = sizes[0]
    lengths = [sum(n > i for n in sizes) for i in range(batch)]
    rows = _split_rows(sequence.data, sizes)
    blank = creation.full(
        (batch, *sequence.data.shape[1:]),
        padding_value,
        dtype=sequence.data.dtype,
        device=sequence.data.device,
    )
    padded = [r if n == batch else _C.cat([r, blank[n:]], 0) for r, n in zip(rows, sizes)]
    padded += [blank] * (steps - len(sizes))
    out = _C.stack(padded, 1 if batch_first else 0)
    if sequence.unsorted_indices is not None:
        places = sequence.unsorted_indices.tolist()
        out = reordered(out, 0 if batch_first else 1, places)
        lengths = [lengths[i] for i in places]
    return out, _tensor(lengths, dtype=dtypes.DTYPES["int64"])


def _split_rows(data: Any, sizes: Sequence[int]) -> list[Any]:
    """The rows of each step."""
    parts, first = [], 0
    for size in sizes:
        parts.append(data[first : first + size])
        first += size
    return parts


def _listed(name: str, sequences: Any) -> list[Any]:
    items = []
    for item in sequences:
        if not isinstance(item, Tensor):
            raise TypeError(f"[{name}] expects a list of Tensors, got {type(item).__name__} in it")
        items.append(item)
    return items


def pad_sequence(sequences: Any, batch_first: bool = False, padding_value: float = 0.0) -> Any:
    """Stacks sequences, filled up to the length of the longest.

    Args:
        sequences: list of Tensors (length, ...), alike but for their length
        batch_first: whether the batch becomes the first axis; default False
        padding_value: what fills the shorter ones; default 0

    Returns:
        Tensor (longest, batch, ...), or with `batch_first` (batch, longest, ...)

    Raises:
        TypeError: what is given is no list of Tensors.
        ValueError: there is no sequence, or they differ in more than their length.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.nn.utils.rnn import pad_sequence
        >>> pad_sequence([flow.tensor([1, 2]), flow.tensor([3])], batch_first=True).tolist()
        [[1, 2], [3, 0]]
    """
    items = _listed("pad_sequence", sequences)
    shapes = [tuple(item.shape) for item in items]
    if not all(shape and shape[1:] == shapes[0][1:] for shape in shapes) or not shapes:
        raise ValueError(
            f"[pad_sequence] expects sequences alike but for their length, got {shapes or 'none'}"
        )
    longest = max(shape[0] for shape in shapes)
    padded = []
    for item in items:
        missing = longest - item.shape[0]
        if missing > 0:
            shape = (missing, *item.shape[1:])
            fill = creation.full(shape, padding_value, dtype=item.dtype, device=item.device)
            item = _C.cat([item, fill], 0)
        padded.append(item)
    return _C.stack(padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Any, lengths: Any, batch_first: bool = False) -> list[Any]:
    """Cuts padded sequences to their lengths; undoes `pad_sequence`.

    Args:
        padded_sequences: Tensor (steps, batch, ...), or with `batch_first` (batch, steps, ...)
        lengths: the length of each sequence, a Tensor or a list
        batch_first: whether the batch is the first axis; default False

    Returns:
        list of Tensors (length, ...)

    Example:
        >>> import oneflow as flow
        >>> from oneflow.nn.utils.rnn import unpad_sequence
        >>> [s.tolist() for s in unpad_sequence(flow.tensor([[1, 2], [3, 0]]), [2, 1], True)]
        [[1, 2], [3]]
    """
    batch = padded_sequences if batch_first else _C.transpose(padded_sequences, 0, 1)
    return [batch[i][:n] for i, n in enumerate(_lengths(lengths))]


def pack_sequence(sequences: Sequence[Any], enforce_sorted: bool = True) -> PackedSequence:
    """Packs a list of sequences.

    Args:
        sequences: list of Tensors (length, ...), alike but for their length
        enforce_sorted: True, the default, expects lengths that never grow; with False the sequences
            are sorted

    Returns:
        PackedSequence

    Raises:
        RuntimeError: the lengths grow.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.nn.utils.rnn import pack_sequence
        >>> pack_sequence([flow.tensor([1, 2, 3]), flow.tensor([4, 5])]).batch_sizes.tolist()
        [2, 2, 1]
    """
    lengths = [item.shape[0] for item in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Any]:
    """The sequences that were packed.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.nn.utils.rnn import pack_sequence, unpack_sequence
        >>> packed = pack_sequence([flow.tensor([1, 2]), flow.tensor([3])])
        >>> [s.tolist() for s in unpack_sequence(packed)]
        [[1, 2], [3]]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
