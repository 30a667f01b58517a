"""`tools/bazel run //tools:format`: lays out C++, Bazel's files and Python as //tools:lint wants
them.
"""

from __future__ import annotations

import sys

from tools.checks import programs, workspace


def main() -> int:
    """Formats the checkout; returns 1 if something is left that a formatter cannot mend."""
    root = workspace.root()
    left = "".join(
        fix(root, True) for fix in (programs.clang_format, programs.buildifier, programs.ruff)
    )
    print(left, end="")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
