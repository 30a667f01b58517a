"""The package's version, under the names that OneFlow has for it."""

from oneflow._version import __version__

__git_commit__ = "unknown"

__all__ = ["__git_commit__", "__version__"]
