"""34: asyncio with a pending future, and ops that an executor runs."""

import asyncio

import way_out

import oneflow as flow


def work() -> float:
    """An op that is awaited."""
    return (flow.ones(300, 300) @ flow.ones(300, 300)).sum().item()


async def wait_for(future: "asyncio.Future[float]") -> float:
    """Holds a tensor meanwhile."""
    x = flow.ones(300, 300)
    y = x @ x
    return await future + y.sum().item()


async def main() -> None:
    """Leaves a task, a future and an executor's job behind."""
    loop = asyncio.get_running_loop()
    kept.append(asyncio.ensure_future(wait_for(loop.create_future())))
    kept.append(loop.run_in_executor(None, work))
    await asyncio.sleep(0.01)
    way_out.premise(not kept[0].done(), "the task is done")
    print("pending")
    way_out.pause()


kept: "list[asyncio.Future[float]]" = []
if way_out.case() == "run":
    asyncio.run(main())
else:
    left_open = asyncio.new_event_loop()
    future: "asyncio.Future[float]" = left_open.create_future()
    future.add_done_callback(lambda _: None)
    left_open.run_until_complete(asyncio.sleep(0.01))
    x = flow.ones(300, 300)
    future.tensor = x @ x  # type: ignore[attr-defined]
    print("pending")
    way_out.pause()
