"""Lets programs written for PyTorch run on OneFlow.

Between `enable()` and `disable()`, `import torch` gives OneFlow's modules.

    >>> import oneflow.mock_torch as mock
    >>> with mock.enable():
    ...     import torch
    ...     torch.ones(2).dtype
    oneflow.float32

Each of the two modes has modules of its own called `torch...`: they are exchanged in `sys.modules`,
and in the global names of the module that switches. Both may be used as functions or in a `with`
statement.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Sequence
from typing import Any

error_msg = ": OneFlow has nothing of this name"


class ModuleWrapper(types.ModuleType):
    """A module of OneFlow under the name of PyTorch's.

    Example:
        >>> import oneflow as flow
        >>> flow.mock_torch.ModuleWrapper("torch.nn", flow.nn).__package__
        'oneflow.nn'
    """

    def __init__(self, name: str, module: types.ModuleType) -> None:
        super().__init__(name)
        self.__dict__["_mocked"] = module
        self.__package__ = module.__name__
        self.__path__: list[str] = []
        self.__file__ = __file__
        self.__all__ = [name for name in dir(module) if not name.startswith("_")]

    def __getattr__(self, name: str) -> Any:
        module = self.__dict__["_mocked"]
        if not hasattr(module, name):
            raise AttributeError(f"{module.__name__}.{name}{error_msg}")
        value = getattr(module, name)
        if isinstance(value, types.ModuleType) and value.__name__.startswith("oneflow"):
            return importlib.import_module(f"{self.__name__}.{name}")
        return value


class OneflowImporter(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `torch.x` in `oneflow.x`, while it is among `sys.meta_path`.

    Example:
        >>> import oneflow as flow
        >>> flow.mock_torch.OneflowImporter().find_spec("torch.nn").name
        'torch.nn'
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The module for `torch` and what begins with `torch.`; nothing for others."""
        if fullname.partition(".")[0] != "torch":
            return None
        name = "oneflow" + fullname.removeprefix("torch")
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
            raise ImportError(name + error_msg) from None
        return importlib.machinery.ModuleSpec(fullname, self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """A wrapper of OneFlow's module."""
        name = "oneflow" + spec.name.removeprefix("torch")
        return ModuleWrapper(spec.name, importlib.import_module(name))

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing: OneFlow's module is there already."""
        wrapped = module.__dict__["_mocked"]
        module.__package__ = wrapped.__name__


_importer = OneflowImporter()
# The modules called `torch...` of the mode that is off.
_modules: dict[bool, dict[str, types.ModuleType]] = {False: {}, True: {}}


def _enabled() -> bool:
    return _importer in sys.meta_path


def _switch(to: bool, names: dict[str, Any]) -> None:
    if _enabled() == to:
        return
    here = {name: module for name, module in sys.modules.items()
            if name.partition(".")[0] == "torch"}  # fmt: skip
    _modules[not to] = here
    for name in here:
        del sys.modules[name]
    sys.modules.update(_modules[to])
    if to:
        sys.meta_path.insert(0, _importer)
    else:
        sys.meta_path.remove(_importer)
    for name, module in _modules[to].items():
        if "." not in name:
            names[name] = module


class _Mode:
    """Switches at once; in a `with` statement, back at its end."""

    _to: bool

    def __init__(self) -> None:
        self._names = sys._getframe(1).f_globals
        self._before = _enabled()
        _switch(self._to, self._names)

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        _switch(self._before, self._names)


class enable(_Mode):
    """From here on, or within the block, `import torch` gives OneFlow's modules.

    Raises:
        ImportError: at the import of a module that OneFlow does not have.

    Example: see the module.
        >>> import oneflow.mock_torch as mock
        >>> with mock.enable():
        ...     import torch.nn as nn
        >>> nn.__package__
        'oneflow.nn'
    """

    _to = True


class disable(_Mode):
    """From here on, or within the block, `import torch` gives PyTorch.

    Example:
        >>> import oneflow.mock_torch as mock
        >>> with mock.disable():
        ...     pass
    """

    _to = False
