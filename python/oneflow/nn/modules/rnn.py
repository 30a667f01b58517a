"""Recurrent layers; the cells are in rnn_cell.py.

Source: names, parameters and shapes follow PyTorch's torch.nn.RNN, LSTM and GRU, as OneFlow's do.
"""

from __future__ import annotations

import math
import numbers
import warnings
from typing import Any

from oneflow import _oneflow_internal
from oneflow.framework import creation
from oneflow.nn import init
from oneflow.nn.modules.module import Module
from oneflow.nn.modules.rnn_cell import GRUCell, LSTMCell, RNNCell, RNNCellBase
from oneflow.nn.modules.utils import check_count
from oneflow.nn.parameter import Parameter
from oneflow.nn.utils.rnn import PackedSequence, reordered

_C = _oneflow_internal._C

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def apply_permutation(tensor: Any, permutation: Any, dim: int = 1) -> Any:
    """The entries of one axis in another order.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.nn.modules.rnn import apply_permutation
        >>> apply_permutation(flow.tensor([[1, 2]]), flow.tensor([1, 0])).tolist()
        [[2, 1]]
    """
    return reordered(tensor, dim, permutation.tolist())


class RNNBase(Module):
    """What RNN, LSTM and GRU share: parameters, checks, and the call of the op.

    Args:
        mode: "RNN_TANH", "RNN_RELU", "LSTM" or "GRU"
        input_size: the length of the input's last axis
        hidden_size: the length of the state
        num_layers: layers, each of which takes the states of the one before; default 1
        bias: whether there are biases; default True
        batch_first: whether input and result are (batch, steps, features); default False
        dropout: probability with which the states between layers are dropped in training; default 0
        bidirectional: whether each layer runs backwards, too; default False
        proj_size: LSTM: the length to which the state is projected, or 0; default 0
        device, dtype: of the parameters; default CPU, float32

    Parameters, for each layer k, with the suffix `_reverse` for the direction backwards:
        weight_ih_l{k}: (gates * hidden_size, input_size, or what the layer before gives)
        weight_hh_l{k}: (gates * hidden_size, hidden_size or proj_size)
        bias_ih_l{k}, bias_hh_l{k}: (gates * hidden_size,)
        weight_hr_l{k}: (proj_size, hidden_size)
        all at first uniform in +-1 / sqrt(hidden_size)

    Raises:
        ValueError: dropout is no probability, proj_size not in [0, hidden_size), or another mode.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.nn.modules.rnn import RNNBase
        >>> [name for name, _ in RNNBase("GRU", 2, 3).named_parameters()]
        ['weight_ih_l0', 'weight_hh_l0', 'bias_ih_l0', 'bias_hh_l0']
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self._check_settings(mode, hidden_size, num_layers, dropout, proj_size)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse") if bidirectional else ("",):
                self._add_parameters(layer, suffix, device, dtype)
        self._flat_weights_names = [name for names in self._all_weights for name in names]
        self.reset_parameters()

    @staticmethod
    def _check_settings(
        mode: str, hidden_size: int, num_layers: int, dropout: Any, proj_size: int
    ) -> None:
        if mode not in _GATES:
            raise ValueError(f"[RNNBase] expects a mode of {', '.join(_GATES)}, got {mode!r}")
        check_count("RNNBase", "hidden_size", hidden_size, least=0)
        check_count("RNNBase", "num_layers", num_layers)
        number = isinstance(dropout, numbers.Real) and not isinstance(dropout, bool)
        if not number or not 0 <= dropout <= 1:
            raise ValueError(f"[RNNBase] expects a dropout in [0, 1], got {dropout!r}")
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                f"dropout {dropout} works between layers, and there is one layer", stacklevel=4
            )
        if proj_size < 0 or (proj_size > 0 and proj_size >= hidden_size):
            raise ValueError(
                f"[RNNBase] expects proj_size in [0, hidden_size = {hidden_size}), got {proj_size}"
            )

    def _add_parameters(self, layer: int, suffix: str, device: Any, dtype: Any) -> None:
        state = self.proj_size or self.hidden_size
        directions = 2 if self.bidirectional else 1
        width = _GATES[self.mode] * self.hidden_size
        shapes: dict[str, tuple[int, ...]] = {
            "weight_ih": (width, self.input_size if layer == 0 else state * directions),
            "weight_hh": (width, state),
        }
        if self.bias:
            shapes.update(bias_ih=(width,), bias_hh=(width,))
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        names = []
        for kind, shape in shapes.items():
            names.append(f"{kind}_l{layer}{suffix}")
            value = creation.empty(*shape, device=device, dtype=dtype)
            self.register_parameter(names[-1], Parameter(value))
        self._all_weights.append(names)

    @property
    def _flat_weights(self) -> list[Any]:
        return [getattr(self, name) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Any]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def reset_parameters(self) -> None:
        """Draws the parameters anew."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0.0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def check_input(self, input: Any, batch_sizes: Any) -> None:
        """RuntimeError for an input of another shape."""
        wanted = 3 if batch_sizes is None else 2
        if input.dim() != wanted:
            raise RuntimeError(
                f"[{type(self).__name__}] expects input of {wanted} dims, got {tuple(input.shape)}"
            )
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"[{type(self).__name__}] expects input whose last size is input_size = "
                f"{self.input_size}, got {tuple(input.shape)}"
            )

    def get_expected_hidden_size(self, input: Any, batch_sizes: Any) -> tuple[int, int, int]:
        """The shape of the initial states."""
        return self._state_shape(input, batch_sizes, self.proj_size or self.hidden_size)

    def _state_shape(self, input: Any, batch_sizes: Any, size: int) -> tuple[int, int, int]:
        if batch_sizes is not None:
            batch = int(batch_sizes[0].item())
        else:
            batch = input.shape[0 if self.batch_first else 1]
        return (self.num_layers * (2 if self.bidirectional else 1), batch, size)

    def check_hidden_size(
        self,
        hx: Any,
        expected_hidden_size: tuple[int, int, int],
        msg: str = "expects an initial state {}, got {}",
    ) -> None:
        """RuntimeError for initial states of another shape."""
        if tuple(hx.shape) != expected_hidden_size:
            text = msg.format(expected_hidden_size, tuple(hx.shape))
            raise RuntimeError(f"[{type(self).__name__}] {text}")

    def check_forward_args(self, input: Any, hidden: Any, batch_sizes: Any) -> None:
        """RuntimeError where input or initial states do not fit."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Any) -> Any:
        """The states in the order of the sorted sequences."""
        return hx if permutation is None else apply_permutation(hx, permutation)

    def extra_repr(self) -> str:
        """The settings."""
        text = f"{self.input_size}, {self.hidden_size}"
        defaults = {
            "proj_size": 0,
            "num_layers": 1,
            "bias": True,
            "batch_first": False,
            "dropout": 0.0,
            "bidirectional": False,
        }
        for name, default in defaults.items():
            if getattr(self, name) != default:
                text += f", {name}={getattr(self, name)}"
        return text

    def _zeros(self, input: Any, batch_sizes: Any, size: int) -> Any:
        shape = self._state_shape(input, batch_sizes, size)
        return creation.zeros(*shape, dtype=input.dtype, device=input.device)

    def _initial(self, input: Any, batch_sizes: Any) -> Any:
        return self._zeros(input, batch_sizes, self.hidden_size)

    def _batched(self, hx: Any) -> Any:
        """The initial state of one sequence, as a batch of one."""
        self._check_state_dims(hx, 2)
        return hx.unsqueeze(1)

    def _check_state_dims(self, hx: Any, dims: int) -> None:
        if hx.dim() != dims:
            raise RuntimeError(
                f"[{type(self).__name__}] expects initial states of {dims} dims, got "
                f"{tuple(hx.shape)}"
            )

    def _check_states(self, hx: Any) -> None:
        self._check_state_dims(hx, 3)

    def _unbatched(self, hn: Any) -> Any:
        return hn.squeeze(1)

    def _run(self, input: Any, batch_sizes: Any, hx: Any) -> tuple[Any, Any]:
        """The last layer's states and the last states."""
        op = getattr(_C, self.mode.lower())
        weights, settings = self._flat_weights, (self.bias, self.num_layers, self.dropout)
        if batch_sizes is None:
            out = op(input, hx, weights, *settings, self.training, self.bidirectional,
                     self.batch_first)  # fmt: skip
        else:
            out = op(input, batch_sizes, hx, weights, *settings, self.training, self.bidirectional)
        return out[0], tuple(out[1:]) if self.mode == "LSTM" else out[1]

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """The states of all steps of the last layer, and the last states; see the class."""
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        axis = 0 if self.batch_first else 1
        batched = input.dim() != 2
        if batched:
            if hx is not None:
                self._check_states(hx)
        else:
            input = input.unsqueeze(axis)
            hx = None if hx is None else self._batched(hx)
        self.check_input(input, None)
        if hx is None:
            hx = self._initial(input, None)
        self.check_forward_args(input, hx, None)
        output, hn = self._run(input, None, hx)
        return (output, hn) if batched else (output.squeeze(axis), self._unbatched(hn))

    def _forward_packed(self, packed: PackedSequence, hx: Any) -> tuple[Any, Any]:
        input, sizes = packed.data, packed.batch_sizes
        self.check_input(input, sizes)
        if hx is None:
            hx = self._initial(input, sizes)
        else:
            hx = self.permute_hidden(hx, packed.sorted_indices)
        self.check_forward_args(input, hx, sizes)
        output, hn = self._run(input, sizes, hx)
        result = PackedSequence(output, sizes, packed.sorted_indices, packed.unsorted_indices)
        return result, self.permute_hidden(hn, packed.unsorted_indices)


def _no_projection(kwargs: dict[str, Any]) -> None:
    if "proj_size" in kwargs:
        raise ValueError("[RNNBase] expects proj_size for an LSTM only, got it for an RNN or GRU")


class RNN(RNNBase):
    """Layers of h = tanh(x W_ih^T + b_ih + h W_hh^T + b_hh), or with relu.

    Args:
        input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, device,
            dtype: see RNNBase
        nonlinearity: "tanh" or "relu"; default "tanh"

    Shapes:
        input: (steps, batch, input_size), with batch_first (batch, steps, input_size), (steps,
            input_size) for one sequence, or a PackedSequence
        hx: (layers * directions, batch, hidden_size); default zeros
        results: (steps, batch, directions * hidden_size), and the last states in the shape of hx

    Raises:
        ValueError: another nonlinearity; see RNNBase.
        RuntimeError: the shapes do not fit.

    Source: Elman, Finding structure in time, 1990.

    Example:
        >>> import oneflow as flow
        >>> output, hn = flow.nn.RNN(10, 20, 2)(flow.randn(5, 3, 10))
        >>> output.shape, hn.shape
        (oneflow.Size([5, 3, 20]), oneflow.Size([2, 3, 20]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _no_projection(kwargs)
        self_nonlinearity = kwargs.pop("nonlinearity", "tanh")
        modes = {"tanh": "RNN_TANH", "relu": "RNN_RELU"}
        if self_nonlinearity not in modes:
            raise ValueError(f"[RNN] expects tanh or relu, got {self_nonlinearity!r}")
        super().__init__(modes[self_nonlinearity], *args, **kwargs)
        self.nonlinearity = self_nonlinearity


class LSTM(RNNBase):
    """Layers of long short-term memory.

    i, f, g, o = parts of x W_ih^T + b_ih + h W_hh^T + b_hh;
    c = sigmoid(f) c + sigmoid(i) tanh(g);  h = sigmoid(o) tanh(c), with proj_size times W_hr^T.

    Args:
        input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size,
            device, dtype: see RNNBase

    Shapes:
        input: (steps, batch, input_size), with batch_first (batch, steps, input_size), (steps,
            input_size) for one sequence, or a PackedSequence
        hx: (h, c) of (layers * directions, batch, hidden_size), h with proj_size in place of
            hidden_size; default zeros
        results: (steps, batch, directions * hidden_size), and the last states (h, c)

    Raises:
        ValueError: see RNNBase.
        TypeError: hx is no pair.
        RuntimeError: the shapes do not fit.

    Source: Hochreiter and Schmidhuber, Long short-term memory, 1997.

    Example:
        >>> import oneflow as flow
        >>> output, (hn, cn) = flow.nn.LSTM(10, 20, 2)(flow.randn(5, 3, 10))
        >>> output.shape, cn.shape
        (oneflow.Size([5, 3, 20]), oneflow.Size([2, 3, 20]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Any, batch_sizes: Any) -> tuple[int, int, int]:
        """The shape of the initial cell states."""
        return self._state_shape(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input: Any, hidden: Any, batch_sizes: Any) -> None:
        """RuntimeError where input or initial states do not fit."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(
            hidden[0],
            self.get_expected_hidden_size(input, batch_sizes),
            "expects a first state {}, got {}",
        )
        self.check_hidden_size(
            hidden[1],
            self.get_expected_cell_size(input, batch_sizes),
            "expects a second state {}, got {}",
        )

    def permute_hidden(self, hx: Any, permutation: Any) -> Any:
        """The states in the order of the sorted sequences."""
        self._check_pair(hx)
        if permutation is None:
            return hx
        return tuple(apply_permutation(state, permutation) for state in hx)

    def _initial(self, input: Any, batch_sizes: Any) -> Any:
        state = self._zeros(input, batch_sizes, self.proj_size or self.hidden_size)
        return state, self._zeros(input, batch_sizes, self.hidden_size)

    def _check_pair(self, hx: Any) -> None:
        if not isinstance(hx, (tuple, list)) or len(hx) != 2:
            got = f"{len(hx)} of them" if isinstance(hx, (tuple, list)) else type(hx).__name__
            raise TypeError(f"[{type(self).__name__}] expects a pair of states (h, c), got {got}")

    def _batched(self, hx: Any) -> Any:
        self._check_pair(hx)
        for state in hx:
            self._check_state_dims(state, 2)
        return tuple(state.unsqueeze(1) for state in hx)

    def _check_states(self, hx: Any) -> None:
        self._check_pair(hx)
        for state in hx:
            self._check_state_dims(state, 3)

    def _unbatched(self, hn: Any) -> Any:
        return tuple(state.squeeze(1) for state in hn)


class GRU(RNNBase):
    """Layers of gated recurrent units.

    r, z = sigmoid(parts of x W_ih^T + b_ih + h W_hh^T + b_hh);
    n = tanh(x W_in^T + b_in + r (h W_hn^T + b_hn));  h = (1 - z) n + z h.

    Args:
        input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, device,
            dtype: see RNNBase

    Shapes:
        input: (steps, batch, input_size), with batch_first (batch, steps, input_size), (steps,
            input_size) for one sequence, or a PackedSequence
        hx: (layers * directions, batch, hidden_size); default zeros
        results: (steps, batch, directions * hidden_size), and the last states in the shape of hx

    Raises:
        ValueError: see RNNBase.
        RuntimeError: the shapes do not fit.

    Source: Cho et al., Learning phrase representations using RNN encoder-decoder, 2014.

    Example:
        >>> import oneflow as flow
        >>> output, hn = flow.nn.GRU(10, 20, bidirectional=True)(flow.randn(5, 3, 10))
        >>> output.shape, hn.shape
        (oneflow.Size([5, 3, 40]), oneflow.Size([2, 3, 20]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _no_projection(kwargs)
        super().__init__("GRU", *args, **kwargs)
