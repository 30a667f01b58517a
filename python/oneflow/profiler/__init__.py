"""What ran, when, on which thread and for which line of the program.

Each op and each kernel of a graph is one event; so is what the program wraps into
`record_function`. `profile` collects them, sums them up as a table, and writes them in the form
that Perfetto (https://ui.perfetto.dev) and chrome://tracing show.

Source: the names follow OneFlow's `oneflow.profiler`.
"""

from __future__ import annotations

from oneflow.profiler.profiler import (
    ProfilerAction,
    ProfilerActivity,
    kineto_available,
    profile,
    profiler_start,
    profiler_stop,
    range_pop,
    range_push,
    record_function,
    tensorboard_trace_handler,
)

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "profiler_start",
    "profiler_stop",
    "range_pop",
    "range_push",
    "record_function",
    "tensorboard_trace_handler",
]
