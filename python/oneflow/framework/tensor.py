"""Tensor's methods that are written in Python; the others come from the extension."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from oneflow import _oneflow_internal
from oneflow.framework import comparison, creation, global_tensor, norms, quantiles, tensor_more
from oneflow.framework.dtype import DTYPES, is_floating_point
from oneflow.framework.tensor_str import tensor_repr
from oneflow.framework.type_tensor import dtype_of_type

_C = _oneflow_internal._C
Tensor = _oneflow_internal.Tensor

# Ops that are no public function of their own: nn.functional, the optimizers and the backward
# formulas call them.
_INTERNAL_OPS = frozenset(
    ("copy", "cross_entropy", "linear", "nll_loss", "multi_tensor_norm",
     "matrix_norm", "sqrt_square_sum", "sum_to_shape", "throw_error", "throw_error_in_backward",
     "vector_norm")
)  # fmt: skip


def public_ops() -> Iterable[tuple[str, Any]]:
    """The ops of the table that are functions of `oneflow`, as (name, function).

    Example:
        >>> from oneflow.framework.tensor import public_ops
        >>> "matmul" in dict(public_ops())
        True
    """
    for name, op in vars(_C).items():
        internal = (
            name.startswith(("_", "reduce_"))
            or name.endswith(("_", "_backward"))
            or name in _INTERNAL_OPS
        )
        if callable(op) and not internal:
            yield name, op


def is_tensor(obj: Any) -> bool:
    """Whether `obj` is a tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.is_tensor(flow.ones(1)), flow.is_tensor(1.0)
        (True, False)
    """
    return isinstance(obj, Tensor)


def numel(input: Any) -> int:
    """The number of elements of a tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.numel(flow.zeros(2, 3))
        6
    """
    return int(input.numel())


def is_nonzero(input: Any) -> bool:
    """Whether a tensor of one element is not zero.

    Raises:
        ValueError: it has more or fewer elements.

    Example:
        >>> import oneflow as flow
        >>> flow.is_nonzero(flow.tensor(0.5))
        True
    """
    if input.numel() != 1:
        raise ValueError(f"[is_nonzero] expects one element, got {tuple(input.shape)}")
    return bool(input.item() != 0)


def _parse_to(args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, Any, bool]:
    """(device or None, dtype or None, copy) of the forms of `Tensor.to` and `Module.to`."""
    device = kwargs.pop("device", None)
    dtype = kwargs.pop("dtype", None)
    copy = kwargs.pop("copy", False)
    other = kwargs.pop("other", None)
    kwargs.pop("non_blocking", None)
    for name in kwargs:
        raise TypeError(f"[to] got an unexpected keyword {name!r}")
    for arg in (*args, other):
        if arg is None or isinstance(arg, bool):
            continue
        if isinstance(arg, Tensor):
            device, dtype = arg.device, arg.dtype
        elif isinstance(arg, _oneflow_internal.dtype):
            dtype = arg
        elif isinstance(arg, (str, int, _oneflow_internal.device)):
            device = arg
        else:
            raise TypeError(f"[to] expects a device, a dtype or a Tensor, got {arg!r}")
    if dtype is not None and not isinstance(dtype, _oneflow_internal.dtype):
        raise TypeError(f"[to] expects an oneflow.dtype, got {dtype!r}")
    if device is not None and not isinstance(device, _oneflow_internal.device):
        device = _device(device)
    return device, dtype, bool(copy)


def _device(spec: Any) -> Any:
    if isinstance(spec, int):
        return _oneflow_internal.device("cuda", spec)
    return _oneflow_internal.device(spec)


def to(self: Any, *args: Any, **kwargs: Any) -> Any:
    """The tensor on another device, or of another dtype; itself where nothing changes.

    Args:
        device, dtype, or another Tensor whose device and dtype to take
        copy: whether to copy even so; default False

    Raises:
        TypeError: an argument is none of these.
        RuntimeError: there is no such device.

    Example:
        >>> import oneflow as flow
        >>> flow.tensor([1.5]).to(flow.int64)
        tensor([1], dtype=oneflow.int64)
    """
    device, dtype, copy = _parse_to(args, kwargs)
    result = self
    if device is not None and device != self.device:
        result = _to_device(result, device)
    if dtype is not None and dtype != self.dtype:
        result = _C.cast(result, dtype)
    return self.clone() if copy and result is self else result


def _to_device(tensor: Any, device: Any) -> Any:
    """A copy on another device. The extension of a CPU-only build knows one device, and says so."""
    return _C.empty(tuple(tensor.shape), dtype=tensor.dtype, device=device).copy_(tensor)


def clone(self: Any) -> Any:
    """A copy, through which gradients flow back.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(2)
        >>> y = x.clone()
        >>> y[0] = 5
        >>> x
        tensor([1., 1.], dtype=oneflow.float32)
    """
    return _C.copy(self)


def cpu(self: Any) -> Any:
    """The tensor in host memory; itself if it is there.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(1).cpu().device.type
        'cpu'
    """
    return to(self, "cpu")


def cuda(self: Any, device: Any = None) -> Any:
    """The tensor in a GPU's memory.

    Raises:
        RuntimeError: there is no such GPU.

    Example:
        >>> import oneflow as flow
        >>> try:
        ...     where = flow.ones(1).cuda().device.type
        ... except RuntimeError:
        ...     where = "no GPU here"
        >>> where in ("cuda", "no GPU here")
        True
    """
    return to(self, "cuda" if device is None else device)


def type_as(self: Any, other: Any) -> Any:
    """The tensor with the dtype and device of `other`.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(1).type_as(flow.arange(2))
        tensor([1], dtype=oneflow.int64)
    """
    return to(self, other)


def type_(self: Any, dtype: Any = None) -> Any:
    """The tensor with another dtype; without an argument the name of its type.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(1).type(), flow.ones(1).type(flow.int64).dtype
        ('oneflow.FloatTensor', oneflow.int64)
    """
    if dtype is not None:
        wanted = dtype_of_type(dtype) or dtype
        if not isinstance(wanted, _oneflow_internal.dtype):
            raise TypeError(
                f"[type] expects a dtype, or a type of tensors or its name, got {dtype!r}"
            )
        return to(self, wanted)
    prefixes = {
        "bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int",
        "int64": "Long", "float16": "Half", "bfloat16": "BFloat16", "float32": "Float",
        "float64": "Double",
    }  # fmt: skip
    place = "cuda." if self.is_cuda else ""
    return f"oneflow.{place}{prefixes[str(self.dtype).removeprefix('oneflow.')]}Tensor"


def new_tensor(
    self: Any,
    data: Any,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    placement: Any = None,
    sbp: Any = None,
) -> Any:
    """A tensor of `data` with the dtype and device of this one, unless given.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(1).new_tensor([1, 2])
        tensor([1., 2.], dtype=oneflow.float32)
    """
    dtype = self.dtype if dtype is None else dtype
    device = self.device if device is None else device
    if placement is None:
        placement, sbp = _same_place(self, sbp)
    made = _oneflow_internal.tensor(data, dtype=dtype, device=device)
    return creation.placed(made, requires_grad, placement, sbp)


def _same_place(tensor: Any, sbp: Any) -> tuple[Any, Any]:
    where, own = global_tensor.place_of(tensor)
    return where, own if sbp is None else sbp


def _new(maker: Any) -> Any:
    def method(self: Any, *size: Any, dtype: Any = None, device: Any = None, placement: Any = None,
               sbp: Any = None, requires_grad: bool = False, **named: Any) -> Any:  # fmt: skip
        if "size" in named:
            size = (named.pop("size"), *size)
        if placement is None:
            placement, sbp = _same_place(self, sbp)
        return maker(
            *size,
            dtype=self.dtype if dtype is None else dtype,
            device=self.device if device is None else device,
            requires_grad=requires_grad,
            placement=placement,
            sbp=sbp,
            **named,
        )

    method.__name__ = f"new_{maker.__name__}"
    method.__doc__ = f"`oneflow.{maker.__name__}` with the dtype and device of this tensor."
    return method


def copy_(self: Any, other: Any) -> Any:
    """Sets the elements to those of `other`, in place; `other` is broadcast and converted.

    A parameter takes new values this way outside of `no_grad()`, too, as in OneFlow.

    Args:
        other: a Tensor, a NumPy array, or a number

    Raises:
        ValueError, RuntimeError: its shape does not broadcast to this one, or it requires grad and
            this is a leaf that does.

    Example:
        >>> import oneflow as flow
        >>> flow.zeros(2).copy_(flow.arange(2))
        tensor([0., 1.], dtype=oneflow.float32)
    """
    if not isinstance(other, Tensor):
        other = _oneflow_internal.tensor(other, dtype=self.dtype)
    if not (self.is_leaf and self.requires_grad) or other.requires_grad:
        return _C.copy_(self, to(other, self.device))
    # New values of a parameter: nothing that a gradient would flow to.
    before = _oneflow_internal.is_grad_enabled()
    _oneflow_internal.set_grad_enabled(False)
    try:
        return _C.copy_(self, to(other, self.device))
    finally:
        _oneflow_internal.set_grad_enabled(before)


def deepcopy(self: Any, memo: dict[int, Any]) -> Any:
    """What `copy.deepcopy` does: the values, `requires_grad` and the gradient, no history.

    Raises:
        RuntimeError: autograd made the tensor, so that a copy could not say how.
    """
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise RuntimeError(
            "[deepcopy] expects a tensor that the program made, got a result that autograd "
            f"recorded ({_shape(self)}); copy its detach() instead"
        )
    copied = type(self)(_C.copy(self.detach()))
    copied.requires_grad = self.requires_grad
    if self.grad is not None:
        copied.grad = _C.copy(self.grad.detach())
    copied.__dict__.update(_deepcopy_attributes(self, memo))
    memo[id(self)] = copied
    return copied


def _deepcopy_attributes(self: Any, memo: dict[int, Any]) -> dict[str, Any]:
    if not self.__dict__:
        return {}
    import copy

    return copy.deepcopy(self.__dict__, memo)


def _shape(tensor: Any) -> str:
    return f"shape {tuple(tensor.shape)}, {tensor.dtype}"


def reduce_(self: Any, protocol: Any = None) -> Any:
    """How `pickle` and processes send a tensor: its class, its elements, `requires_grad`."""
    if not self.is_leaf:
        raise RuntimeError(
            "[pickle] expects a tensor without history, got a result that autograd "
            f"recorded ({_shape(self)}); send its detach() instead"
        )
    # NumPy has no bfloat16.
    short = self.dtype == _oneflow_internal.bfloat16
    values = _C.copy(self.detach()) if not short else _C.cast(self.detach(), DTYPES["float32"])
    dtype = "bfloat16" if short else None
    parts = (type(self), values.numpy(), self.requires_grad, dtype, self._global)
    return (rebuild, parts, self.__dict__) if self.__dict__ else (rebuild, parts)


def rebuild(
    cls: type, values: Any, requires_grad: bool, dtype: str | None = None, place: Any = None
) -> Any:
    """The tensor that `pickle` sent."""
    tensor = _oneflow_internal.tensor(values, dtype=None if dtype is None else DTYPES[dtype])
    tensor = tensor if cls is Tensor else cls(tensor)
    tensor._global = place
    tensor.requires_grad = requires_grad
    return tensor


def format_(self: Any, spec: str) -> str:
    """What `format(tensor, spec)` is: that of the number for a scalar tensor."""
    if not spec:
        return tensor_repr(self)
    if self.ndim:
        raise TypeError(
            f"[format] expects a tensor of no dimensions for {spec!r}, got {_shape(self)}"
        )
    return format(self.item(), spec)


def _casts() -> dict[str, Any]:
    """`x.float()`, `x.long()` and so on."""
    names = {"byte": "uint8", "char": "int8", "short": "int16", "int": "int32", "long": "int64",
             "half": "float16", "bfloat16": "bfloat16", "float": "float32", "double": "float64",
             "bool": "bool"}  # fmt: skip

    def cast(name: str, dtype: Any) -> Any:
        def method(self: Any) -> Any:
            return self if self.dtype == dtype else _C.cast(self, dtype)

        method.__name__ = name
        method.__doc__ = f"The tensor with dtype {dtype}; itself if it has it already."
        return method

    return {name: cast(name, DTYPES[full]) for name, full in names.items() if full in DTYPES}


def register_methods() -> None:
    """Gives Tensor its Python methods; called once, when the package is imported."""
    methods: dict[str, Any] = {
        "__repr__": tensor_repr, "__str__": tensor_repr, "__format__": format_,
        "__deepcopy__": deepcopy, "__reduce_ex__": reduce_, "to": to, "clone": clone, "cpu": cpu,
        "cuda": cuda, "type_as": type_as, "type": type_,
        "new_tensor": new_tensor, "copy_": copy_,
        "is_floating_point": is_floating_point, "norm": norms.norm,
        "quantile": quantiles.quantile,
        "is_nonzero": is_nonzero, "allclose": comparison.allclose, "equal": comparison.equal,
    }  # fmt: skip
    for maker in (creation.empty, creation.full, creation.ones, creation.zeros):
        methods[f"new_{maker.__name__}"] = _new(maker)
    methods.update(_casts())
    methods.update(tensor_more.methods())
    methods.update(global_tensor.methods())
    methods["unfold"] = vars(Tensor)["unfold_tensor"]
    for name, method in methods.items():
        setattr(Tensor, name, method)
