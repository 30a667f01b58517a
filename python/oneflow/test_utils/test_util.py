"""Small helpers of tests: all combinations of arguments, dtypes by name, flat indices."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

import oneflow as flow

type_name_to_flow_type = {
    "float16": flow.float16,
    "float32": flow.float32,
    "double": flow.float64,
    "int8": flow.int8,
    "int32": flow.int32,
    "int64": flow.int64,
    "uint8": flow.uint8,
}
type_name_to_np_type: dict[str, Any] = {
    "float16": np.float16,
    "float32": np.float32,
    "double": np.float64,
    "int8": np.int8,
    "int32": np.int32,
    "int64": np.int64,
    "uint8": np.uint8,
}


def GenCartesianProduct(sets: Iterable[Iterable[Any]]) -> Iterator[tuple[Any, ...]]:
    """All combinations of one element each; without `cuda` where ONEFLOW_TEST_CPU_ONLY is set.

    >>> list(GenCartesianProduct([[1, 2], ["a"]]))
    [(1, 'a'), (2, 'a')]
    """
    cpu_only = bool(os.getenv("ONEFLOW_TEST_CPU_ONLY"))
    kept = [[x for x in one if not (cpu_only and _is_cuda(x))] for one in sets]
    return itertools.product(*kept)


def _is_cuda(x: Any) -> bool:
    return isinstance(x, str) and x == "cuda"


def GenArgList(arg_dict: Mapping[str, list[Any]]) -> Iterator[tuple[Any, ...]]:
    """All combinations of arguments, given the choices of each by name.

    >>> list(GenArgList({"x": [1, 2], "y": ["a"]}))
    [(1, 'a'), (2, 'a')]
    """
    for name, choices in arg_dict.items():
        if not isinstance(choices, list):
            kind = type(choices).__name__
            raise TypeError(f"[GenArgList] expects a list of choices for {name}, got {kind}")
    return GenCartesianProduct(arg_dict.values())


def GenArgDict(arg_dict: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    """The same as dicts.

    >>> GenArgDict({"x": [1, 2]})
    [{'x': 1}, {'x': 2}]
    """
    return [dict(zip(arg_dict.keys(), values)) for values in GenArgList(arg_dict)]


class Args:
    """Arguments for OneFlow, and those for a framework that is compared with.

    >>> Args([1])
    flow_args=[1] tf_args=[1]
    """

    def __init__(self, flow_args: Any, tf_args: Any = None) -> None:
        self.flow_args = flow_args
        self.tf_args = flow_args if tf_args is None else tf_args

    def __repr__(self) -> str:
        return f"flow_args={self.flow_args} tf_args={self.tf_args}"


def FlattenArray(input_array: Any) -> list[Any]:
    """An array's elements in C order.

    >>> FlattenArray([[1, 2], [3, 4]])
    [1, 2, 3, 4]
    """
    return list(np.asarray(input_array).ravel().tolist())


def Array2Numpy(input_array: Any, target_shape: Any) -> np.ndarray:
    """Elements as an array of this shape.

    >>> Array2Numpy([1, 2, 3, 4], (2, 2)).tolist()
    [[1, 2], [3, 4]]
    """
    return np.array(input_array).reshape(target_shape)


def Index2Coordinate(idx: int, tensor_shape: Any) -> list[int]:
    """A flat index as one for each dim.

    >>> Index2Coordinate(5, (2, 3))
    [1, 2]
    """
    return [int(i) for i in np.unravel_index(idx, tensor_shape)]


def Coordinate2Index(coordinate: Any, tensor_shape: Any) -> int:
    """The flat index of an element.

    >>> Coordinate2Index([1, 2], (2, 3))
    5
    """
    if len(coordinate) != len(tensor_shape):
        raise ValueError(
            f"[Coordinate2Index] expects {len(tensor_shape)} indices, got {len(coordinate)}"
        )
    return int(np.ravel_multi_index(tuple(coordinate), tensor_shape))
