"""Fails when an archive of AVX code defines a symbol that other archives may define too.

    isa_symbols.py ARCHIVE...

An inline function that is not inlined is emitted by every file that uses it, and the linker keeps
one copy: the one with AVX-512, if it comes first, for callers on machines that have no AVX-512. So
whatever such an archive emits as a weak function must lie in its own namespace, `avx2` or `avx512`.
"""

from __future__ import annotations

import re
import subprocess
import sys


def shared_symbols(listing: str) -> list[str]:
    """Weak functions in the output of `nm --demangle --defined-only` that are in no namespace of
    an instruction set.
    """
    found = set()
    for line in listing.splitlines():
        match = re.match(r"[0-9a-f]+ [Wwi] (.*)", line)
        if match and not re.search(r"\bavx(?:2|512)::", match[1]):
            found.add(match[1])
    return sorted(found)


def main(archives: list[str]) -> int:
    """Looks at `archives`; returns 1 if one has a shared symbol."""
    status = 0
    for archive in archives:
        command = ["nm", "--demangle", "--defined-only", archive]
        listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        if not re.search(r"^[0-9a-f]+ [A-Za-z] ", listing, re.M):
            print(f"{archive}: defines nothing")
            status = 1
        for symbol in shared_symbols(listing):
            print(f"{archive}: {symbol} may be linked into code for all machines")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
