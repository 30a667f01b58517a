"""Changes the status."""

import sys

print("good")
sys.exit(1)
