"""The version of the package; the wheel reads it here too."""

__version__ = "1.0.0.dev0"
