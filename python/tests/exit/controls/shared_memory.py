"""Leaves shared memory behind."""

import os
from multiprocessing import resource_tracker, shared_memory

memory = shared_memory.SharedMemory(f"oneflow-{os.getpid()}", create=True, size=4096)
resource_tracker.unregister(memory._name, "shared_memory")  # type: ignore[attr-defined]
memory.close()
print("good")
