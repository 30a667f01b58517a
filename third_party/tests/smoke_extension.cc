// Uses pybind11, numpy's C API, oneDNN and {fmt} in one extension module.
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include "dnnl.h"
#include "fmt/format.h"
#include "numpy/arrayobject.h"
#include "pybind11/pybind11.h"

namespace {

std::string OneDnnVersion() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("{}.{}", version->major, version->minor);
}

int NumberOfDimensions(pybind11::handle array) {
  if (!PyArray_Check(array.ptr())) { throw pybind11::type_error("expects a numpy array"); }
  return PyArray_NDIM(reinterpret_cast<PyArrayObject*>(array.ptr()));
}

}  // namespace

PYBIND11_MODULE(smoke_extension, m) {
  if (_import_array() < 0) { throw pybind11::error_already_set(); }
  m.def("onednn_version", &OneDnnVersion);
  m.def("number_of_dimensions", &NumberOfDimensions);
}
