"""33: thread-local tensors: of the main thread, of ended threads and of living ones."""

import threading

import way_out

import oneflow as flow

local = threading.local()
never = threading.Event()
kept = threading.Semaphore(0)


def work(stays: bool) -> None:
    """Keeps tensors in its own storage."""
    local.x = flow.ones(300, 300, requires_grad=True)
    local.y = local.x @ local.x
    kept.release()
    if stays:
        never.wait()


local.x = flow.ones(300, 300) @ flow.ones(300, 300)
threads = [threading.Thread(target=work, args=(n % 2 == 0,), daemon=True) for n in range(4)]
for thread in threads:
    thread.start()
for _ in threads:
    kept.acquire()
print(len(threads), "threads")
way_out.pause()
