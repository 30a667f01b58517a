// The bindings that nn.Graph is written on: `oneflow._oneflow_internal.graph`, by pybind11.
//
// A trace belongs to the thread that began it. While it is active, ops of that thread are recorded
// and not run; they give *lazy* tensors, which have shape, strides, dtype, device and history but no
// value. Other threads go on eagerly. What is not lazy and meets a recorded op is captured, by its
// storage: parameters, buffers, states of optimizers, free tensors. Whatever an op in place does to a
// captured tensor, each run will do to it.
//
//   begin_trace(name: str) -> None
//       RuntimeError when this thread traces already, in a fork child, and at exit.
//   tracing() -> str | None
//       Name of the graph that this thread traces.
//   trace_input(like: Tensor, name: str, requires_grad: bool = False) -> Tensor
//       A lazy dense tensor of `like`'s shape, dtype, device: argument i of run() is its value, i
//       counted over the calls of this function. `like` is not looked into.
//   trace_name(tensor: Tensor, name: str) -> None
//       How print and errors call a tensor that is (or will be) captured: "linear.weight".
//   trace_region(region: int) -> None
//       Ops of two regions are never merged: give a recomputation a number of its own (0: none).
//   trace_draws() -> list[int]; trace_rewind(mark: list[int]) -> None
//       Where each generator is; and back there: a recomputation draws the same numbers again.
//   suspend_trace(suspended: bool) -> None
//       While suspended, ops of this thread run: to make an optimizer's state, for one.
//   is_lazy(tensor: Tensor) -> bool
//   abort_trace() -> None
//       Forgets the trace (build raised); nothing happens when there is none.
//   end_trace(outputs: list[Tensor], *, disable: list[str] = []) -> Graph
//       Ends the trace, also when it raises; runs the passes but those named in `disable`, plans,
//       hands the graph to the session. An output may be lazy, or any other tensor.
//
// Both ends of a trace put back what it did to the tensors that it captured: `.grad` of each is None
// inside at first (a graph's gradients are its own), and what it was before after; histories too.
// Both clear autocast's cache.
//
//   class Graph: a handle, never the owner (the session is): dropping it posts its close.
//     name: str
//     closed: bool
//     run(inputs: list[Tensor]) -> list[Tensor]
//         Issues the whole graph as one instruction, and returns at once (a short one has run then). Inputs must have the shape,
//         dtype and device of the trace (else RuntimeError; any strides). Outputs are new tensors without
//         history; an output that is an input or a captured tensor shares its memory. RuntimeError
//         "graph 'X' is closed". Kernels' failures: as those of eager ops (raised here, or by who
//         reads an output), op and stack are those of the line in build. Two threads may call it.
//     stale() -> bool
//         A captured tensor was given other memory since (`x.data = y`, .to()), or requires_grad of a
//         tensor that was named or captured is another: trace again.
//     close() -> None
//         Waits for its runs. Idempotent.
//     describe() -> str
//         The graph as it runs: each op, its shapes, the Python line that made it.
//     describe_trace() -> str
//         The same as it was traced, before any pass.
//     passes() -> dict[str, int]
//         How often each pass fired: constant_folding, common_subexpressions, dead_nodes, late_updates,
//         batch_norm_fusion, blocked_layout, fusion, in_place.
//     memory() -> dict[str, int]
//         plan (bytes of plan memory), peak (bytes that its values take when most are alive, as
//         planned), lower_bound (the largest sum of values alive at one time), constants, scratch (what the kernels' own memory adds).
//     stats() -> dict[str, int]
//         nodes (kernels that a run calls), actors, runs.
//     captured() -> list[tuple[str, Tensor]]
//         Name and tensor of each captured tensor, whether it still lives or not, in the order in which
//         they were met; unnamed ones are called "captured_<i>".
//
//   session_generation() -> int, session_close() -> None, num_graphs() -> int
//       Of the process's session. Closing it closes its graphs; the next graph starts a new generation.
//
// Reading a lazy tensor (numpy, item, bool(), print of values), during the trace or later: RuntimeError
// "[numpy] expects a value, got a tensor of graph 'X' that is being built (net.py:12 in build)". Ops
// whose result's shape depends on data raise RuntimeError. random ops draw anew at each run, from the
// generators that the trace named.
//
// What acted when: in oneflow.profiler's trace actors have the category "actor", kernels "graph".
//
// Thread safety: with the GIL held; run() and close() release it where they wait.
#ifndef ONEFLOW_API_PYTHON_PY_GRAPH_H_
#define ONEFLOW_API_PYTHON_PY_GRAPH_H_

#include <pybind11/pybind11.h>

namespace oneflow {

// Adds the submodule `graph`.
void BindGraph(pybind11::module_* module);

}  // namespace oneflow

#endif  // ONEFLOW_API_PYTHON_PY_GRAPH_H_
