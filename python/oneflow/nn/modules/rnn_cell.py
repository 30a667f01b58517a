"""Recurrent cells: one step of a recurrent layer.

Source: names, parameters and shapes follow PyTorch's torch.nn.RNNCell and its kin.
"""

from __future__ import annotations

import math
from typing import Any

from oneflow import _oneflow_internal
from oneflow.framework import creation
from oneflow.nn import init
from oneflow.nn.modules.module import Module
from oneflow.nn.parameter import Parameter

_C = _oneflow_internal._C


class RNNCellBase(Module):
    """What RNNCell, LSTMCell and GRUCell share.

    Args:
        input_size: the length of the input's last axis
        hidden_size: the length of the state
        bias: whether there are biases
        num_chunks: gates of the cell
        device, dtype: of the parameters; default CPU, float32

    Parameters:
        weight_ih: (gates * hidden_size, input_size)
        weight_hh: (gates * hidden_size, hidden_size)
        bias_ih, bias_hh: (gates * hidden_size,), or None
        all at first uniform in +-1 / sqrt(hidden_size)

    Example:
        >>> import oneflow as flow
        >>> from oneflow.nn.modules.rnn import RNNCellBase
        >>> RNNCellBase(2, 3, True, 4).weight_ih.shape
        oneflow.Size([12, 2])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        width = num_chunks * hidden_size
        self.weight_ih = Parameter(creation.empty(width, input_size, device=device, dtype=dtype))
        self.weight_hh = Parameter(creation.empty(width, hidden_size, device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            value = creation.empty(width, device=device, dtype=dtype) if bias else None
            self.register_parameter(name, None if value is None else Parameter(value))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the parameters anew."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0.0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        """The settings."""
        text = f"{self.input_size}, {self.hidden_size}"
        if not self.bias:
            text += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text

    def _weights(self) -> tuple[Any, Any, Any, Any]:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def _check(self, input: Any) -> bool:
        """Whether input is a batch. RuntimeError for other dims."""
        if input.dim() not in (1, 2):
            raise RuntimeError(
                f"[{type(self).__name__}] expects input of 1 or 2 dims, got {tuple(input.shape)}"
            )
        return bool(input.dim() == 2)

    def _zeros(self, input: Any) -> Any:
        shape = (input.shape[0], self.hidden_size)
        return creation.zeros(*shape, dtype=input.dtype, device=input.device)

    def _step(self, op: Any, input: Any, hx: Any) -> Any:
        """One step of a cell with one state."""
        batched = self._check(input)
        if not batched:
            input = input.unsqueeze(0)
            hx = None if hx is None else hx.unsqueeze(0)
        out = op(input, self._zeros(input) if hx is None else hx, *self._weights())
        return out if batched else out.squeeze(0)


class RNNCell(RNNCellBase):
    """One step: h = tanh(x W_ih^T + b_ih + h W_hh^T + b_hh), or with relu.

    Args:
        input_size, hidden_size, bias, device, dtype: see RNNCellBase
        nonlinearity: "tanh" or "relu"; default "tanh"

    Shapes: input (batch, input_size), hx and result (batch, hidden_size); or all without batch

    Raises:
        RuntimeError: another nonlinearity, or the shapes do not fit.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.RNNCell(10, 20)(flow.randn(3, 10)).shape
        oneflow.Size([3, 20])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The state after the step."""
        ops = {"tanh": _C.rnn_tanh_cell, "relu": _C.rnn_relu_cell}
        if self.nonlinearity not in ops:
            raise RuntimeError(f"[RNNCell] expects tanh or relu, got {self.nonlinearity!r}")
        return self._step(ops[self.nonlinearity], input, hx)


class LSTMCell(RNNCellBase):
    """One step of long short-term memory; see LSTM.

    Args:
        input_size, hidden_size, bias, device, dtype: see RNNCellBase

    Shapes: input (batch, input_size), hx and result (h, c) of (batch, hidden_size); or all without
        batch

    Raises:
        RuntimeError: the shapes do not fit.

    Example:
        >>> import oneflow as flow
        >>> h, c = flow.nn.LSTMCell(10, 20)(flow.randn(3, 10))
        >>> h.shape
        oneflow.Size([3, 20])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """The states h and c after the step."""
        batched = self._check(input)
        if not batched:
            input = input.unsqueeze(0)
            hx = None if hx is None else tuple(state.unsqueeze(0) for state in hx)
        if hx is None:
            zeros = self._zeros(input)
            hx = (zeros, zeros)
        h, c = _C.lstm_cell(input, list(hx), *self._weights())
        return (h, c) if batched else (h.squeeze(0), c.squeeze(0))


class GRUCell(RNNCellBase):
    """One step of a gated recurrent unit; see GRU.

    Args:
        input_size, hidden_size, bias, device, dtype: see RNNCellBase

    Shapes: input (batch, input_size), hx and result (batch, hidden_size); or all without batch

    Raises:
        RuntimeError: the shapes do not fit.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.GRUCell(10, 20)(flow.randn(3, 10)).shape
        oneflow.Size([3, 20])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The state after the step."""
        return self._step(_C.gru_cell, input, hx)
