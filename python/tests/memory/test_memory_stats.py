"""The figures of the pool: exact numbers after known requests, and the limit."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.memory import program
from tests.support import must_fail, raises

import oneflow as flow

MIB = 1 << 20
loose: Any = flow  # wrong types on purpose


def settle() -> dict[str, Any]:
    """The figures with nothing queued, and no garbage that would be freed in between."""
    flow.cpu.synchronize()
    gc.collect()
    gc.freeze()  # the next collection has little to look at
    flow.cpu.empty_cache()
    flow.cpu.reset_peak_memory_stats()
    return flow.cpu.memory_stats()


def check_sums(stats: dict[str, Any]) -> None:
    """The classes hold all that is in use and all that is reserved."""
    classes = stats["size_classes"]
    sizes = [entry["block_bytes"] for entry in classes]
    assert sizes == sorted(set(sizes))
    assert sum(entry["in_use_bytes"] for entry in classes) == stats["allocated"]
    held = sum(entry["in_use_bytes"] + entry["cached_bytes"] for entry in classes)
    assert held + stats["unsplit"] == stats["reserved"]
    for entry in classes:
        blocks = entry["in_use"] + entry["cached"]
        assert blocks > 0
        assert entry["in_use_bytes"] + entry["cached_bytes"] <= blocks * entry["block_bytes"]
        assert (entry["in_use"] == 0) == (entry["in_use_bytes"] == 0)
    assert stats["allocated"] <= stats["allocated_peak"] <= stats["reserved_peak"]
    assert stats["allocated"] <= stats["reserved"] <= stats["reserved_peak"]
    assert 0 <= stats["cache_hits"] <= stats["allocations"]
    assert stats["reserved"] <= stats["limit"]


def in_class(stats: dict[str, Any], block_bytes: int) -> int:
    """How many blocks of a class are in use."""
    found = [e["in_use"] for e in stats["size_classes"] if e["block_bytes"] == block_bytes]
    return int(found[0]) if found else 0


@pytest.fixture(params=["inline", "queued"])
def mode(request: Any) -> Any:
    """Memory is taken when an op is issued, so the figures are the same in each way of running."""
    flow.cpu.synchronize()
    flow._oneflow_internal.set_vm_mode(request.param)
    yield
    flow.cpu.synchronize()
    flow._oneflow_internal.set_vm_mode("auto")


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize(
    ("count", "block"),
    [(1, 64), (16, 64), (17, 128), (1000, 4096), (1025, 5120), (1 << 18, MIB), (1 << 20, 4 * MIB)],
)
def test_a_block_is_rounded_up_to_its_class(count: int, block: int) -> None:
    before = settle()
    x = flow.empty(count)
    after = flow.cpu.memory_stats()
    assert after["allocated"] - before["allocated"] == block
    assert in_class(after, block) - in_class(before, block) == 1
    assert after["allocations"] - before["allocations"] == 1
    check_sums(after)
    del x
    assert flow.cpu.memory_allocated() == before["allocated"]
    check_sums(flow.cpu.memory_stats())


@pytest.mark.usefixtures("mode")
def test_the_peak_of_a_known_sequence() -> None:
    base = settle()["allocated"]
    a = flow.ones(2 * MIB)  # 8 MiB
    b = flow.ones(MIB)  # 4 MiB, 12 in all
    del a
    c = a2 = flow.ones(MIB)  # 8 in all
    assert flow.cpu.memory_allocated() - base == 8 * MIB
    assert flow.cpu.max_memory_allocated() - base == 12 * MIB
    flow.cpu.reset_peak_memory_stats()
    assert flow.cpu.max_memory_allocated() - base == 8 * MIB
    d = b + c  # 12 in all
    del b, c, a2, d
    assert flow.cpu.memory_allocated() == base
    assert flow.cpu.max_memory_allocated() - base == 12 * MIB


@pytest.mark.usefixtures("mode")
def test_views_and_arrays_hold_memory_once() -> None:
    base = settle()["allocated"]
    x = flow.ones(MIB)
    view, array = x.view(1024, 1024), x.numpy()
    assert flow.cpu.memory_allocated() - base == 4 * MIB
    del x, view
    assert flow.cpu.memory_allocated() - base == 4 * MIB
    assert array.sum() == MIB
    del array
    assert flow.cpu.memory_allocated() == base


@pytest.mark.usefixtures("mode")
def test_what_is_freed_is_cached_and_served_again() -> None:
    before = settle()
    x = flow.empty(4 * MIB)
    assert flow.cpu.memory_reserved() - before["reserved"] == 16 * MIB
    del x
    stats = flow.cpu.memory_stats()
    assert stats["reserved"] - before["reserved"] == 16 * MIB
    assert stats["cache_hits"] == before["cache_hits"]
    x = flow.empty(4 * MIB)
    assert flow.cpu.memory_stats()["cache_hits"] - before["cache_hits"] == 1
    assert flow.cpu.memory_reserved() - before["reserved"] == 16 * MIB
    del x
    flow.cpu.synchronize()
    flow.cpu.empty_cache()
    assert flow.cpu.memory_reserved() == before["reserved"]
    assert flow.cpu.max_memory_reserved() - before["reserved"] == 16 * MIB
    flow.cpu.reset_peak_memory_stats()
    assert flow.cpu.max_memory_reserved() == before["reserved"]


@pytest.mark.usefixtures("mode")
def test_classes_add_up_whatever_was_asked() -> None:
    settle()
    held: list[Any] = []
    for i in range(300):
        held.append(flow.empty((i * i * 37) % 700_000 + 1))
        if i % 3 == 0:
            del held[(i * 7) % len(held)]
        if i % 50 == 0:
            check_sums(flow.cpu.memory_stats())
    held.clear()
    check_sums(flow.cpu.memory_stats())


@pytest.mark.usefixtures("mode")
def test_threads_add_up() -> None:
    base = settle()["allocated"]
    ready, end = threading.Barrier(5), threading.Barrier(5)

    def work(number: int) -> None:
        for _ in range(200):
            flow.empty(1 << (number + 5)) + 1
        held = [flow.empty(MIB) for _ in range(2)]
        ready.wait()
        end.wait()
        del held

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    ready.wait()
    stats = flow.cpu.memory_stats()
    end.wait()
    for thread in threads:
        thread.join()
    assert stats["allocated"] - base == 4 * 2 * 4 * MIB
    check_sums(stats)
    assert flow.cpu.memory_allocated() == base


def test_free_and_total() -> None:
    settle()
    free, total = flow.cpu.mem_get_info()
    stats = flow.cpu.memory_stats()
    assert total == pytest.approx(stats["limit"], rel=0.1)  # other programs come and go
    assert free == total - stats["allocated"]


def test_summary_names_figures_and_lines() -> None:
    settle()
    x = flow.ones(3 * MIB)
    text = flow.cpu.memory_summary()
    lines = text.splitlines()
    assert lines[0] == "Memory of cpu:0"
    assert lines[2].split()[:2] == ["in", "use"]
    assert "12.00 MiB  float32 (3145728,), made by full" in text
    assert "    x = flow.ones(3 * MIB)" in text
    assert "block" in text and "block" not in flow.cpu.memory_summary(abbreviated=True)
    del x


BAD: list[tuple[Callable[[], Any], Any, str]] = [
    (lambda: loose.cpu.memory_summary(abbreviated=1), TypeError, "expects a bool as abbreviated"),
    (lambda: loose.cuda.memory_stats(1.5), TypeError, "expects a device.*got float"),
    (lambda: loose.cuda.memory_stats(True), TypeError, "expects a device.*got bool"),
    (lambda: loose.cuda.memory_allocated("cpu"), ValueError, "expects a GPU, got cpu:0"),
    (lambda: loose.cuda.max_memory_allocated(-1), ValueError, "0 or more, got -1"),
    (lambda: loose.cuda.memory_reserved("tpu"), (ValueError, RuntimeError), "tpu"),
    (lambda: loose.cuda.max_memory_reserved([]), TypeError, "got list"),
    (lambda: loose.cuda.reset_peak_memory_stats("cpu:0"), ValueError, "expects a GPU"),
    (lambda: loose.cuda.mem_get_info(), RuntimeError, r"\[cuda.mem_get_info\] expects a GPU"),
    (lambda: loose.cuda.mem_get_info("cpu"), ValueError, "expects a GPU, got cpu:0"),
    (lambda: loose.cuda.memory_summary(), RuntimeError, r"\[cuda.memory_summary\] expects a GPU"),
    (lambda: loose._oneflow_internal.memory_stats("cpu:1"), RuntimeError, "only cpu:0"),
    (lambda: loose._oneflow_internal.memory_stats(3), TypeError, "expects a device"),
    (lambda: loose._oneflow_internal.memory_reset_peak("cpu:1"), RuntimeError, "only cpu:0"),
    (lambda: loose._oneflow_internal.memory_empty_cache("cpu:1"), RuntimeError, "only cpu:0"),
    (lambda: loose._oneflow_internal.memory_largest_tensors("cpu", -1), ValueError, "got -1"),
    (lambda: loose._oneflow_internal.memory_largest_tensors("cpu"), TypeError, ""),
    (lambda: loose._oneflow_internal.fail_allocation(-1), ValueError, "0 or more, got -1"),
    (lambda: loose._oneflow_internal.fail_allocation("a"), TypeError, ""),
    (lambda: loose._oneflow_internal.fail_allocation(1, "cpu:1"), RuntimeError, "only cpu:0"),
]


@pytest.mark.parametrize(("wrong", "kind", "message"), BAD)
def test_bad_input(wrong: Callable[[], Any], kind: Any, message: str) -> None:
    with raises(kind, message):
        wrong()


def test_without_a_gpu_all_is_zero() -> None:
    stats = flow.cuda.memory_stats("cuda:0")
    assert {**stats, "limit_source": 0, "size_classes": 0} == dict.fromkeys(stats, 0)
    assert set(stats) == set(flow.cpu.memory_stats())
    flow.cuda.reset_peak_memory_stats(0)
    flow.cuda.empty_cache()
    for name in ("memory_allocated", "max_memory_allocated", "memory_reserved"):
        assert getattr(flow.cuda, name)(flow.device("cuda")) == 0


LIMIT = "stats = flow.cpu.memory_stats()\nprint(stats['limit'], stats['limit_source'])\n"


@pytest.mark.parametrize(
    ("text", "bytes_"),
    [
        ("268435456", 256 * MIB),
        ("256MiB", 256 * MIB),
        ("256M", 256 * MIB),
        ("0.25g", 256 * MIB),
        ("262144KB", 256 * MIB),
        ("100", 100),
    ],
)
def test_a_limit_in_each_spelling(text: str, bytes_: int, tmp_path: Path) -> None:
    end = program.run(tmp_path, LIMIT, {"ONEFLOW_CPU_MEMORY_LIMIT": text})
    assert (end.status, end.stderr) == (0, "")
    assert end.stdout == f"{bytes_} ONEFLOW_CPU_MEMORY_LIMIT\n"


@pytest.mark.parametrize("text", ["lots", "0", "5 G"])
def test_a_limit_that_is_none_ends_the_import(text: str, tmp_path: Path) -> None:
    end = program.run(tmp_path, LIMIT, {"ONEFLOW_CPU_MEMORY_LIMIT": text})
    assert (end.status, end.stdout) == (1, "")
    assert end.stderr.splitlines()[-1] == (
        "ValueError: [memory] expects ONEFLOW_CPU_MEMORY_LIMIT in bytes, such as 536870912, "
        f"512MiB or 2G, got '{text}'"
    )


def test_no_limit_is_the_machines(tmp_path: Path) -> None:
    end = program.run(tmp_path, LIMIT, {"ONEFLOW_CPU_MEMORY_LIMIT": ""})
    assert (end.status, end.stderr) == (0, "")
    number, source = end.stdout.strip().split(" ", 1)
    assert int(number) > 64 * MIB
    assert source in ("the machine's available memory", "the control group (cgroup)")


def test_control(monkeypatch: Any) -> None:
    """Figures that lose a block, or a class, are noticed."""
    x = flow.empty(1000)
    good = flow.cpu.memory_stats()
    check_sums(good)
    must_fail(check_sums, {**good, "allocated": good["allocated"] - 64})
    must_fail(check_sums, {**good, "size_classes": good["size_classes"][:-1]})
    must_fail(check_sums, {**good, "unsplit": good["unsplit"] + 64})
    del x
    real = flow._oneflow_internal.memory_stats
    monkeypatch.setattr(
        flow._oneflow_internal, "memory_stats", lambda device: {**real(device), "allocated": 0}
    )
    must_fail(test_the_peak_of_a_known_sequence)
