// Memory as Python sees it: what a device's pool holds, and for whom.
#include <string>

#include "oneflow/api/python/errors.h"
#include "oneflow/api/python/methods.h"
#include "oneflow/api/python/py_ref.h"
#include "oneflow/api/python/py_types.h"
#include "oneflow/device/allocator.h"
#include "oneflow/device/failing_allocator.h"
#include "oneflow/device/out_of_memory.h"

namespace oneflow {

namespace {

PyObject* Text(const std::string& text) {
  return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
}

PyObject* SizeClasses(const MemoryStats& stats) {
  PyRef list = PyRef::Steal(PyList_New(0));
  for (const MemoryStats::SizeClass& c : stats.size_classes) {
    PyRef entry = PyRef::Steal(Py_BuildValue(
        "{sLsLsLsLsL}", "block_bytes", static_cast<long long>(c.block_bytes), "in_use",
        static_cast<long long>(c.in_use), "cached", static_cast<long long>(c.cached),
        "in_use_bytes", static_cast<long long>(c.in_use_bytes), "cached_bytes",
        static_cast<long long>(c.cached_bytes)));
    if (!list || !entry || PyList_Append(list.get(), entry.get()) != 0) { return nullptr; }
  }
  return list.Release();
}

PyObject* MemoryStatsOf(PyObject*, PyObject* argument) {
  const std::optional<Device> device = DeviceFromPython(argument);
  if (!device.has_value()) { return nullptr; }
  const MemoryStats stats = PY_JUST(GetAllocator(*device))->Stats();
  const std::pair<const char*, int64_t> numbers[] = {
      {"allocated", stats.allocated},     {"allocated_peak", stats.allocated_peak},
      {"reserved", stats.reserved},       {"reserved_peak", stats.reserved_peak},
      {"unsplit", stats.unsplit},         {"limit", stats.limit},
      {"allocations", stats.allocations}, {"cache_hits", stats.cache_hits}};
  PyRef result = PyRef::Steal(PyDict_New());
  if (!result) { return nullptr; }
  for (const auto& [name, number] : numbers) {
    PyRef value = PyRef::Steal(PyLong_FromLongLong(number));
    if (!value || PyDict_SetItemString(result.get(), name, value.get()) != 0) { return nullptr; }
  }
  PyRef source = PyRef::Steal(Text(stats.limit_source));
  PyRef classes = PyRef::Steal(SizeClasses(stats));
  if (!source || !classes ||
      PyDict_SetItemString(result.get(), "limit_source", source.get()) != 0 ||
      PyDict_SetItemString(result.get(), "size_classes", classes.get()) != 0) {
    return nullptr;
  }
  return result.Release();
}

PyObject* ResetPeak(PyObject*, PyObject* argument) {
  const std::optional<Device> device = DeviceFromPython(argument);
  if (!device.has_value()) { return nullptr; }
  PY_JUST(GetAllocator(*device))->ResetPeak();
  Py_RETURN_NONE;
}

PyObject* EmptyCache(PyObject*, PyObject* argument) {
  const std::optional<Device> device = DeviceFromPython(argument);
  if (!device.has_value()) { return nullptr; }
  PY_JUST(GetAllocator(*device))->EmptyCache();
  Py_RETURN_NONE;
}

PyObject* LargestTensors(PyObject*, PyObject* args) {
  PyObject* which = nullptr;
  int count = 0;
  if (PyArg_ParseTuple(args, "Oi:memory_largest_tensors", &which, &count) == 0) { return nullptr; }
  const std::optional<Device> device = DeviceFromPython(which);
  if (!device.has_value()) { return nullptr; }
  if (count < 0) {
    return PyErr_Format(PyExc_ValueError, "[memory] expects a count of 0 or more, got %d", count);
  }
  PY_JUST(GetAllocator(*device));
  return Text(DescribeLargestTensors(*device, count));
}

PyObject* FailAllocationOf(PyObject*, PyObject* args) {
  long long nth = 0;
  PyObject* which = nullptr;
  if (PyArg_ParseTuple(args, "L|O:fail_allocation", &nth, &which) == 0) { return nullptr; }
  const std::optional<Device> device = which == nullptr ? Device() : DeviceFromPython(which);
  if (!device.has_value()) { return nullptr; }
  return PyLong_FromLongLong(PY_JUST(FailAllocation(*device, nth)));
}

}  // namespace

PyMethodDef kMemoryFunctions[] = {
    {"memory_stats", MemoryStatsOf, METH_O, "Figures of a device's pool."},
    {"memory_reset_peak", ResetPeak, METH_O, "Starts the peaks of a device's pool anew."},
    {"memory_empty_cache", EmptyCache, METH_O, "Gives a device's cached memory back."},
    {"memory_largest_tensors", LargestTensors, METH_VARARGS, "The largest, as text, with lines."},
    {"fail_allocation", FailAllocationOf, METH_VARARGS,
     "For tests: the nth request for memory of this thread from now fails; 0: none. Returns how "
     "many "
     "were still to come."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace oneflow
