"""Saving and loading a module's state: what `Module.state_dict` and `load_state_dict` do."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from oneflow import _oneflow_internal
from oneflow.autograd.autograd_mode import no_grad

Tensor = _oneflow_internal.Tensor
_ASSIGN = "assign"  # in local_metadata: the function that takes (target, value)


class IncompatibleKeys(NamedTuple):
    """The names that a module and a state dict do not share."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return (
            f"IncompatibleKeys(missing_keys={self.missing_keys}, "
            f"unexpected_keys={self.unexpected_keys})"
        )

    def __str__(self) -> str:
        return repr(self)


def collect(module: Any, destination: Any, prefix: str, keep_vars: bool) -> Any:
    """Fills `destination` with the state of `module` and all below it."""
    if destination is None:
        destination = OrderedDict()
        destination._metadata = OrderedDict()
    metadata = {"version": module._version}
    if hasattr(destination, "_metadata"):
        destination._metadata[prefix[:-1]] = metadata
    module._save_to_state_dict(destination, prefix, keep_vars)
    for name, child in module._modules.items():
        if child is not None:
            child.state_dict(destination, f"{prefix}{name}.", keep_vars)
    for hook in tuple(module._state_dict_hooks.values()):
        replaced = hook(module, destination, prefix, metadata)
        if replaced is not None:
            destination = replaced
    return destination


def _own(module: Any) -> dict[str, Any]:
    """The parameters and persistent buffers of the module itself."""
    own = {**module._parameters, **module._buffers}
    skipped = module._non_persistent_buffers_set
    return {name: value for name, value in own.items() if value is not None and name not in skipped}


def save_own(module: Any, destination: Any, prefix: str, keep_vars: bool) -> None:
    """Adds the parameters and persistent buffers of the module itself."""
    for name, value in _own(module).items():
        destination[prefix + name] = value if keep_vars else value.detach()


def load(module: Any, state_dict: Any, strict: bool) -> IncompatibleKeys:
    """Checks every value, and copies them all, or raises and copies none."""
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"[load_state_dict] expects a mapping, got {type(state_dict).__name__}")
    versions = getattr(state_dict, "_metadata", None)
    values = OrderedDict(state_dict)
    missing: list[str] = []
    unexpected: list[str] = []
    errors: list[str] = []
    pending: list[tuple[Any, Any]] = []

    def load_below(part: Any, prefix: str) -> None:
        metadata = dict((versions or {}).get(prefix[:-1], {}))
        metadata[_ASSIGN] = lambda target, value: pending.append((target, value))
        arguments = (values, prefix, metadata, True, missing, unexpected, errors)
        for hook in tuple(part._load_state_dict_pre_hooks.values()):
            hook(*arguments)
        part._load_from_state_dict(*arguments)
        for name, child in part._modules.items():
            if child is not None:
                load_below(child, f"{prefix}{name}.")

    load_below(module, "")
    found = IncompatibleKeys(missing, unexpected)
    for part in module.modules():
        for hook in tuple(part._load_state_dict_post_hooks.values()):
            hook(part, found)
    _raise_mismatch(module, missing, unexpected, errors, strict)
    for target, value in pending:
        copy_into(target, value)
    return found


def _raise_mismatch(
    module: Any, missing: list[str], unexpected: list[str], errors: list[str], strict: bool
) -> None:
    lines = []
    if strict and missing:
        lines.append("the state dict lacks " + ", ".join(missing))
    if strict and unexpected:
        lines.append("the module has no " + ", ".join(unexpected))
    lines += errors
    if lines:
        raise RuntimeError(
            f"[load_state_dict] expects the state of {type(module).__name__}, got another:\n  "
            + "\n  ".join(lines)
        )


def load_own(
    module: Any,
    state_dict: Any,
    prefix: str,
    local_metadata: dict[str, Any],
    missing_keys: list[str],
    unexpected_keys: list[str],
    error_msgs: list[str],
) -> None:
    """Checks the values for the module itself, and hands those that fit to `assign`."""
    assign = local_metadata.get(_ASSIGN, copy_into)
    own = _own(module)
    for name, target in own.items():
        key = prefix + name
        if key not in state_dict:
            missing_keys.append(key)
            continue
        problem = _problem(target, state_dict[key])
        if problem:
            error_msgs.append(f"{key}: {problem}")
        else:
            assign(target, state_dict[key])
    for key in state_dict:
        if key.startswith(prefix):
            name, dot, _ = key[len(prefix) :].partition(".")
            known = module._modules.get(name) is not None if dot else name in own
            if not known:
                unexpected_keys.append(key)


def _problem(target: Any, value: Any) -> str:
    """Why `value` cannot become `target`; "" if it can."""
    if not isinstance(value, (Tensor, np.ndarray)):
        return f"expects a Tensor, got {type(value).__name__}"
    wanted, got = tuple(target.shape), tuple(value.shape)
    if wanted != got:
        return f"expects shape {wanted}, got {got}"
    return ""


def copy_into(target: Any, value: Any) -> None:
    """Copies a value of the same shape, converted to the dtype and device of `target`."""
    with no_grad():
        target.copy_(value.detach() if isinstance(value, Tensor) else value)
