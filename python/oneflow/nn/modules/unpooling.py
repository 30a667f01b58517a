"""The reverse of max pooling; `pooling` has the poolings themselves."""

from __future__ import annotations

from typing import Any

from oneflow import _oneflow_internal
from oneflow.nn.modules.pooling import _Pool

_C = _oneflow_internal._C


class _MaxUnpool(_Pool):
    """MaxUnpool1d to 3d."""

    _op = ""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__(kernel_size, stride, padding)

    def forward(self, x: Any, indices: Any, output_size: Any = None) -> Any:
        """Input: Tensor (N, C, ...); indices: as `MaxPool` returns them; result: Tensor."""
        return getattr(_C, self._op)(
            x, indices, self.kernel_size, self.stride, self.padding, output_size
        )


class MaxUnpool1d(_MaxUnpool):
    """Puts the results of a `MaxPool1d` back to where they came from, among zeros.

    Args:
        kernel_size, stride, padding: those of the pooling

    Shapes: input and indices (N, C, L), result (N, C, L'), with
    L' = (L - 1) * stride - 2 * padding + kernel_size, or as `output_size` says

    Raises:
        TypeError, ValueError: a setting is out of range.

    Example:
        >>> import oneflow as flow
        >>> x, places = flow.tensor([[[3.0, 2.0]]]), flow.tensor([[[1, 2]]])
        >>> flow.nn.MaxUnpool1d(2)(x, places)
        tensor([[[0., 3., 2., 0.]]], dtype=oneflow.float32)
    """

    _axes = 1
    _op = "max_unpool1d"


class MaxUnpool2d(_MaxUnpool):
    """Puts the results of a `MaxPool2d` back to where they came from, among zeros.

    Args:
        kernel_size, stride, padding: those of the pooling

    Shapes: input and indices (N, C, H, W), result (N, C, H', W'), as in `MaxUnpool1d`

    Example:
        >>> import oneflow as flow
        >>> x, places = flow.ones(1, 1, 1, 1), flow.tensor([[[[3]]]])
        >>> flow.nn.MaxUnpool2d(2)(x, places)
        tensor([[[[0., 0.],
                  [0., 1.]]]], dtype=oneflow.float32)
    """

    _axes = 2
    _op = "max_unpool2d"


class MaxUnpool3d(_MaxUnpool):
    """Puts the results of a `MaxPool3d` back to where they came from, among zeros.

    Args:
        kernel_size, stride, padding: those of the pooling

    Shapes: input and indices (N, C, D, H, W), result (N, C, D', H', W'), as in `MaxUnpool1d`

    Example:
        >>> import oneflow as flow
        >>> x, places = flow.ones(1, 1, 1, 1, 1), flow.tensor([[[[[3]]]]])
        >>> flow.nn.MaxUnpool3d(2)(x, places).sum()
        tensor(1., dtype=oneflow.float32)
    """

    _axes = 3
    _op = "max_unpool3d"
