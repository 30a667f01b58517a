"""The file of `oneflow.save`, byte by byte; see `serialization` for what it promises.

`oneflow.json` is {"format": "oneflow checkpoint", "version": 1, "arrays": [{"dtype", "shape"},
...], "tensors": [{"array", "kind", "requires_grad"}, ...], "root": value}. A value is null, true,
false, a string, a whole number, a finite float, a list, or an object with one key that says what
it is:

    {"tuple": [value, ...]}    {"dict": [[key, value], ...]}
    {"tensor": number}         {"odict": [[[key, value], ...], metadata]}
    {"array": number}          {"bytes": "hex digits"}
    {"scalar": number}         {"float": "nan", "inf" or "-inf"}
    {"size": [int, ...]}       {"dtype": "float32"}    {"device": "cpu:0"}

An element of bfloat16 is the upper half of a float32.
"""

from __future__ import annotations

INDEX = "oneflow.json"
FORMAT = "oneflow checkpoint"
VERSION = 1
MAX_DEPTH = 100
MAX_AXES = 32
CHUNK = 1 << 20  # bytes that are read or written at once


class CheckpointError(RuntimeError):
    """A file that `oneflow.load` cannot take: damaged, cut short, hostile, or of another kind."""
