// What the files of the Tensor type share: slots and method tables that other files implement.
//
// Thread safety: with the GIL held.
#ifndef ONEFLOW_API_PYTHON_METHODS_H_
#define ONEFLOW_API_PYTHON_METHODS_H_

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include "oneflow/api/python/arg_parser.h"

namespace oneflow {

// Generated from the op table.
extern PyMethodDef kGeneratedFunctions[];
extern PyMethodDef kGeneratedMethods[];

// tensor_data.cc: reading, exporting and importing data.
extern PyMethodDef kDataMethods[];
extern PyMethodDef kDataFunctions[];
bool InitNumpy();
int TensorBool(PyObject* self);
PyObject* TensorInt(PyObject* self);
PyObject* TensorFloat(PyObject* self);
PyObject* TensorIndex(PyObject* self);
// A copy of anything that numpy can make an array of.
PyObject* TensorFromPython(PyObject* data);
bool IsNumpyArray(PyObject* object);
// Tensor(2, 3) and Tensor([1, 2]): the old constructor; float32.
PyObject* NewLegacyTensor(PyObject* args, PyObject* kwargs);

// py_dlpack.cc.
extern PyMethodDef kDlpackMethods[];
extern PyMethodDef kDlpackFunctions[];

// py_saved_hooks.cc.
extern PyMethodDef kSavedHooksFunctions[];

// indexing.cc: x[...], iteration, len.
Py_ssize_t TensorLength(PyObject* self);
PyObject* SequenceItem(PyObject* self, Py_ssize_t index);
PyObject* GetItem(PyObject* self, PyObject* key);
int SetItem(PyObject* self, PyObject* key, PyObject* value);
PyObject* TensorIter(PyObject* self);
int TensorContains(PyObject* self, PyObject* element);

// py_autograd.cc.
extern PyMethodDef kAutogradMethods[];
extern PyMethodDef kAutogradFunctions[];
bool InitAutograd(PyObject* module);
PyObject* GetRequiresGrad(PyObject* self, void*);
int SetRequiresGrad(PyObject* self, PyObject* value, void*);
PyObject* GetIsLeaf(PyObject* self, void*);
PyObject* GetGrad(PyObject* self, void*);
int SetGrad(PyObject* self, PyObject* value, void*);
PyObject* GetGradFn(PyObject* self, void*);
PyObject* GetData(PyObject* self, void*);
int SetData(PyObject* self, PyObject* value, void*);

// py_global.cc: what global tensors have.
PyObject* GetIsGlobal(PyObject* self, void*);
PyObject* GetIsLocal(PyObject* self, void*);
PyObject* GetGlobal(PyObject* self, void*);
int SetGlobal(PyObject* self, PyObject* value, void*);

// py_function.cc: the base of autograd.Function.
bool InitFunction(PyObject* module);

// py_autocast.cc.
extern PyMethodDef kAutocastFunctions[];

// py_global.cc: where new tensors lie.
extern PyMethodDef kGlobalFunctions[];

// py_memory.cc.
extern PyMethodDef kMemoryFunctions[];

}  // namespace oneflow

#endif  // ONEFLOW_API_PYTHON_METHODS_H_
