"""What this build can do."""

from __future__ import annotations

from pathlib import Path

from oneflow import _oneflow_internal


def with_cuda() -> bool:
    """Whether ops can run on a GPU here.

    Example:
        >>> import oneflow as flow
        >>> flow.sysconfig.with_cuda() == flow.cuda.is_available()
        True
    """
    return bool(_oneflow_internal.cuda_is_available())


def get_cuda_version() -> int:
    """The version of CUDA that this package was built with, 11070 for 11.7; 0 where it was not.

    Example:
        >>> import oneflow as flow
        >>> flow.sysconfig.get_cuda_version() >= 0
        True
    """
    version = getattr(_oneflow_internal, "cuda_version", None)
    return 0 if version is None else int(version())


def with_rdma() -> bool:
    """Whether ranks talk by RDMA: never.

    Example:
        >>> import oneflow as flow
        >>> flow.sysconfig.with_rdma()
        False
    """
    return False


def has_rpc_backend_grpc() -> bool:
    """Whether ranks find each other by gRPC: never.

    Example:
        >>> import oneflow as flow
        >>> flow.sysconfig.has_rpc_backend_grpc()
        False
    """
    return False


def has_rpc_backend_local() -> bool:
    """Whether a program can run as one rank without a network: always.

    Example:
        >>> import oneflow as flow
        >>> flow.sysconfig.has_rpc_backend_local()
        True
    """
    return True


def get_lib() -> str:
    """The folder of the package, with its extension module.

    Example:
        >>> import oneflow as flow
        >>> flow.sysconfig.get_lib().endswith("oneflow")
        True
    """
    return str(Path(__file__).parent)
