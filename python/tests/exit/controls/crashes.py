"""Dies of a segmentation fault at its end."""

import os
import signal

print("good", flush=True)
os.kill(os.getpid(), signal.SIGSEGV)
