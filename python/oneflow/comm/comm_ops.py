"""The functions of `oneflow.comm`: collective operations on local tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneflow import _oneflow_internal
from oneflow.framework.global_tensor import world_size

_C = _oneflow_internal._C


def _alone(caller: str, rank: int | None = None) -> None:
    if world_size() != 1:
        raise NotImplementedError(
            f"[{caller}] expects one rank, got {world_size()}: ranks cannot talk to each other yet"
        )
    if rank not in (None, 0):
        raise ValueError(f"[{caller}] expects the rank 0, the only one, got {rank}")


def _only(caller: str, tensors: Sequence[Any]) -> Any:
    if len(tensors) != 1:
        raise ValueError(f"[{caller}] expects a tensor for each of 1 ranks, got {len(tensors)}")
    return tensors[0]


def all_reduce(tensor: Any) -> Any:
    """The sum over all ranks, in place.

    Example:
        >>> import oneflow as flow
        >>> flow.comm.all_reduce(flow.ones(2)).tolist()
        [1.0, 1.0]
    """
    _alone("all_reduce")
    return tensor


def all_gather(tensor_list: Sequence[Any], tensor: Any) -> None:
    """Copies each rank's tensor to each rank's list.

    Example:
        >>> import oneflow as flow
        >>> out = [flow.zeros(2)]
        >>> flow.comm.all_gather(out, flow.ones(2))
        >>> out[0].tolist()
        [1.0, 1.0]
    """
    _alone("all_gather")
    _C.copy_(_only("all_gather", tensor_list), tensor)


def all_gather_into_tensor(output_tensor: Any, input_tensor: Any) -> None:
    """Copies each rank's tensor, one after the other, into one on each rank.

    Example:
        >>> import oneflow as flow
        >>> out = flow.zeros(2)
        >>> flow.comm.all_gather_into_tensor(out, flow.ones(2))
        >>> out.tolist()
        [1.0, 1.0]
    """
    _alone("all_gather_into_tensor")
    _C.copy_(output_tensor, _C.reshape(input_tensor, tuple(output_tensor.shape)))


def all_to_all(output_tensor_list: Sequence[Any], input_tensor_list: Sequence[Any]) -> None:
    """Copies tensor i of each rank to rank i.

    Example:
        >>> import oneflow as flow
        >>> out = [flow.zeros(1)]
        >>> flow.comm.all_to_all(out, [flow.ones(1)])
        >>> out[0].tolist()
        [1.0]
    """
    _alone("all_to_all")
    _C.copy_(_only("all_to_all", output_tensor_list), _only("all_to_all", input_tensor_list))


def barrier() -> None:
    """Waits until each rank is here.

    Example:
        >>> import oneflow as flow
        >>> flow.comm.barrier()
    """
    _alone("barrier")


def broadcast(tensor: Any, src: int) -> Any:
    """Copies the tensor of rank `src` to all, in place.

    Example:
        >>> import oneflow as flow
        >>> flow.comm.broadcast(flow.ones(1), 0).tolist()
        [1.0]
    """
    _alone("broadcast", src)
    return tensor


def gather(tensor: Any, gather_list: Sequence[Any] | None = None, dst: int = 0) -> None:
    """Copies each rank's tensor to the list of rank `dst`.

    Example:
        >>> import oneflow as flow
        >>> out = [flow.zeros(1)]
        >>> flow.comm.gather(flow.ones(1), out)
        >>> out[0].tolist()
        [1.0]
    """
    _alone("gather", dst)
    _C.copy_(_only("gather", gather_list or []), tensor)


def reduce(tensor: Any, dst: int) -> Any:
    """The sum over all ranks, in place on rank `dst`.

    Example:
        >>> import oneflow as flow
        >>> flow.comm.reduce(flow.ones(1), 0).tolist()
        [1.0]
    """
    _alone("reduce", dst)
    return tensor


def reduce_scatter(output: Any, input_list: Sequence[Any]) -> None:
    """The sum over all ranks of tensor i, on rank i.

    Example:
        >>> import oneflow as flow
        >>> out = flow.zeros(1)
        >>> flow.comm.reduce_scatter(out, [flow.ones(1)])
        >>> out.tolist()
        [1.0]
    """
    _alone("reduce_scatter")
    _C.copy_(output, _only("reduce_scatter", input_list))


def reduce_scatter_tensor(output_tensor: Any, input_tensor: Any) -> None:
    """The sum over all ranks, of which rank i gets part i.

    Example:
        >>> import oneflow as flow
        >>> out = flow.zeros(2)
        >>> flow.comm.reduce_scatter_tensor(out, flow.ones(2))
        >>> out.tolist()
        [1.0, 1.0]
    """
    _alone("reduce_scatter_tensor")
    _C.copy_(output_tensor, _C.reshape(input_tensor, tuple(output_tensor.shape)))


def scatter(tensor: Any, scatter_list: Sequence[Any] | None = None, src: int = 0) -> None:
    """Copies tensor i of the list on rank `src` to rank i.

    Example:
        >>> import oneflow as flow
        >>> out = flow.zeros(1)
        >>> flow.comm.scatter(out, [flow.ones(1)])
        >>> out.tolist()
        [1.0]
    """
    _alone("scatter", src)
    _C.copy_(tensor, _only("scatter", scatter_list or []))


def send(input: Any, dst: int, send_meta: bool = True) -> None:
    """Sends a tensor to another rank.

    Raises:
        NotImplementedError: there is no other rank yet.

    Example:
        >>> import oneflow as flow
        >>> flow.comm.send(flow.ones(1), 1)
        Traceback (most recent call last):
        NotImplementedError: [send] ...
    """
    raise NotImplementedError(f"[send] expects another rank, got {dst}: ranks cannot talk yet")


def recv(
    src: int, shape: Any = None, dtype: Any = None, device: Any = None, out: Any = None
) -> Any:
    """Receives a tensor from another rank.

    Raises:
        NotImplementedError: there is no other rank yet.

    Example:
        >>> import oneflow as flow
        >>> flow.comm.recv(1)
        Traceback (most recent call last):
        NotImplementedError: [recv] ...
    """
    raise NotImplementedError(f"[recv] expects another rank, got {src}: ranks cannot talk yet")
