"""Taking profiles."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from enum import Enum
from types import TracebackType
from typing import Any, NoReturn

from oneflow import _oneflow_internal
from oneflow.profiler.events import CustomEvent, EventBase, Events, KernelEvent

_internal = _oneflow_internal.profiler
_marks = threading.local()


class ProfilerActivity(Enum):
    """What is looked at.

    Example:
        >>> import oneflow as flow
        >>> flow.profiler.profile([flow.profiler.ProfilerActivity.CPU]).activities
        {<ProfilerActivity.CPU: 1>}
    """

    CPU = 1
    CUDA = 2


class ProfilerAction(Enum):
    """What a schedule does in a step. Schedules are not there; the names are OneFlow's.

    Example:
        >>> import oneflow as flow
        >>> flow.profiler.ProfilerAction.RECORD.value
        2
    """

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class profile:
    """Collects what runs inside `with`: ops, kernels of graphs, and what `record_function` marks.

    Ops that were issued before do not count; those issued inside are waited for at its end, so that
    they do. Recording costs some 100 ns for each op, and about 200 bytes.

    Args:
        activities: of `ProfilerActivity`; the CPU alone can be looked at.
        record_shapes: note the shapes of each op's operands.
        record_attrs, record_bandwidth_for_cuda: OneFlow's; not there, so False.
        max_events_per_thread: what comes later is dropped, and counted in `dropped`.

    Raises:
        RuntimeError: another profile is being taken, or something is asked for that is not there.
        TypeError: an activity is none.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(64, 64)
        >>> with flow.profiler.profile(record_shapes=True) as prof:
        ...     with flow.profiler.record_function("twice"):
        ...         for _ in range(2):
        ...             y = flow.matmul(x, x)
        >>> [(e.name, e.count, e.input_shapes) for e in prof.key_averages(True)
        ...  if isinstance(e, flow.profiler.events.KernelEvent)]
        [('matmul', 2, '(64, 64), (64, 64)')]
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "trace.json")
        ...     prof.export_chrome_trace(path)  # for https://ui.perfetto.dev
        ...     os.path.getsize(path) > 100
        True
    """

    def __init__(
        self,
        activities: Iterable[ProfilerActivity] | None = None,
        record_shapes: bool = False,
        record_attrs: bool = False,
        record_bandwidth_for_cuda: bool = False,
        *,
        max_events_per_thread: int = 1_000_000,
    ) -> None:
        chosen = [ProfilerActivity.CPU] if activities is None else list(activities)
        for activity in chosen:
            if not isinstance(activity, ProfilerActivity):
                raise TypeError(f"[profile] expects members of ProfilerActivity, got {activity!r}")
        if not chosen:
            raise RuntimeError("[profile] expects at least one activity, got none")
        if ProfilerActivity.CUDA in chosen or record_bandwidth_for_cuda:
            raise RuntimeError("[profile] looks at the CPU only: times on a GPU are not taken")
        if record_attrs:
            raise RuntimeError("[profile] does not record attributes: expects record_attrs=False")
        if not isinstance(max_events_per_thread, int) or max_events_per_thread < 1:
            raise ValueError(
                "[profile] expects max_events_per_thread of 1 or more, "
                f"got {max_events_per_thread!r}"
            )
        self.activities = set(chosen)
        self.record_shapes = bool(record_shapes)
        self._most = max_events_per_thread
        self._trace: Any = None
        self._events: Events | None = None

    def __enter__(self) -> profile:
        _oneflow_internal.sync()
        _internal.start(self.record_shapes, self._most)
        self._trace = self._events = None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                _oneflow_internal.sync()
        finally:
            self._trace = _internal.stop()

    @property
    def dropped(self) -> int:
        """How many events there was no room for."""
        return int(self._finished().dropped)

    def events(self) -> Events:
        """All events, each by itself, in the order in which they began.

        Raises:
            RuntimeError: the profile has not ended.
        """
        trace = self._finished()
        if self._events is None:
            self._events = _read(trace)
        return self._events

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_attributes: bool = False
    ) -> Events:
        """Events of one name as one, those that took the longest first.

        Args:
            group_by_input_shape: keep ops on other shapes apart.
            group_by_attributes: attributes are not recorded: makes no difference.

        Raises:
            RuntimeError: the profile has not ended.
        """
        return self.events().key_averages(group_by_input_shape, group_by_attributes)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes the profile in the form that Perfetto and chrome://tracing show.

        Each thread is a row; an op's arguments are its line in the program and, where recorded, the
        shapes of its operands. The file is there whole or not at all.

        Source: Google, "Trace Event Format" (2016).

        Raises:
            RuntimeError: the profile has not ended.
            OSError: the file cannot be written.
        """
        trace = self._finished()
        trace.write(os.fspath(path))

    def _finished(self) -> Any:
        if self._trace is None:
            raise RuntimeError("[profile] expects to be asked after its `with` block has ended")
        return self._trace


def _read(trace: Any) -> Events:
    found = []
    for event in trace.events():
        _, thread, category, name, begin, end, shapes, file, line, function = event
        where = f"{file}:{line} in {function}" if file else ""
        common = (name, (end - begin) / 1e3, 1, thread, (begin - trace.begin_ns) / 1e3, where)
        # The run of a graph is framed twice: by the vm's instruction and by the actor.
        frame = category == "actor" or (category == "vm" and name == "graph")
        made: EventBase
        if category == "python" or frame:
            made = CustomEvent(*common)
        else:
            made = KernelEvent(*common, input_shapes=shapes, category=category)
        found.append(made)
    return Events(sorted(found, key=lambda e: e.start))


class record_function:
    """Marks what runs inside `with`, on the thread that runs it, under a name of one's own.

    It frames what the program does, not what ops that it issues do later: reading a result inside
    makes it wait for them.

    Args:
        name: at most 47 bytes of it are kept.

    Raises:
        TypeError: the name is no str.

    Example:
        >>> import oneflow as flow
        >>> with flow.profiler.profile() as prof:
        ...     with flow.profiler.record_function("epoch"):
        ...         y = flow.ones(3) + 1
        >>> [e.name for e in prof.events() if isinstance(e, flow.profiler.events.CustomEvent)]
        ['epoch']
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"[record_function] expects a str, got {type(name).__name__}")
        self.name = name
        self._begin = 0

    def __enter__(self) -> record_function:
        self._begin = _internal.clock()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _internal.record(self.name, self._begin)


def range_push(range_name: str) -> None:
    """Begins a mark on this thread, which `range_pop` ends.

    Example:
        >>> import oneflow as flow
        >>> flow.profiler.range_push("load")
        >>> flow.profiler.range_pop()
    """
    mark = record_function(range_name)
    mark.__enter__()
    if not hasattr(_marks, "open"):
        _marks.open = []
    _marks.open.append(mark)


def range_pop() -> None:
    """Ends the mark that this thread began last.

    Raises:
        RuntimeError: there is none.

    Example:
        >>> import oneflow as flow
        >>> flow.profiler.range_push("load")
        >>> flow.profiler.range_pop()
    """
    if not getattr(_marks, "open", None):
        raise RuntimeError("[range_pop] expects a range_push before it on the same thread")
    _marks.open.pop().__exit__(None, None, None)


def profiler_start() -> None:
    """Tells NVIDIA's profiler, if the program runs under one, to begin. Does nothing on a CPU.

    Example:
        >>> import oneflow as flow
        >>> flow.profiler.profiler_start()
    """


def profiler_stop() -> None:
    """Tells NVIDIA's profiler, if the program runs under one, to end. Does nothing on a CPU.

    Example:
        >>> import oneflow as flow
        >>> flow.profiler.profiler_stop()
    """


def kineto_available() -> bool:
    """Whether Kineto, a library that traces GPUs, is there: never, since nothing here needs it.

    Example:
        >>> import oneflow as flow
        >>> flow.profiler.kineto_available()
        False
    """
    return False


def tensorboard_trace_handler(*args: Any, **kwargs: Any) -> NoReturn:
    """Not there, as in OneFlow: `profile.export_chrome_trace` writes a file.

    Raises:
        NotImplementedError: always.

    Example:
        >>> import oneflow as flow
        >>> flow.profiler.tensorboard_trace_handler("folder")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        NotImplementedError: [tensorboard_trace_handler] is not there: ...
    """
    raise NotImplementedError(
        "[tensorboard_trace_handler] is not there: use profile.export_chrome_trace"
    )
