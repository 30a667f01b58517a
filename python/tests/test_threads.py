"""Several Python threads over shared tensors; forking while they run."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import oneflow as flow

THREADS = 4


def test_backward_of_graphs_that_share_leaves() -> None:
    weights = [flow.ones(64, 64, requires_grad=True) for _ in range(8)]
    errors: list[BaseException] = []

    def work(length: int) -> None:  # graphs of one shape would hide a mix-up
        try:
            for _ in range(5):
                y = flow.ones(64, 64)
                for k in range(length):
                    y = y * weights[k % 8]
                    if k % 20 == 0:  # lets the others run in the midst of this run
                        y.register_hook(lambda _: time.sleep(1e-4))
                y.sum().backward()
        except BaseException as error:  # noqa: BLE001 - told to the main thread
            errors.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work, args=(50 * n + 30,)) for n in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert errors == []
    for weight in weights:
        assert np.isfinite(weight.grad.numpy()).all()


BUSY = """
    import os, sys, threading, time
    import numpy as np
    import oneflow as flow

    def work(x):
        while True:
            x.add_(1)

    for _ in range(3):
        x = flow.from_numpy(np.ones(200_000, np.float32))
        threading.Thread(target=work, args=(x,), daemon=True).start()
    time.sleep(0.3)
"""

FORKS = """
    for _ in range(20):
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
    print("forked")
"""


def run(program: str, seconds: float, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True, text=True, timeout=seconds,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environ},
    )  # fmt: skip


@pytest.mark.parametrize("attempt", range(4))  # it leaves, too, with threads that wait for the GIL
def test_forking_while_threads_work_on_visible_memory(attempt: int) -> None:
    done = run(textwrap.dedent(BUSY) + textwrap.dedent(FORKS), 60)
    assert (done.returncode, done.stdout.strip()) == (0, "forked"), (attempt, done.stderr)


SETTINGS = """
    import os
    import oneflow
    print([os.environ.get(name) for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")])
"""


def displayed(**environ: str) -> tuple[str, str]:
    """What libgomp says that it was told, and what the environment is after the import."""
    done = run(SETTINGS, 60, OMP_DISPLAY_ENV="verbose", **environ)
    assert done.returncode == 0, done.stderr
    return done.stderr, done.stdout.strip()


def test_how_long_threads_of_a_region_poll() -> None:
    told, left = displayed()
    assert "GOMP_SPINCOUNT = '1000'" in told and "OMP_WAIT_POLICY = 'ACTIVE'" in told
    assert left == "[None, None]"
    for name, value in (("GOMP_SPINCOUNT", "77"), ("OMP_WAIT_POLICY", "PASSIVE")):
        told, left = displayed(**{name: value})
        assert f"{name} = '{value}'" in told and "ACTIVE'" not in told, told
        assert value in left


MODES = ("auto", "queued", "inline", "random")


@pytest.mark.parametrize("mode", MODES)
def test_data_that_changes_under_ops_of_other_threads(mode: str) -> None:
    done = run(
        f"""
        import sys, threading, time
        import oneflow as flow

        flow._oneflow_internal.set_vm_mode({mode!r})
        sys.setswitchinterval(1e-5)
        shared = [flow.ones(200, 200) for _ in range(3)]
        end = time.monotonic() + 2

        def use():
            while time.monotonic() < end:
                for x in shared:
                    (x + x).numpy()
                    x[3, 3].item()
                    with flow.no_grad():
                        x.mul_(x)

        def change():
            while time.monotonic() < end:
                for x, n in zip(shared, (200, 10, 0)):
                    x.data = flow.ones(n + 4, 200)
                    x.data = flow.ones(200, 200)

        threads = [threading.Thread(target=f) for f in (use, use, use, change, change)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print("done")
        """,
        60,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "done"), done.stderr
