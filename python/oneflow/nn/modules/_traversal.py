"""How to walk over a module's parts. Each comes once, however often it is reached, in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class Traversal:
    """The part of `Module` that finds modules, parameters and buffers; it owns nothing itself."""

    _modules: Any

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """The module itself, its modules, theirs and so on, as (path, module)."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                path = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, path, remove_duplicate)

    def modules(self) -> Iterator[Any]:
        """The module itself, its modules, theirs and so on."""
        for _, module in self.named_modules():
            yield module

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """The modules directly below, as (name, module)."""
        seen: set[Any] = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Any]:
        """The modules directly below."""
        for _, module in self.named_children():
            yield module

    def _named_members(
        self, owned: str, prefix: str, recurse: bool, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        modules = self.named_modules(prefix=prefix) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, value in module.__dict__[owned].items():
                if value is None or (remove_duplicate and id(value) in seen):
                    continue
                seen.add(id(value))
                yield (f"{path}.{name}" if path else name), value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """The parameters, as (path, parameter); those of modules below only if `recurse`.

        Example:
            >>> import oneflow as flow
            >>> [name for name, _ in flow.nn.Linear(1, 1).named_parameters()]
            ['weight', 'bias']
        """
        yield from self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Any]:
        """The parameters; those of modules below only if `recurse`."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """The buffers, as (path, tensor); those of modules below only if `recurse`."""
        yield from self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Any]:
        """The buffers; those of modules below only if `recurse`."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_submodule(self, target: str) -> Any:
        """The module at a dotted path; "" is the module itself.

        Raises:
            AttributeError: there is no module at this path.

        Example:
            >>> import oneflow as flow
            >>> net = flow.nn.Sequential(flow.nn.Identity())
            >>> net.get_submodule("0")
            Identity()
        """
        module = self
        for name in target.split(".") if target else ():
            found = module._modules.get(name)
            if found is None:
                raise AttributeError(
                    f"[get_submodule] {type(self).__name__} has no module {target!r}: "
                    f"{type(module).__name__} has no {name!r}"
                )
            module = found
        return module

    def get_parameter(self, target: str) -> Any:
        """The parameter at a dotted path; AttributeError where there is none."""
        return self._get_member("_parameters", "parameter", target)

    def get_buffer(self, target: str) -> Any:
        """The buffer at a dotted path; AttributeError where there is none."""
        return self._get_member("_buffers", "buffer", target)

    def _get_member(self, owned: str, kind: str, target: str) -> Any:
        path, _, name = target.rpartition(".")
        value = self.get_submodule(path).__dict__[owned].get(name)
        if value is None:
            raise AttributeError(f"[{type(self).__name__}] has no {kind} {target!r}")
        return value
