"""How a module's tensors become global ones, and local again."""

from __future__ import annotations

from typing import Any, TypeVar

G = TypeVar("G", bound="GlobalState")


class GlobalState:
    """The part of `Module` that knows of placements; it owns nothing itself."""

    modules: Any
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]

    def to_global(self: G, placement: Any = None, sbp: Any = None) -> G:
        """Makes the parameters and buffers global, in place.

        Args:
            placement, sbp: of each; a global tensor keeps its own where one is not given

        Returns:
            the module

        Raises:
            ValueError: a tensor is local, and placement or sbp not given.
            RuntimeError: a tensor cannot be split so.
            NotImplementedError: a placement of other ranks.

        Example:
            >>> import oneflow as flow
            >>> where = flow.placement("cpu", [0])
            >>> flow.nn.Linear(1, 1).to_global(where, flow.sbp.broadcast).weight.is_global
            True
        """
        tensors = self._tensors()
        # All are made before the first is changed: some may be refused.
        for tensor, made in zip(tensors, [t.detach().to_global(placement, sbp) for t in tensors]):
            tensor.data = made
        return self

    def to_local(self: G) -> G:
        """Makes the parameters and buffers local, in place: this rank's part of each.

        Returns:
            the module

        Raises:
            RuntimeError: a tensor is local.

        Example:
            >>> import oneflow as flow
            >>> layer = flow.nn.Linear(1, 1)
            >>> layer.to_global(flow.placement("cpu", [0]), flow.sbp.broadcast).to_local()
            Linear(in_features=1, out_features=1, bias=True)
        """
        tensors = self._tensors()
        for tensor, made in zip(tensors, [t.detach().to_local() for t in tensors]):
            tensor.data = made
        return self

    def to_consistent(self, *args: Any, **kwargs: Any) -> Any:
        """The old name of `to_global`.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError("[to_consistent] expects to be called by its new name, to_global")

    def _tensors(self) -> list[Any]:
        found = {
            id(tensor): tensor
            for module in self.modules()
            for tensor in (*module._parameters.values(), *module._buffers.values())
            if tensor is not None
        }
        return list(found.values())
