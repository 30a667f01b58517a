"""The modules of a graph, the proxies that stand for them, and what a trace does to them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from oneflow import _oneflow_internal
from oneflow.autograd.autograd_mode import no_grad
from oneflow.nn.graph.graph_block import GraphBlock
from oneflow.nn.graph.proxy import block_of, get_proxy_cls
from oneflow.nn.modules.module import Module

# Guards `_recomputed`. What a thread that traces recomputes: {id(module): how to call it}.
_lock = threading.Lock()
_recomputed: dict[int, int] = {}
_thread = threading.local()
# Who is told of the modules that a thread calls; and how they are called where nobody is.
_notes: dict[int, Callable[[Module], None]] = {}
_usual_call = Module.__call__


class Blocks:
    """The modules of one graph, by name. It knows nothing of the graph, so that a proxy that
    outlives the graph keeps no graph alive.

    Thread safety: as a dict.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.nn.graph._blocks import Blocks
        >>> blocks = Blocks()
        >>> blocks.modules["fc"] = flow.nn.Linear(2, 2)
        >>> [name for name, _ in blocks.named_parameters()]
        ['fc.weight', 'fc.bias']
    """

    def __init__(self) -> None:
        self.modules: dict[str, Module] = {}
        self.tracer = 0  # the thread that traces the graph now
        self._proxies: dict[tuple[str, int], Any] = {}
        self._called: dict[int, Module] = {}  # in `build`, without being the graph's
        self._seen = -1
        self._mode: tuple[Any, ...] = ()

    def __getitem__(self, name: str) -> Any:
        return self.proxy_of(self.modules[name], "", name)

    def proxy_of(self, item: Any, prefix: str, name: str, kind: str | None = None) -> Any:
        """The proxy of a module or tensor at a path; always the same."""
        key = (prefix + name, id(item))  # a proxy keeps its item alive
        if key not in self._proxies:
            block = block_of(item, prefix, name, kind)
            self._proxies[key] = get_proxy_cls(item)(item, block, self)
        return self._proxies[key]

    def is_tracing(self) -> bool:
        """Whether this thread traces the graph."""
        return self.tracer == threading.get_ident()

    def named_modules(self) -> Iterator[tuple[str, Module]]:
        """Path and module, each module once."""
        seen: set[int] = set()
        for name, module in self.modules.items():
            for path, part in module.named_modules(prefix=name):
                if id(part) not in seen:
                    seen.add(id(part))
                    yield path, part

    def named_parameters(self) -> Iterator[tuple[str, Any]]:
        """Path and parameter."""
        for path, module in self.named_modules():
            for name, parameter in module._parameters.items():
                if parameter is not None:
                    yield f"{path}.{name}", parameter

    def named_buffers(self) -> Iterator[tuple[str, Any]]:
        """Path and buffer."""
        for path, module in self.named_modules():
            for name, buffer in module._buffers.items():
                if buffer is not None:
                    yield f"{path}.{name}", buffer

    def mode(self, anew: bool = False) -> tuple[Any, ...]:
        """What of the modules `build` may depend on: their modes, and their parameters.

        Args:
            anew: look at each parameter again, whose requires_grad changes unnoticed
        """
        if anew or self._seen != Module._changes:
            seen = Module._changes
            modes = tuple([module.training for _, module in self.named_modules()])
            modes += tuple([module.training for module in self._called.values()])
            parameters = tuple([(id(p), p.requires_grad) for _, p in self.named_parameters()])
            self._mode, self._seen = (modes, parameters), seen
        return self._mode

    def blocks(self) -> Iterator[tuple[GraphBlock, Any]]:
        """Each block that somebody asked for, and what it is of."""
        for proxy in list(self._proxies.values()):
            yield proxy._block, proxy._origin

    @contextlib.contextmanager
    def tracing(self) -> Iterator[None]:
        """While `build` runs: modules that checkpoint are called so that they do."""
        chosen = [
            module
            for block, module in self.blocks()
            if getattr(block, "activation_checkpointing", None)
        ]
        own = {id(module) for _, module in self.named_modules()}

        def note(module: Module) -> None:
            if id(module) not in own and id(module) not in self._called:
                self._called[id(module)] = module
                self._seen = -1

        self.tracer = threading.get_ident()
        try:
            with recomputing(chosen), calls_noted(note):
                yield
        finally:
            self.tracer = 0

    @contextlib.contextmanager
    def buffers_written_back(self, is_lazy: Callable[[Any], bool]) -> Iterator[None]:
        """A buffer that `build` replaced is put back, and gets the new value at each run."""
        before = [
            (module, name, buffer)
            for _, module in self.named_modules()
            for name, buffer in module._buffers.items()
        ]
        replaced = []
        try:
            yield
            replaced = [
                (buffer, module._buffers[name])
                for module, name, buffer in before
                if buffer is not None and module._buffers.get(name) is not buffer
            ]
            with no_grad():
                for buffer, value in replaced:
                    if value is not None and is_lazy(value) and not is_lazy(buffer):
                        buffer.copy_(value)
        finally:
            for module, name, buffer in before:
                if name in module._buffers and module._buffers[name] is not buffer:
                    module._buffers[name] = buffer


@contextlib.contextmanager
def calls_noted(note: Callable[[Module], None]) -> Iterator[None]:
    """Inside, `note` gets each module that this thread calls.

    A graph's modules are its attributes; `build` may call others, whose mode it depends on as well.
    `Module.__call__` is another one meanwhile, so that it costs nothing where nobody traces.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.nn.graph._blocks import calls_noted
        >>> with calls_noted(print):
        ...     _ = flow.nn.ReLU()(flow.ones(1))
        ReLU()
    """
    thread = threading.get_ident()
    with _lock:
        before = _notes.get(thread)
        if not _notes:
            _set_call(_noting_call)
        _notes[thread] = note
    try:
        yield
    finally:
        with _lock:
            if before is None:
                del _notes[thread]
            else:
                _notes[thread] = before
            if not _notes:
                _set_call(_usual_call)


def _set_call(call: Callable[..., Any]) -> None:
    Module.__call__ = call  # type: ignore[method-assign]


def _noting_call(self: Module, *args: Any, **kwargs: Any) -> Any:
    note = _notes.get(threading.get_ident())
    if note is not None:
        note(self)
    return _usual_call(self, *args, **kwargs)


@contextlib.contextmanager
def recomputing(modules: list[Module]) -> Iterator[None]:
    """Inside, this thread's calls of the modules forget their inner values until backward.

    `Module.__call__` finds `forward` in the module's own attributes first: that is where it is
    replaced. Other threads that call the module meanwhile get the usual forward.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.nn.graph._blocks import recomputing
        >>> layer = flow.nn.Linear(2, 2)
        >>> with recomputing([layer]):
        ...     layer(flow.ones(1, 2)).sum().backward()
        >>> layer.weight.grad.shape
        oneflow.Size([2, 2])
    """
    mine: set[int] = getattr(_thread, "modules", set())
    added = [module for module in modules if id(module) not in mine]
    with _lock:
        for module in added:
            _recomputed[id(module)] = _recomputed.get(id(module), 0) + 1
            if _recomputed[id(module)] == 1:
                module.__dict__["forward"] = _Forward(module, module.__dict__.get("forward"))
    _thread.modules = mine | {id(module) for module in added}
    try:
        yield
    finally:
        _thread.modules = mine
        with _lock:
            for module in added:
                _recomputed[id(module)] -= 1
                if _recomputed[id(module)] == 0:
                    del _recomputed[id(module)]
                    module.__dict__["forward"].undo()


class _Forward:
    """Stands in for a module's `forward`."""

    def __init__(self, module: Module, own: Any) -> None:
        self._module = module
        self._own = own  # a forward that the module had among its own attributes

    def undo(self) -> None:
        """Puts back what was there."""
        del self._module.__dict__["forward"]
        if self._own is not None:
            self._module.__dict__["forward"] = self._own

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from oneflow.utils.checkpoint import checkpoint

        usual = self._own or type(self._module).forward.__get__(self._module)
        if id(self._module) not in getattr(_thread, "modules", ()):
            return usual(*args, **kwargs)
        return checkpoint(usual, *args, **kwargs)


def is_lazy(tensor: Any) -> bool:
    """Whether a tensor has no value yet: it was made in `build`.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.nn.graph._blocks import is_lazy
        >>> is_lazy(flow.ones(1))
        False
    """
    return bool(_oneflow_internal.graph.is_lazy(tensor))
