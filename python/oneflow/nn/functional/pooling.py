"""Max pooling, with or without the places of the elements."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal

_C = _oneflow_internal._C


def _max_pool(op: Any, input: Any, arguments: tuple[Any, ...], return_indices: bool) -> Any:
    both = op(input, *arguments)
    return tuple(both) if return_indices else both[0]


def max_pool1d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    return_indices: bool = False,
    ceil_mode: bool = False,
    data_format: str = "channels_first",
) -> Any:
    """The largest element of each window along the last axis; see `nn.MaxPool1d`.

    Returns:
        Tensor (N, C, L'), or with `return_indices` also a Tensor of int64

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[[1.0, 3.0, 2.0, 0.0]]])
        >>> flow.nn.functional.max_pool1d(x, 2, return_indices=True)[1]
        tensor([[[1, 2]]], dtype=oneflow.int64)
    """
    settings = (kernel_size, stride, padding, dilation, return_indices, ceil_mode, data_format)
    return _max_pool(_C.max_pool1d, input, settings, return_indices)


def max_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    return_indices: bool = False,
    ceil_mode: bool = False,
    data_format: str = "channels_first",
) -> Any:
    """The largest element of each window along the last two axes; see `nn.MaxPool2d`.

    Returns:
        Tensor (N, C, H', W'), or with `return_indices` also a Tensor of int64

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.max_pool2d(flow.ones(1, 1, 4, 4), 2).shape
        oneflow.Size([1, 1, 2, 2])
    """
    settings = (kernel_size, stride, padding, dilation, return_indices, ceil_mode, data_format)
    return _max_pool(_C.max_pool2d, input, settings, return_indices)


def max_pool3d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    return_indices: bool = False,
    ceil_mode: bool = False,
    data_format: str = "channels_first",
) -> Any:
    """The largest element of each window along the last three axes; see `nn.MaxPool3d`.

    Returns:
        Tensor (N, C, D', H', W'), or with `return_indices` also a Tensor of int64

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.max_pool3d(flow.ones(1, 1, 4, 4, 4), 2).shape
        oneflow.Size([1, 1, 2, 2, 2])
    """
    settings = (kernel_size, stride, padding, dilation, return_indices, ceil_mode, data_format)
    return _max_pool(_C.max_pool3d, input, settings, return_indices)


def adaptive_max_pool1d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of as many windows as the result should have; `nn.AdaptiveMaxPool1d`.

    Returns:
        Tensor (N, C, output_size), or with `return_indices` also a Tensor of int64

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.adaptive_max_pool1d(flow.ones(1, 2, 5), 2).shape
        oneflow.Size([1, 2, 2])
    """
    return _max_pool(_C.adaptive_max_pool1d, input, (output_size,), return_indices)


def adaptive_max_pool2d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of as many windows as the result should have; `nn.AdaptiveMaxPool2d`.

    Returns:
        Tensor (N, C, *output_size), or with `return_indices` also a Tensor of int64

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.adaptive_max_pool2d(flow.ones(1, 2, 5, 5), 2).shape
        oneflow.Size([1, 2, 2, 2])
    """
    return _max_pool(_C.adaptive_max_pool2d, input, (output_size,), return_indices)


def adaptive_max_pool3d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of as many windows as the result should have; `nn.AdaptiveMaxPool3d`.

    Returns:
        Tensor (N, C, *output_size), or with `return_indices` also a Tensor of int64

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.adaptive_max_pool3d(flow.ones(1, 2, 5, 5, 5), 2).shape
        oneflow.Size([1, 2, 2, 2, 2])
    """
    return _max_pool(_C.adaptive_max_pool3d, input, (output_size,), return_indices)
