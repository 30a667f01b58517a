#include "oneflow/api/python/py_graph.h"

#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <vector>

#include "oneflow/api/python/py_types.h"
#include "oneflow/api/python/unwrap.h"
#include "oneflow/functional/graph_trace.h"
#include "oneflow/functional/traced_graph.h"
#include "oneflow/lifetime/env.h"

namespace py = pybind11;

namespace oneflow {

namespace {

using graph::CompiledGraph;
using lifetime::Env;

const TensorPtr& ToTensor(py::handle object, const char* who) {
  if (!IsTensor(object.ptr())) {
    throw py::type_error(std::string("[") + who + "] expects a Tensor, got " +
                         Py_TYPE(object.ptr())->tp_name);
  }
  return TensorValue(object.ptr());
}

TensorTuple ToTensors(const py::sequence& objects, const char* who) {
  TensorTuple tensors;
  tensors.reserve(objects.size());
  for (py::handle object : objects) { tensors.push_back(ToTensor(object, who)); }
  return tensors;
}

py::object ToPython(TensorPtr tensor) {
  PyObject* object = WrapTensor(std::move(tensor));
  if (object == nullptr) { throw py::error_already_set(); }
  return py::reinterpret_steal<py::object>(object);
}

py::list ToPython(TensorTuple tensors) {
  py::list list(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) { list[i] = ToPython(std::move(tensors[i])); }
  return list;
}

GraphTrace* Trace(const char* who) {
  GraphTrace* trace = GraphTrace::Unfinished();
  if (trace == nullptr) {
    Unwrap(Maybe<void>(RuntimeError("[{}] expects a graph that is being built", who)));
  }
  return trace;
}

void BindTrace(py::module_& m) {
  m.def("begin_trace", [](const std::string& name) {
    Unwrap(Env::Get()->CheckOpen("graph '" + name + "'"));
    Unwrap(GraphTrace::Begin(name));
  });
  m.def("tracing", []() -> py::object {
    const GraphTrace* trace = GraphTrace::Current();
    return trace == nullptr ? py::object(py::none()) : py::object(py::str(trace->name()));
  });
  m.def(
      "trace_input",
      [](py::handle like, const std::string& name, bool requires_grad) {
        const TensorPtr& tensor = ToTensor(like, "trace_input");
        return ToPython(
            Unwrap(Trace("trace_input")->AddInput(tensor->meta(), name, requires_grad)));
      },
      py::arg("like"), py::arg("name"), py::arg("requires_grad") = false);
  m.def("trace_name", [](py::handle tensor, const std::string& name) {
    Trace("trace_name")->Name(ToTensor(tensor, "trace_name"), name);
  });
  m.def("trace_region", [](int region) { Trace("trace_region")->SetRegion(region); });
  m.def("trace_draws", [] { return Trace("trace_draws")->DrawMark(); });
  m.def("trace_rewind",
        [](const std::vector<uint64_t>& mark) { Trace("trace_rewind")->RewindDraws(mark); });
  m.def("suspend_trace", [](bool suspended) {
    if (GraphTrace* trace = GraphTrace::Unfinished()) { trace->SetSuspended(suspended); }
  });
  m.def("is_lazy",
        [](py::handle tensor) { return ToTensor(tensor, "is_lazy")->storage()->traced(); });
  m.def("abort_trace", &GraphTrace::Abort);
  m.def(
      "end_trace",
      [](const py::sequence& outputs, const std::vector<std::string>& disable) {
        CompiledGraph::Options options;
        options.disable = disable;
        TensorTuple tensors;
        try {
          tensors = ToTensors(outputs, "graph");
        } catch (...) {
          GraphTrace::Abort();
          throw;
        }
        return Unwrap(TracedGraph::FromTrace(tensors, options));
      },
      py::arg("outputs"), py::arg("disable") = std::vector<std::string>());
}

py::dict MemoryOf(const TracedGraph& graph) {
  py::dict out;
  Unwrap(graph.With([&](CompiledGraph* compiled) {
    const graph::Plan& plan = compiled->plan();
    out["plan"] = plan.memory_bytes();
    out["peak"] = plan.peak_bytes();
    out["lower_bound"] = plan.lower_bound_bytes();
    out["constants"] = plan.constant_bytes();
    out["scratch"] = plan.scratch_bytes();
  }));
  return out;
}

py::dict StatsOf(const TracedGraph& graph) {
  py::dict out;
  Unwrap(graph.With([&](CompiledGraph* compiled) {
    out["nodes"] = compiled->plan().num_kernels();
    out["steps"] = compiled->plan().num_steps();
    out["actors"] = compiled->num_actors();
    out["runs"] = compiled->runs();
    out["arranged"] = compiled->num_arranged();
  }));
  return out;
}

py::dict PassesOf(const TracedGraph& graph) {
  py::dict out;
  Unwrap(graph.With([&](CompiledGraph* compiled) {
    for (const graph::PassCount& pass : compiled->passes()) {
      out[py::str(pass.name)] = pass.fired;
    }
  }));
  return out;
}

py::list CapturedOf(const TracedGraph& graph) {
  py::list out;
  for (auto& [name, tensor] : Unwrap(graph.CapturedTensors())) {
    out.append(py::make_tuple(name, ToPython(tensor)));
  }
  return out;
}

std::string Describe(const TracedGraph& graph, bool traced) {
  std::string out;
  Unwrap(graph.With([&](CompiledGraph* compiled) {
    out = traced ? compiled->traced_text() : compiled->plan().graph().ToString();
  }));
  return out;
}

void BindHandle(py::module_& m) {
  py::class_<TracedGraph>(m, "Graph")
      .def_property_readonly("name", [](const TracedGraph& graph) { return graph.name(); })
      .def_property_readonly("closed", &TracedGraph::closed)
      .def("run",
           [](const TracedGraph& graph, const py::sequence& inputs) {
             return ToPython(Unwrap(graph.Run(ToTensors(inputs, "graph"))));
           })
      .def("stale", &TracedGraph::Stale)
      .def("close", [](TracedGraph& graph) { Unwrap(graph.Close()); })
      .def("describe", [](const TracedGraph& graph) { return Describe(graph, false); })
      .def("describe_trace", [](const TracedGraph& graph) { return Describe(graph, true); })
      .def("passes", &PassesOf)
      .def("memory", &MemoryOf)
      .def("stats", &StatsOf)
      .def("captured", &CapturedOf);
}

}  // namespace

void BindGraph(py::module_* module) {
  py::module_ m = module->def_submodule("graph");
  BindTrace(m);
  BindHandle(m);
  m.def("session_generation", [] { return Env::Get()->session()->generation(); });
  m.def("session_close", [] { Unwrap(Env::Get()->session()->Close()); });
  m.def("num_graphs", [] { return Env::Get()->session()->num_graphs(); });
}

}  // namespace oneflow
