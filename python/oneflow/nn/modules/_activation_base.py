"""What activations share."""

from __future__ import annotations

from oneflow.nn.modules.module import Module


class _Activation(Module):
    """What activations share: they show the settings that `_settings` names, and `inplace`."""

    _settings: tuple[str, ...] = ()
    inplace = False

    def extra_repr(self) -> str:
        """The settings."""
        shown = [f"{name}={getattr(self, name)}" for name in self._settings]
        return ", ".join([*shown, "inplace=True"] if self.inplace else shown)


class _Inplace(_Activation):
    """An activation with no setting but `inplace`."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace
