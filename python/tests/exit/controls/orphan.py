"""Leaves a process behind, in a session of its own."""

import os
import time

print("good", flush=True)
if os.fork() == 0:
    os.setsid()
    time.sleep(600)
