"""What activations share."""

from __future__ import annotations

from oneflow.nn.modules.module import Module


class _Activation(Module):
    """What activations share: they show the settings that `_settings` names, and `inplace`."""

    _settings: tuple[str, ...] = ()
    inplace = False

    def __init_subclass__(cls) -> None:
        """Adds what holds for each of them to its docstrings: `help` shows a class's own alone."""
        super().__init_subclass__()
        if not cls.__module__.startswith("oneflow.nn.modules.") or cls.__name__.startswith("_"):
            return
        if cls.__doc__ is not None and "Shapes:" not in cls.__doc__:
            cls.__doc__ = (
                f"{cls.__doc__.rstrip()}\n\n    Shapes: input and result have the same\n    "
            )
        forward = vars(cls).get("forward")
        if forward is not None and forward.__doc__ is None:
            forward.__doc__ = "Input and result: Tensor of any shape."

    def extra_repr(self) -> str:
        """The settings."""
        shown = [f"{name}={getattr(self, name)}" for name in self._settings]
        return ", ".join([*shown, "inplace=True"] if self.inplace else shown)


class _Inplace(_Activation):
    """An activation with no setting but `inplace`."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace
