"""41: a child made by fork, after threads started, uses the library and leaves."""

import multiprocessing
import os
import sys
import time

import way_out

import oneflow as flow

y = flow.ones(3, 5) @ flow.ones(5, 10)
big = flow.ones(300, 300) @ flow.ones(300, 300)
if way_out.case() == "unread":
    failed = flow._C.throw_error(flow.ones(3), 1)
    while not flow._oneflow_internal.unread_error_report():
        time.sleep(0.001)


def work() -> None:
    """In the child: what was computed before is there, and ops of any size work."""
    x = flow.ones(300, 300)
    way_out.premise((x @ x).sum().item() == big.sum().item(), "another product")
    print("child", y.sum().item(), flush=True)


if way_out.case() == "process":
    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    process.join()
    way_out.premise(process.exitcode == 0, f"the child ended with {process.exitcode}")
else:
    child = os.fork()
    if child == 0:
        work()
        sys.exit(0)
    _, status = os.waitpid(child, 0)
    way_out.premise(status == 0, f"the child ended with {status}")
print("parent", y.sum().item())
way_out.pause()
