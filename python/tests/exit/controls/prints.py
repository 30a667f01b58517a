"""Prints to stderr."""

import sys

print("good")
print("oneflow: by the way", file=sys.stderr)
