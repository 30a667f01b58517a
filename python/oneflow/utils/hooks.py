"""The handle that registering a hook returns."""

from __future__ import annotations

import itertools
import weakref
from typing import Any

_ids = itertools.count()


class RemovableHandle:
    """Removes one hook from the dict that holds it; a context manager that removes it on exit.

    Args:
        hooks: the dict, by weak reference

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.Identity()
        >>> handle = layer.register_forward_hook(lambda module, args, out: out + 1)
        >>> handle.remove()
        >>> layer(flow.zeros(1))
        tensor([0.], dtype=oneflow.float32)
    """

    def __init__(self, hooks: Any) -> None:
        self.id = next(_ids)
        self._hooks = weakref.ref(hooks)

    def remove(self) -> None:
        """Removes the hook; a second call does nothing."""
        hooks = self._hooks()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


class HookDict(dict[int, Any]):
    """Hooks by the id of their handle, in order of registration; weakly referable."""

    __slots__ = ("__weakref__",)

    def add(self, hook: Any) -> RemovableHandle:
        """Adds a hook; returns its handle."""
        if not callable(hook):
            raise TypeError(f"[hook] expects something callable, got {type(hook).__name__}")
        handle = RemovableHandle(self)
        self[handle.id] = hook
        return handle
