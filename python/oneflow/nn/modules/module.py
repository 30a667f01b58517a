"""Module: the base of every neural network."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

from oneflow import _oneflow_internal
from oneflow.framework.tensor import _parse_to
from oneflow.nn.modules import _state
from oneflow.nn.modules._backward_hooks import Watched
from oneflow.nn.modules._global import GlobalState
from oneflow.nn.modules._traversal import Traversal
from oneflow.nn.parameter import Parameter
from oneflow.utils.hooks import HookDict, RemovableHandle

Tensor = _oneflow_internal.Tensor
T = TypeVar("T", bound="Module")

# The dicts that hold what a module owns; each instance has all of them.
_OWNED = ("_parameters", "_buffers", "_modules")
_HOOKS = (
    "_forward_pre_hooks",
    "_forward_hooks",
    "_backward_pre_hooks",
    "_backward_hooks",
    "_state_dict_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


class Module(Traversal, GlobalState):
    """A part of a network: it computes, and owns parameters, buffers and further modules.

    A subclass calls `super().__init__()` first, assigns its parts as attributes, and defines
    `forward`. Calling the module runs the hooks and `forward`.

    * parameters (`nn.Parameter`): what an optimizer trains
    * buffers (`register_buffer`): state that is saved but not trained
    * modules: parts of this kind

    Attributes:
        training: what `train()` and `eval()` set, for layers that behave differently

    Example:
        >>> import oneflow as flow
        >>> class Net(flow.nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.fc = flow.nn.Linear(3, 2)
        ...     def forward(self, x):
        ...         return flow.relu(self.fc(x))
        >>> net = Net()
        >>> net(flow.ones(4, 3)).shape
        oneflow.Size([4, 2])
        >>> net
        Net(
          (fc): Linear(in_features=3, out_features=2, bias=True)
        )
    """

    _version = 1
    # Grows whenever any module is given a parameter, a module or another mode: graphs look at it.
    _changes = 0
    training: bool

    def __init__(self) -> None:
        attributes = self.__dict__
        attributes["training"] = True
        for name in _OWNED:
            attributes[name] = OrderedDict()
        attributes["_non_persistent_buffers_set"] = set()
        for name in _HOOKS:
            attributes[name] = HookDict()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes; every subclass defines it.

        Raises:
            NotImplementedError: the subclass does not.
        """
        raise NotImplementedError(
            f"[Module] {type(self).__name__} does not define forward(self, ...)"
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._forward_pre_hooks or self._forward_hooks:
            return self._call_with_hooks(args, kwargs)
        if self._backward_hooks or self._backward_pre_hooks:
            return self._call_with_hooks(args, kwargs)
        return self.forward(*args, **kwargs)

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        for hook in tuple(self._forward_pre_hooks.values()):
            replaced = hook(self, args)
            if replaced is not None:
                args = replaced if isinstance(replaced, tuple) else (replaced,)
        watched = None
        if self._backward_hooks or self._backward_pre_hooks:
            watched = Watched(self)
            args = watched.inputs(args)
        result = self.forward(*args, **kwargs)
        for hook in tuple(self._forward_hooks.values()):
            replaced = hook(self, args, result)
            if replaced is not None:
                result = replaced
        return result if watched is None else watched.outputs(result)

    # Attributes.

    def __getattr__(self, name: str) -> Any:
        attributes = self.__dict__
        for owned in _OWNED:
            members = attributes.get(owned)
            if members is not None and name in members:
                return members[name]
        hint = "" if "_modules" in attributes else "; was super().__init__() called first?"
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}{hint}")

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Parameter):
            self._forget(name, "parameters")
            self.register_parameter(name, value)
            Module._changes += 1
        elif isinstance(value, Module):
            self._forget(name, "modules")
            self._modules[name] = value
            Module._changes += 1
        elif not self._replace(name, value):
            object.__setattr__(self, name, value)
            if name == "training":
                Module._changes += 1

    def _forget(self, name: str, kind: str) -> None:
        """Removes what else has this name, before a parameter or module takes it."""
        attributes = self.__dict__
        if "_modules" not in attributes:
            raise AttributeError(
                f"[{type(self).__name__}] expects super().__init__() before {kind} are assigned, "
                f"got an assignment to {name!r}"
            )
        attributes.pop(name, None)
        for owned in _OWNED:
            # A parameter that replaces a parameter keeps its place in the order.
            if owned != f"_{kind}":
                attributes[owned].pop(name, None)
        attributes["_non_persistent_buffers_set"].discard(name)

    def _replace(self, name: str, value: Any) -> bool:
        """Puts a plain value in the place of an owned one; False where there is none."""
        for owned, expected in (
            ("_parameters", "nn.Parameter"),
            ("_modules", "nn.Module"),
            ("_buffers", "Tensor"),
        ):
            members = self.__dict__.get(owned)
            if members is None or name not in members:
                continue
            if value is not None and not (owned == "_buffers" and isinstance(value, Tensor)):
                raise TypeError(
                    f"[{type(self).__name__}] expects {expected} or None for {name!r}, "
                    f"got {type(value).__name__}; `del` it first to assign something else"
                )
            members[name] = value
            return True
        return False

    def __delattr__(self, name: str) -> None:
        for owned in _OWNED:
            if name in self.__dict__.get(owned, ()):
                del self.__dict__[owned][name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = set(object.__dir__(self))
        for owned in _OWNED:
            names.update(self.__dict__.get(owned, ()))
        return sorted(name for name in names if not name[:1].isdigit())

    # Registration.

    def _check_name(self, kind: str, name: Any) -> None:
        if "_modules" not in self.__dict__:
            raise AttributeError(f"[{kind}] expects super().__init__() to have been called first")
        if not isinstance(name, str):
            raise TypeError(f"[{kind}] expects a str as name, got {type(name).__name__}")
        if not name or "." in name:
            raise KeyError(
                f"[{kind}] expects a name that is not empty and has no dot, got {name!r}"
            )

    def _check_free(self, kind: str, name: str, owned: str) -> None:
        if name not in self.__dict__[owned] and hasattr(self, name):
            raise KeyError(f"[{kind}] expects a free name, got {name!r}, which exists")

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Adds a parameter, or None to reserve the name.

        Args:
            name: without a dot; the attribute's name
            param: an `nn.Parameter` or None

        Raises:
            KeyError: the name has a dot, is empty, or is taken by something else.
            TypeError: `param` is something else.
            ValueError: it is the result of an op that autograd recorded.

        Example:
            >>> import oneflow as flow
            >>> module = flow.nn.Module()
            >>> module.register_parameter("scale", flow.nn.Parameter(flow.ones(1)))
            >>> [name for name, _ in module.named_parameters()]
            ['scale']
        """
        self._check_name("register_parameter", name)
        self._check_free("register_parameter", name, "_parameters")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"[register_parameter] expects nn.Parameter or None for {name!r}, "
                f"got {type(param).__name__}"
            )
        if param is not None and not param.is_leaf:
            raise ValueError(
                f"[register_parameter] expects a parameter without history for {name!r}, got the "
                "result of an op; compute it in forward() instead"
            )
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Adds a tensor that belongs to the module's state, but is not trained.

        Args:
            name: without a dot; the attribute's name
            tensor: a Tensor or None
            persistent: whether `state_dict` has it; default True

        Raises:
            KeyError: the name has a dot, is empty, or is taken by something else.
            TypeError: `tensor` is something else.

        Example:
            >>> import oneflow as flow
            >>> module = flow.nn.Module()
            >>> module.register_buffer("mean", flow.zeros(1))
            >>> list(module.state_dict())
            ['mean']
        """
        self._check_name("register_buffer", name)
        self._check_free("register_buffer", name, "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"[register_buffer] expects a Tensor or None for {name!r}, "
                f"got {type(tensor).__name__}"
            )
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Adds a module under a name, like an assignment to an attribute.

        Raises:
            KeyError: the name has a dot, is empty, or is taken by something else.
            TypeError: `module` is neither a Module nor None.
        """
        self._check_name("add_module", name)
        self._check_free("add_module", name, "_modules")
        if module is not None and not isinstance(module, Module):
            raise TypeError(
                f"[add_module] expects nn.Module or None for {name!r}, got {type(module).__name__}"
            )
        self._modules[name] = module

    register_module = add_module

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(module, args)` before each `forward`; what it returns replaces the arguments.

        Returns:
            a handle, whose `remove()` ends it
        """
        return self._forward_pre_hooks.add(hook)

    def register_forward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(module, args, output)` after each `forward`; its result replaces the output.

        Returns:
            a handle, whose `remove()` ends it
        """
        return self._forward_hooks.add(hook)

    def register_full_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(module, grad_inputs, grad_outputs)` when backward has passed the module.

        Both are tuples of tensors or None, for the tensors among the arguments of `forward` and of
        what it returned. What the hook returns replaces grad_inputs. In the module's inputs and
        outputs nothing may be changed in place.

        Returns:
            a handle, whose `remove()` ends it

        Example:
            >>> import oneflow as flow
            >>> layer = flow.nn.Identity()
            >>> handle = layer.register_full_backward_hook(lambda m, dx, dy: (dx[0] * 2,))
            >>> x = flow.ones(1, requires_grad=True)
            >>> layer(x).sum().backward()
            >>> x.grad
            tensor([2.], dtype=oneflow.float32)
        """
        return self._backward_hooks.add(hook)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(module, grad_outputs)` when backward comes to the module; see above.

        What the hook returns replaces grad_outputs.

        Returns:
            a handle, whose `remove()` ends it
        """
        return self._backward_pre_hooks.add(hook)

    register_backward_hook = register_full_backward_hook

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(module, incompatible_keys)` in `load_state_dict`, when names are compared.

        The hook may take names out of the lists of incompatible_keys. Values are copied after it.

        Returns:
            a handle, whose `remove()` ends it
        """
        return self._load_state_dict_post_hooks.add(hook)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(module, state_dict, prefix, metadata)` at the end of `state_dict`."""
        return self._state_dict_hooks.add(hook)

    def _register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook` with the arguments of `_load_from_state_dict`, before it."""
        return self._load_state_dict_pre_hooks.add(hook)

    # State.

    def state_dict(
        self, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> OrderedDict[str, Any]:
        """The parameters and persistent buffers by path; they share memory with the module.

        Args:
            destination: a dict to add to; default a new OrderedDict
            prefix: put before each path
            keep_vars: whether to give the parameters themselves, not detached tensors

        Returns:
            an OrderedDict; its attribute `_metadata` has the version of each module

        Example:
            >>> import oneflow as flow
            >>> list(flow.nn.Linear(1, 1).state_dict(prefix="fc."))
            ['fc.weight', 'fc.bias']
        """
        return _state.collect(self, destination, prefix, keep_vars)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Adds the module's own parameters and buffers; a subclass may add more."""
        _state.save_own(self, destination, prefix, keep_vars)

    def load_state_dict(self, state_dict: Any, strict: bool = True) -> _state.IncompatibleKeys:
        """Copies the values of a state dict into the parameters and buffers.

        Nothing changes if it raises.

        Args:
            state_dict: a mapping, as `state_dict` gives it
            strict: whether both must have the same names; default True

        Returns:
            the names that were `missing_keys` and `unexpected_keys`

        Raises:
            TypeError: not a mapping, or a value is no tensor.
            RuntimeError: a shape differs, or, if `strict`, a name; the message lists all of them.

        Example:
            >>> import oneflow as flow
            >>> a, b = flow.nn.Linear(2, 2), flow.nn.Linear(2, 2)
            >>> b.load_state_dict(a.state_dict())
            <All keys matched successfully>
        """
        return _state.load(self, state_dict, strict)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Takes the module's own values from `state_dict`; a subclass may convert old ones."""
        _state.load_own(
            self, state_dict, prefix, local_metadata, missing_keys, unexpected_keys, error_msgs
        )

    # What happens to all of it.

    def apply(self: T, fn: Callable[[Module], Any]) -> T:
        """Calls `fn(module)` for each module below, then for this one; returns it."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self: T, fn: Callable[[Any], Any]) -> T:
        """Replaces the data of each parameter, gradient and buffer by `fn(tensor)`."""
        for module in self.children():
            module._apply(fn)
        for parameter in self._parameters.values():
            if parameter is not None:
                gradient = parameter.grad
                changed = fn(parameter.detach())
                if changed is not None and changed.dtype != parameter.dtype:
                    # A gradient has the dtype of its parameter; it comes back converted.
                    parameter.grad = None
                parameter.data = changed
                if gradient is not None:
                    parameter.grad = fn(gradient.detach())
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self: T, *args: Any, **kwargs: Any) -> T:
        """Moves the module to a device, or converts its floating-point tensors, in place.

        Args:
            device, dtype, or a Tensor whose device and dtype to take

        Returns:
            the module

        Raises:
            TypeError: the dtype is no floating-point dtype, or an argument is none of these.
            RuntimeError: there is no such device.

        Example:
            >>> import oneflow as flow
            >>> flow.nn.Linear(1, 1).to(flow.float64).weight.dtype
            oneflow.float64
        """
        device, dtype, _ = _parse_to(args, kwargs)
        if dtype is not None and not _is_floating(dtype):
            raise TypeError(f"[Module.to] expects a floating-point dtype, got {dtype}")
        return self._apply(lambda t: t.to(device, dtype if _is_floating(t.dtype) else None))

    def float(self: T) -> T:
        """`to(oneflow.float32)`."""
        return self.to(_oneflow_internal.float32)

    def double(self: T) -> T:
        """`to(oneflow.float64)`."""
        return self.to(_oneflow_internal.float64)

    def half(self: T) -> T:
        """`to(oneflow.float16)`."""
        return self.to(_oneflow_internal.float16)

    def bfloat16(self: T) -> T:
        """`to(oneflow.bfloat16)`."""
        return self.to(_oneflow_internal.bfloat16)

    def type(self: T, dst_type: Any) -> T:
        """`to(dst_type)`."""
        return self.to(dst_type)

    def cpu(self: T) -> T:
        """`to("cpu")`."""
        return self.to("cpu")

    def cuda(self: T, device: Any = None) -> T:
        """`to("cuda")`, or to the GPU of the given index; RuntimeError where there is none."""
        return self.to("cuda" if device is None else device)

    def train(self: T, mode: bool = True) -> T:
        """Sets `training` of this module and all below it; returns it.

        Raises:
            ValueError: `mode` is no bool.
        """
        if not isinstance(mode, bool):
            raise ValueError(f"[train] expects a bool, got {mode!r}")
        for module in self.modules():
            module.training = mode
        return self

    def eval(self: T) -> T:
        """`train(False)`."""
        return self.train(False)

    def requires_grad_(self: T, requires_grad: bool = True) -> T:
        """Sets `requires_grad` of every parameter; returns the module."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = False) -> None:
        """Sets every gradient to zero, or removes it."""
        for parameter in self.parameters():
            if parameter.grad is None:
                continue
            if set_to_none:
                parameter.grad = None
            else:
                parameter.grad = parameter.grad.detach().zero_()

    # Text.

    def extra_repr(self) -> str:
        """What `repr` shows between the parentheses; a subclass says its settings."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __setstate__(self, state: dict[str, Any]) -> None:
        """What pickle restores: hooks that an older version did not have are there, and empty."""
        self.__dict__.update(state)
        for name in _HOOKS:
            self.__dict__.setdefault(name, HookDict())

    def __repr__(self) -> str:
        lines = [line for line in self.extra_repr().split("\n") if line]
        for name, module in self._modules.items():
            lines.append(f"({name}): " + repr(module).replace("\n", "\n  "))
        if not self._modules and len(lines) <= 1:
            return f"{self._get_name()}({''.join(lines)})"
        inside = "".join(f"\n  {line}" for line in lines)
        return f"{self._get_name()}({inside}\n)"


def _is_floating(dtype: Any) -> bool:
    return str(dtype).startswith(("oneflow.float", "oneflow.bfloat"))
