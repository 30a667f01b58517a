#include "oneflow/api/python/py_ref.h"

#include "oneflow/api/python/gil.h"
#include "oneflow/common/planted_fault.h"
#include "oneflow/lifetime/deferred_release.h"

namespace oneflow {

namespace {
void Decref(void* object) { Py_DECREF(static_cast<PyObject*>(object)); }
}  // namespace

void DropReference(PyObject* object) {
  if (Gil::Held() || FaultPlanted(Fault::kOwnerFreedWithoutGil)) {
    Py_DECREF(object);
  } else {
    lifetime::DeferRelease(&Decref, object);
  }
}

}  // namespace oneflow
