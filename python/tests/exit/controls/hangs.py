"""Hangs at its end, in a thread that nothing ends."""

import threading
import time

print("good", flush=True)
threading.Thread(target=time.sleep, args=(600,)).start()
